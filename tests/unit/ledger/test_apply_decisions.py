"""Decisions held against the ledger: what each makes of a record, and that it does so once and for what was seen alone."""

from dataclasses import replace
from datetime import timedelta

import pytest

from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.apply_decisions import act_on_decisions, pass_over_offsets, records_accepted_until, with_adopted_clusters
from kafka_mirror.ledger.decisions import Decisions
from kafka_mirror.ledger.record import Blocked, Decided, Skipped, Writer
from tests.unit.copy.plan.partition_facts import NOW, RECORD, acted
from tests.unit.decision_records import DECIDED_AT, decision

TP = TopicPartition("orders", 0)
LATER = DECIDED_AT + timedelta(seconds=1)


# ---------------------------------------------------------------- once, and for what was seen


@pytest.mark.parametrize("word", ["accept-gap", "skip-record", "restart", "accept-records"])
def test_a_decision_is_acted_on_once(word):
    now = replace(NOW, log_start=110)
    stuck = replace(RECORD, blocked=Blocked(100, "RecordRefused", "x", DECIDED_AT, 1))
    changed = acted(decision(word), stuck, now)
    assert changed.decided == Decided(word, "ana@ops", DECIDED_AT, "seen")
    # Even when the partition stands again exactly as it did when the decision was taken.
    assert act_on_decisions(replace(stuck, decided=changed.decided), [decision(word)], now)[1] == ()


def test_what_the_target_lost_stays_noted_when_offsets_are_passed_over():
    lost = replace(RECORD, blocked=Blocked(100, "TargetLostRecords", "gone", DECIDED_AT, 1))
    changed = acted(decision("accept-gap"), lost, replace(NOW, log_start=110))
    assert changed.watermark > 100
    assert changed.blocked == lost.blocked
    assert acted(decision("restart", watermark=changed.watermark, when=LATER), changed).blocked is None


def test_a_newer_decision_with_the_same_binding_counts():
    old = replace(RECORD, decided=Decided("restart", "ana", DECIDED_AT, "seen"))
    assert acted(decision("restart", when=LATER), old).decided.when == LATER


@pytest.mark.parametrize(
    ("made", "now"),
    [
        (decision("accept-gap", watermark=99), replace(NOW, log_start=110)),
        (decision("accept-gap"), replace(NOW, log_start=100)),
        (decision("accept-gap"), replace(NOW, log_start=110, source_topic_id="other")),
        (decision("skip-record"), NOW),
        (decision("restart", watermark=99), NOW),
        (decision("restart"), replace(NOW, source_topic_id="other")),
        (decision("restart"), replace(NOW, remote="other")),
        (decision("restart"), replace(NOW, remote_id="other")),
        (decision("restart"), replace(NOW, remote_id=None)),
        (decision("restart", target_topic_id=None), replace(NOW, remote_id=None)),
        (decision("accept-records", target_end=100), NOW),
        (decision("accept-records"), replace(NOW, remote_id="other")),
    ],
)
def test_what_changed_since_it_was_seen_is_not_decided_about(made, now):
    assert act_on_decisions(RECORD, [made], now) == (RECORD, ())


def test_a_record_that_is_no_longer_stuck_is_not_skipped():
    stuck = replace(RECORD, watermark=101, blocked=Blocked(101, "RecordRefused", "x", DECIDED_AT, 1))
    assert act_on_decisions(stuck, [decision("skip-record", offset=100)], NOW)[1] == ()


# ---------------------------------------------------------------- what each does


def test_an_accepted_gap_ends_where_the_log_starts_when_it_is_acted_on():
    changed = acted(decision("accept-gap"), now=replace(NOW, log_start=130))
    assert (changed.watermark, changed.leader_epoch) == (130, 5)
    assert changed.skipped[-1] == Skipped(100, 130, "gap accepted by ana@ops at 2026-11-21T08:00:00.000Z: seen")


