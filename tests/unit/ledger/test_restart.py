"""A restart: what of a ledger record still holds at another offset, of another source or target, and what is left out."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.formats.offsets.map import Run
from kafka_mirror.formats.offsets.partition import NO_TOPIC_ID
from kafka_mirror.ledger.record import History, HistoryTopic, Skipped
from tests.unit.copy.plan.partition_facts import NOW, RECORD, acted
from tests.unit.decision_records import decision


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
