"""Which decisions still count."""

from dataclasses import replace
from datetime import timedelta

import pytest

from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.decisions import Decisions, Present, is_still_in_force
from kafka_mirror.ledger.record import Decided
from tests.unit.decision_records import DECIDED_AT, decision
from tests.unit.ledger_records import ledger_record

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
