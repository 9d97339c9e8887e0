"""Decisions held against the ledger: what each makes of a record, and that it does so once and for what was seen alone."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.formats.offsets.map import Run
from kafka_mirror.formats.offsets.partition import NO_TOPIC_ID, TopicPartition
from kafka_mirror.ledger.apply_decisions import act_on_decisions, pass_over_offsets, records_accepted_until, with_adopted_clusters
from kafka_mirror.ledger.decisions import Decisions
from kafka_mirror.ledger.record import Blocked, Decided, History, HistoryTopic, Skipped, Writer
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
    changed, applied = act_on_decisions(RECORD, Decisions(made).select(TP), replace(NOW, remote_id="new"))
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


def test_a_restart_of_a_recreated_source_forgets_the_old_offsets_and_keeps_the_target():
    changed = acted(decision("restart", source_topic_id="new"), now=replace(NOW, source_topic_id="new"))
    assert (changed.watermark, changed.source_topic_id, changed.target_next) == (0, "new", 100)
    assert (changed.offset_map.runs, changed.covered, changed.skipped, changed.history) == ((), (), (), ())
    assert changed.records == RECORD.records


def test_a_restart_of_a_recreated_source_that_has_no_ids_forgets_the_old_offsets_too():
    record, now = replace(RECORD, source_topic_id=NO_TOPIC_ID, leader_epoch=3), replace(NOW, source_topic_id=NO_TOPIC_ID, leader_epoch=0)
    changed = acted(decision("restart", source_topic_id=NO_TOPIC_ID), record, now=now)
    assert (changed.watermark, changed.offset_map.runs, changed.covered) == (0, (), ())
    assert changed.leader_epoch in (None, 0)


def test_a_restart_keeps_the_history_that_still_stands_and_begins_a_recreated_partition_without_any():
    elsewhere = HistoryTopic("history.orders", "id", 10, ((0, 10),), (History(0, 10, "history.orders", 0, 10),), 10, 100)
    behind = HistoryTopic(RECORD.target_topic, RECORD.target_topic_id, 100, ((0, 10),), (History(0, 10, RECORD.target_topic, 90, 100),))
    record = replace(RECORD, start=10, history_topics=(elsewhere, behind))

    again = acted(decision("restart", offset=50), record)
    assert (again.live_start, again.history_topics) == (10, (elsewhere, behind))
    lost = acted(decision("restart", offset=50, target_end=95), record)
    assert [each.intervals for each in lost.history_topics] == [((0, 10),), ()], "what the remote topic lost is missing again"
    earlier = acted(decision("restart", offset=5), record)
    assert (earlier.live_start, earlier.history_topics[1].intervals) == (5, ((0, 5),)), "the rest is the copy's again"
    replaced = acted(decision("restart", target_topic_id="new"), record, now=replace(NOW, remote_id="new"))
    assert (replaced.live_start, replaced.history_topics) == (0, (elsewhere,))
    recreated = acted(decision("restart", source_topic_id="new"), record, now=replace(NOW, source_topic_id="new"))
    assert (recreated.live_start, recreated.history_topics) == (0, ())


def test_a_restart_behind_a_recreated_target_looks_at_all_that_stands_in_it():
    changed = acted(decision("restart", target_topic_id="new"), now=replace(NOW, remote_id="new"))
    assert (changed.target_topic_id, changed.target_next, changed.offset_map.runs, changed.covered) == ("new", 0, (), ())


def test_a_restart_that_was_decided_while_there_was_no_remote_topic_takes_the_one_that_was_made_since():
    assert acted(decision("restart", target_topic_id=None), now=replace(NOW, remote_id="made since")).target_topic_id == "made since"


def test_a_restart_further_back_keeps_what_lies_in_front_of_it():
    changed = acted(decision("restart", offset=70))
    assert (changed.watermark, changed.covered) == (70, ((0, 70),))
    assert changed.offset_map.runs == (Run(0, 0, 40), Run(60, 41, 10))
    assert changed.skipped == RECORD.skipped


def test_a_restart_inside_a_gap_cuts_it():
    assert acted(decision("restart", offset=50)).skipped == (Skipped(40, 50, "gap"),)
    counted = replace(RECORD, skipped=(Skipped(40, 60, "refused", 15),))
    assert acted(decision("restart", offset=50), counted).skipped == (Skipped(40, 50, "refused", 10),)


def test_a_restart_further_on_keeps_what_it_leaves_out():
    changed = acted(decision("restart", offset=150))
    assert changed.watermark == 150
    assert (changed.skipped[-1].start, changed.skipped[-1].end) == (100, 150)
    assert changed.offset_map == RECORD.offset_map


def test_a_restart_at_offsets_that_expired_meanwhile_goes_on_where_the_log_starts_and_says_so():
    changed = acted(decision("restart", offset=50), now=replace(NOW, log_start=80))
    assert changed.watermark == 80
    assert (changed.skipped[-1].start, changed.skipped[-1].end) == (50, 80)


def test_a_restart_after_the_target_lost_records_forgets_what_was_lost():
    changed = acted(decision("restart", offset=65, target_end=46))
    assert (changed.watermark, changed.target_next) == (65, 46)
    assert changed.offset_map.runs == (Run(0, 0, 40), Run(60, 41, 5))


def test_a_restart_behind_lost_copies_keeps_that_they_are_left_out():
    changed = acted(decision("restart", offset=80, target_end=46))
    assert (changed.watermark, changed.covered) == (80, ((0, 65),)), "the copy never has them again"
    assert [(each.start, each.end) for each in changed.skipped] == [(40, 60), (65, 80)]
    assert "restart" in changed.skipped[-1].reason
    further_on = acted(decision("restart", offset=150, target_end=46))
    assert [(each.start, each.end) for each in further_on.skipped] == [(40, 60), (65, 150)]


def test_records_that_were_lost_after_the_decision_are_still_noticed():
    assert acted(decision("restart", offset=65, target_end=None)).target_next == 100


@given(st.integers(0, 200), st.integers(0, 120), st.integers(0, 120) | st.none())
def test_after_a_restart_the_ledger_claims_nothing_at_or_behind_it_but_what_it_skips(offset, log_start, lost):
    changed = acted(decision("restart", offset=offset, target_end=lost), now=replace(NOW, log_start=log_start))
    assert changed.watermark == max(offset, log_start)
    assert all(end <= min(offset, 100) for _, end in changed.covered)
    # Of what expired on the source the older copies are the only ones.
    assert all(run.source + run.length <= changed.watermark for run in changed.offset_map.runs)
    assert all(run.target + run.length <= changed.target_next for run in changed.offset_map.runs)
    assert all(first.end <= second.start for first, second in zip(changed.skipped, changed.skipped[1:], strict=False))
