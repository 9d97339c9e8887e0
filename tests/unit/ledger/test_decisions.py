"""Which decisions of a flow count: pauses, and what concerns the flow as a whole."""

from dataclasses import replace
from datetime import timedelta

from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.decisions import Decisions
from tests.unit.decision_records import DECIDED_AT, decision

LATER = DECIDED_AT + timedelta(seconds=1)


# ---------------------------------------------------------------- pauses


def paused(*made, partition=0):
    found = Decisions(made).find_pause(TopicPartition("orders", partition))
    return found is not None


def test_a_pause_of_the_topic_or_of_the_partition_leaves_it_out():
    assert paused(decision("pause"))
    assert not paused(decision("pause"), partition=1)
    assert paused(replace(decision("pause"), partition=None), partition=1)


def test_the_newer_of_topic_and_partition_counts():
    topic = replace(decision("pause"), partition=None)
    assert not paused(topic, decision("resume", when=LATER))
    assert paused(topic, decision("resume", when=LATER), partition=1)
    assert not paused(decision("pause"), replace(decision("resume", when=LATER), partition=None))


# ---------------------------------------------------------------- the whole flow


def test_a_cluster_is_adopted_only_while_the_alias_leads_to_it():
    made = Decisions([decision("adopt-cluster")])
    assert made.find_adoption("east", "new-source-id")
    assert made.find_adoption("east", "another") is None
    assert made.find_adoption("west", "new-source-id") is None


def test_a_ledger_is_begun_anew_only_in_the_place_of_the_one_that_was_seen_to_be_gone():
    begun = Decisions([decision("ledger"), decision("begin-ledger")])
    assert begun.ledger_id == "old-ledger"
    assert begun.may_begin_ledger(None)
    assert not begun.may_begin_ledger("somebody made one")
    assert not Decisions([decision("ledger", ledger_id="newer"), decision("begin-ledger")]).may_begin_ledger(None), "used up"
    assert not Decisions([decision("ledger")]).may_begin_ledger(None)
