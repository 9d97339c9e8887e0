"""Which decisions of a flow count: pauses, and what concerns the flow as a whole."""

from dataclasses import replace
from datetime import timedelta

import pytest

from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.apply_decisions import act_on_decisions
from kafka_mirror.ledger.control_records import HANDED_BACK, TAKEN_OVER
from kafka_mirror.ledger.decisions import NO_DECISIONS, Decisions, Present, is_still_in_force, moment_after
from kafka_mirror.ledger.record import Decided
from tests.unit.copy.plan.partition_facts import NOW, RECORD, acted
from tests.unit.decision_records import DECIDED_AT, decision
from tests.unit.ledger_records import ledger_record

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


TP = TopicPartition("orders", 0)
PRESENT = Present({TP: ledger_record()}, None, {"east": "new-source-id", "west": "target-id"})


def counts(made, present=PRESENT, *others):
    return is_still_in_force(made, Decisions([made, *others]), present)


@pytest.mark.parametrize("word", ["accept-gap", "skip-record", "restart", "accept-records"])
def test_a_decision_about_offsets_counts_until_it_is_acted_on_or_the_partition_moves(word):
    assert counts(decision(word))
    acted = ledger_record(decided=Decided(word, "ana", DECIDED_AT, "seen"))
    assert not counts(decision(word), replace(PRESENT, records={TP: acted}))
    assert not counts(decision(word), replace(PRESENT, records={TP: ledger_record(watermark=101, target_next=120)}))


def test_records_may_be_accepted_where_nothing_was_copied_yet():
    assert counts(decision("accept-records"), replace(PRESENT, records={}))
    assert not counts(decision("accept-gap"), replace(PRESENT, records={}))


def test_a_pause_counts_until_a_newer_decision_about_the_topic():
    everything = replace(decision("pause"), partition=None)
    later = replace(decision("resume", when=DECIDED_AT + timedelta(seconds=1)), partition=None)
    assert counts(everything)
    assert counts(decision("pause"))
    assert not counts(decision("pause"), PRESENT, later)


def test_a_throttle_counts_until_the_properties_have_the_word_again():
    later = decision("throttle", bytes_per_second=None, when=DECIDED_AT + timedelta(seconds=1))
    assert counts(decision("throttle"))
    assert counts(decision("throttle", bytes_per_second=-1))
    assert not counts(decision("throttle"), PRESENT, later)
    assert not counts(later)


def test_flow_wide_decisions_count_while_what_they_name_is_so():
    assert counts(decision("adopt-cluster"))
    assert not counts(decision("adopt-cluster", cluster_id="another"))
    assert counts(decision("begin-ledger"), PRESENT, decision("ledger"))
    assert not counts(decision("begin-ledger"), PRESENT, decision("ledger", ledger_id="begun since"))
    assert counts(decision("take-ownership"))


ORDERS = TopicPartition("orders", 0)
DAY = timedelta(days=1)
MILLISECOND = timedelta(milliseconds=1)
AGAIN = decision("restart", watermark=100, offset=20)


def test_it_is_now_to_the_millisecond_where_everybody_was_earlier():
    now = DECIDED_AT + timedelta(seconds=5, microseconds=1999)
    assert moment_after(NO_DECISIONS, [RECORD], now) == DECIDED_AT + timedelta(seconds=5, milliseconds=1)
    assert moment_after(Decisions([AGAIN]), [replace(RECORD, decided=Decided.of(AGAIN))], now) == now - timedelta(microseconds=999)


def test_it_is_later_than_what_was_decided_by_a_clock_that_is_ahead():
    ahead = replace(AGAIN, when=DECIDED_AT + DAY)
    assert moment_after(Decisions([ahead]), [], DECIDED_AT) == DECIDED_AT + DAY + MILLISECOND
    assert moment_after(NO_DECISIONS, [replace(RECORD, decided=Decided.of(ahead))], DECIDED_AT) == DECIDED_AT + DAY + MILLISECOND


@pytest.mark.parametrize("word", [HANDED_BACK, TAKEN_OVER])
def test_a_flow_that_changes_hands_under_a_clock_that_is_behind_is_not_restarted_by_an_old_decision(word):
    """The restart was acted on, and its records were copied once more up to where the watermark had been."""
    record = replace(acted(AGAIN), watermark=100)
    when = moment_after(Decisions([AGAIN]), [record], DECIDED_AT - DAY)
    noted = Decided(word, "ana", when, "why")
    moved = replace(record, decided=noted, handed_back=noted if word == HANDED_BACK else None)
    assert act_on_decisions(moved, [AGAIN], NOW) == (moved, ())


# ---------------------------------------------------------------- a ledger that was begun anew


def test_what_was_decided_about_offsets_in_a_ledger_that_is_gone_does_nothing_in_the_one_that_is_begun():
    """The new ledger notes nothing of it, and its watermark may come to stand where the old one stood."""
    before = [AGAIN, decision("accept-gap"), decision("skip-record")]
    begun = decision("begin-ledger", when=DECIDED_AT + MILLISECOND)
    assert Decisions([*before]).select(ORDERS) == tuple(before)
    assert Decisions([*before, begun]).select(ORDERS) == ()
    later = replace(AGAIN, when=DECIDED_AT + DAY)
    assert Decisions([begun, later]).select(ORDERS) == (later,)


def test_records_that_were_accepted_stay_accepted_under_a_new_ledger():
    accepted, begun = decision("accept-records"), decision("begin-ledger", when=DECIDED_AT + MILLISECOND)
    assert Decisions([accepted, begun]).select(ORDERS) == (accepted,)