def test_a_skipped_batch_goes_as_a_whole():
    changed = acted(decision("skip-record"), replace(RECORD, blocked=Blocked(100, "BatchNotUnpacked", "too large", DECIDED_AT, 3, end=140)))
    assert (changed.watermark, changed.blocked, changed.skipped[-1].start, changed.skipped[-1].end) == (140, None, 100, 140)


def test_a_skipped_record_is_one_and_says_why():
    changed = acted(decision("skip-record"), replace(RECORD, blocked=Blocked(100, "RecordRefused", "too large", DECIDED_AT, 3)))
    assert (changed.watermark, changed.blocked) == (101, None)
    assert (changed.skipped[-1].start, changed.skipped[-1].end) == (100, 101)
    assert "RecordRefused" in changed.skipped[-1].reason
    assert "seen" in changed.skipped[-1].reason


def test_no_record_is_skipped_for_what_the_target_lost():
    """Nobody refused the record at the watermark: a loss is noted there where the map does not tell the first record that is gone."""
    lost = replace(RECORD, blocked=Blocked(100, "TargetLostRecords", "x", DECIDED_AT, 1))
    assert act_on_decisions(lost, [decision("skip-record")], NOW) == (lost, ())


def test_accepted_records_are_those_in_front_of_the_end_that_was_seen():
    assert acted(decision("accept-records")).target_next == 120
    assert records_accepted_until([decision("accept-records")], NOW) == 120
    assert records_accepted_until([decision("accept-records")], replace(NOW, remote_id="other")) is None
    assert records_accepted_until([decision("restart")], NOW) is None


def test_what_is_passed_over_ends_being_stuck():
    stuck = replace(RECORD, blocked=Blocked(100, "x", "", DECIDED_AT, 1))
    assert pass_over_offsets(stuck, 101, "why", 5).blocked is None


def test_a_restart_comes_first_whatever_was_decided_first():
    made = (decision("accept-records", target_topic_id="new", target_end=3), decision("restart", target_topic_id="new", when=LATER))
    changed, applied = act_on_decisions(RECORD, Decisions(made).of(TP), replace(NOW, remote_id="new"))
    assert [each.decision for each in applied] == ["restart", "accept-records"]
    assert (changed.target_next, changed.decided.decision) == (3, "restart")


# ---------------------------------------------------------------- the whole flow


def test_adopted_records_get_the_new_id_and_say_who_decided():
    changed = with_adopted_clusters(RECORD, Decisions([decision("adopt-cluster")]), ("east", "new-source-id"), ("west", "target-id"), "")
    assert (changed.source_cluster_id, changed.target_cluster_id, changed.decided.decision) == (
        "new-source-id",
        "target-id",
        "adopt-cluster",
    )


def test_records_of_the_same_clusters_and_installation_stay_as_they_are():
    made = Decisions([decision("adopt-cluster", cluster_id="source-id"), decision("take-ownership")])
    assert with_adopted_clusters(RECORD, made, ("east", "source-id"), ("west", "target-id"), "ours") == RECORD


def test_taken_over_records_say_who_decided():
    foreign = replace(RECORD, writer=Writer("theirs", "host", "run", DECIDED_AT))
    changed = with_adopted_clusters(foreign, Decisions([decision("take-ownership")]), ("east", "source-id"), ("west", "target-id"), "ours")
    assert changed.decided.decision == "take-ownership"


@pytest.mark.parametrize("word", ["accept-gap", "skip-record", "restart", "accept-records"])
def test_nothing_is_done_with_a_partition_that_a_cutover_moved(word):
    moved = replace(
        RECORD, moved=Decided("moved", "somebody", DECIDED_AT, "a wave"), blocked=Blocked(100, "RecordRefused", "x", DECIDED_AT, 1)
    )
    assert act_on_decisions(moved, [decision(word, when=LATER)], replace(NOW, log_start=110)) == (moved, ())
