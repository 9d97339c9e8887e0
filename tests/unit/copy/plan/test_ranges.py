"""What is done with one partition: a range, nothing, or an error that names offsets."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.config.catalogue.values import StartPosition
from kafka_mirror.copy.plan.model import Range
from kafka_mirror.copy.plan.ranges import SourceOffsets, first_sight, next_range, pause
from kafka_mirror.errors import ErrorReport
from kafka_mirror.formats.offsets.partition import NO_TOPIC_ID, TopicPartition
from kafka_mirror.ledger.record import Blocked
from tests.unit.ledger_records import ledger_record

NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
TP = TopicPartition("orders", 3)
FOUND = SourceOffsets(TP, "source-topic-id", log_start=10, readable_end=100, end=120)
RECORD = ledger_record(watermark=50)


def chosen(found=FOUND, record=RECORD, skip_gaps=False, now=NOW):
    return next_range(found, record, skip_gaps, now, MINUTE)


def test_the_range_goes_from_the_watermark_to_the_last_stable_offset():
    assert chosen() == Range("orders", 3, "source-topic-id", 50, 100, "behind", log_end=120)


def test_a_range_to_the_logs_end_says_no_other_end():
    assert chosen(found=replace(FOUND, end=100)).log_end is None


def test_a_log_start_behind_the_watermark_is_a_gap_that_names_both():
    error = chosen(found=replace(FOUND, log_start=60))
    assert (error.code, error.offset, error.retriable) == ("SourceGap", 50, False)
    assert "[50, 60)" in error.message
    assert "mirror.on.gap" in error.next


def test_a_gap_is_passed_over_where_that_is_configured():
    planned = chosen(found=replace(FOUND, log_start=60), skip_gaps=True)
    assert planned == Range("orders", 3, "source-topic-id", 60, 100, "gap", skip_to=60, log_end=120)


@pytest.mark.parametrize("skip_gaps", [False, True])
def test_a_gap_does_not_hide_what_the_target_was_seen_to_have_lost(skip_gaps):
    lost = replace(RECORD, blocked=Blocked(40, "TargetLostRecords", "east.orders-3 ends at 40.", NOW, 1))
    error = chosen(found=replace(FOUND, log_start=60), record=lost, skip_gaps=skip_gaps)
    assert (error.code, error.offset, error.retriable) == ("TargetLostRecords", 40, False)
    assert "decide restart" in error.next


def test_a_gap_up_to_an_empty_log_is_passed_over_too():
    emptied = replace(FOUND, log_start=120, readable_end=120)
    assert chosen(found=emptied, skip_gaps=True) == Range("orders", 3, "source-topic-id", 120, 120, "gap", skip_to=120)


def test_an_end_below_the_watermark_is_a_truncated_source():
    error = chosen(found=replace(FOUND, readable_end=40, end=40))
    assert (error.code, error.offset) == ("SourceTruncated", 50)
    assert "[40, 50)" in error.message


def test_a_log_that_grew_again_after_it_was_truncated_is_known_by_the_end_of_the_old_epoch():
    error = chosen(found=replace(FOUND, leader_epoch=7, epoch_end=45))
    assert (error.code, error.offset, error.retriable) == ("SourceTruncated", 50, False)
    assert "[45, 50)" in error.message
    assert "[45, 120)" in error.message


def test_a_leader_that_does_not_say_where_the_old_epoch_ends_leaves_nothing_in_order():
    """Where there is work its lane asks, with its first fetch."""
    found = replace(FOUND, leader_epoch=7, is_unconfirmed=True)
    assert chosen(found=found).reason == "behind"
    error = chosen(found=found, record=replace(RECORD, watermark=FOUND.end))
    assert (error.code, error.offset, error.retriable) == ("SourceUnreadable", FOUND.end, True)


@pytest.mark.parametrize(("known", "found"), [(NO_TOPIC_ID, NO_TOPIC_ID), (NO_TOPIC_ID, "given by an upgrade"), ("known", NO_TOPIC_ID)])
def test_a_topic_without_an_id_is_told_by_its_log_alone(known, found):
    record, log = replace(RECORD, source_topic_id=known, leader_epoch=3), replace(FOUND, topic_id=found)
    assert chosen(found=replace(log, leader_epoch=3), record=record).reason == "behind"
    assert chosen(found=replace(log, leader_epoch=4), record=record).reason == "behind"
    assert chosen(found=replace(log, leader_epoch=None), record=record).reason == "behind"
    assert chosen(found=replace(log, leader_epoch=2), record=record).code == "SourceRecreated", "no leader epoch of a topic goes back"
    shorter = chosen(found=replace(log, leader_epoch=3, end=40, readable_end=40), record=record)
    assert (shorter.code, "created it again" in shorter.next, "--to-earliest" in shorter.next) == ("SourceTruncated", True, True)
    assert "--to-earliest" not in chosen(found=replace(FOUND, end=40, readable_end=40)).next


def test_a_refused_record_is_left_alone_for_a_while_and_then_tried_alone():
    stuck = replace(RECORD, blocked=Blocked(50, "RecordRefused", "too large", NOW - timedelta(hours=2), 3))
    waiting = chosen(record=stuck)
    assert isinstance(waiting, ErrorReport)
    assert (waiting.code, waiting.offset) == ("RecordRefused", 50)
    assert "too large" in waiting.message
    assert chosen(record=stuck, now=NOW + timedelta(minutes=8)).reason == "blocked"


@given(st.integers(-86_400, 86_400), st.integers(-86_400, 86_400), st.integers(0, 20))
def test_a_refused_record_is_tried_when_the_pause_is_over_whatever_the_clocks_of_those_who_copy_say(copies, notes, tries):
    """`copies`, `notes`: by how many seconds the clocks are wrong of the hosts that wrote the record and the note."""
    blocked = Blocked(50, "RecordRefused", "too large", NOW + timedelta(seconds=notes), tries, tried=NOW)
    writer = replace(RECORD.writer, time=NOW + timedelta(seconds=copies))
    stuck, over = replace(RECORD, blocked=blocked, writer=writer), pause(blocked, MINUTE)
    assert isinstance(chosen(record=stuck, now=NOW), ErrorReport)
    assert isinstance(chosen(record=stuck, now=NOW + over - timedelta(seconds=1)), ErrorReport)
    assert chosen(record=stuck, now=NOW + over).reason == "blocked"


@pytest.mark.parametrize("noted", [True, False], ids=["as of planning", "in a record of an older mirror"])
def test_a_try_that_is_still_to_come_postpones_nothing(noted):
    """A planner whose clock was a day ahead may have written it, and ours may be a day behind."""
    ahead = NOW + timedelta(days=1)
    blocked = Blocked(50, "RecordRefused", "too large", ahead, 3, tried=ahead if noted else None)
    stuck = replace(RECORD, blocked=blocked, writer=replace(RECORD.writer, time=ahead))
    assert chosen(record=stuck, now=NOW).reason == "blocked"


@pytest.mark.parametrize("written", [NOW, NOW + timedelta(hours=5)], ids=["just now", "by a clock that is ahead"])
def test_without_an_interval_a_refused_record_is_tried_at_once(written):
    stuck = replace(RECORD, blocked=Blocked(50, "RecordRefused", "too large", NOW, 30), writer=replace(RECORD.writer, time=written))
    assert next_range(FOUND, stuck, False, NOW, timedelta(0)).reason == "blocked"


@pytest.mark.parametrize("watermark", [50, 100], ids=["behind", "up to date"])
def test_what_the_target_was_seen_to_have_lost_stays_an_error_until_somebody_decides(watermark):
    lost = replace(RECORD, watermark=watermark, blocked=Blocked(40, "TargetLostRecords", "gone", NOW - timedelta(days=9), 1))
    error = chosen(record=lost)
    assert (error.code, error.topic, error.partition, error.offset) == ("TargetLostRecords", "orders", 3, 40)
    assert "decide restart --flow '<flow>' --topic orders --partition 3" in error.next


@given(st.integers(0, 10_000))
def test_the_pause_grows_and_never_exceeds_an_hour(tries):
    assert MINUTE <= pause(Blocked(0, "", "", NOW, tries), MINUTE) <= timedelta(hours=1)


@pytest.mark.parametrize(
    ("start", "time_offset", "expected"),
    [
        (StartPosition("earliest"), None, 10),
        (StartPosition("latest"), None, 100),
        (StartPosition("timestamp", 1), 70, 70),
        (StartPosition("timestamp", 1), None, 100),
        (StartPosition("timestamp", 1), 110, 100),
        (StartPosition("offset", 42), None, 42),
        (StartPosition("offset", 0), None, 10),
        (StartPosition("offset", 1000), None, 100),
    ],
)
def test_a_first_sight_starts_where_it_is_told_within_the_log(start, time_offset, expected):
    assert first_sight(replace(FOUND, time_offset=time_offset), start) == Range(
        "orders", 3, "source-topic-id", expected, 100, "first sight", log_end=120
    )
