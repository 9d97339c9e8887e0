"""Every decision about one partition, for any offsets: which of them it is, and that a range neither loses nor repeats an offset."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.config.catalogue.values import StartPosition
from kafka_mirror.copy.plan.model import Range
from kafka_mirror.copy.plan.ranges import SourceOffsets, first_sight, next_range, pause
from kafka_mirror.errors import ErrorReport
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.record import Blocked
from tests.unit.ledger_records import ledger_record

NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
small = st.integers(0, 12)


@st.composite
def partitions(draw: st.DrawFn, ordered: bool = True) -> SourceOffsets:
    """A partition as found; not `ordered`: its offsets were asked for one after the other while it was written and deleted."""
    offsets = [draw(small) for _ in range(3)]
    log_start, readable_end, end = sorted(offsets) if ordered else offsets
    return SourceOffsets(
        TopicPartition("orders", 3),
        draw(st.sampled_from(["this", "that"])),
        log_start,
        readable_end,
        max(end, readable_end),
        time_offset=draw(st.none() | small),
        leader_epoch=draw(st.none() | st.integers(0, 3)),
        epoch_end=draw(st.none() | small),
    )


@st.composite
def ledger_records(draw: st.DrawFn):
    """What the ledger says: also of another topic, and also of a record that was refused."""
    blocked = st.builds(lambda offset, tries: Blocked(offset, "RecordRefused", "x", NOW, tries), small, st.integers(1, 20))
    return ledger_record(
        watermark=draw(small),
        source_topic_id=draw(st.sampled_from(["this", "this", "this", "that"])),
        leader_epoch=draw(st.none() | st.integers(0, 3)),
        blocked=draw(st.none() | blocked),
    )


ages = st.integers(0, 7200).map(lambda seconds: timedelta(seconds=seconds))


def decision(found, record, skip_gaps, age):
    record = replace(record, writer=replace(record.writer, time=NOW - age))
    return next_range(found, record, skip_gaps, NOW, MINUTE)


@given(partitions(ordered=False), ledger_records(), st.booleans(), ages)
def test_each_situation_has_its_decision(found, record, skip_gaps, age):
    recreated = found.topic_id != record.source_topic_id
    truncated = found.end < record.watermark or (
        record.leader_epoch is not None and found.epoch_end is not None and found.epoch_end < record.watermark
    )
    gap = record.watermark < found.log_start
    owed = record.watermark < found.readable_end
    stuck = record.blocked is not None and record.blocked.offset == record.watermark
    expected = next(
        word
        for word, holds in [
            ("SourceRecreated", recreated),
            ("SourceTruncated", truncated),
            ("SourceGap", gap and not skip_gaps),
            ("gap", gap),
            (None, not owed),
            ("RecordRefused", stuck and age < pause(record.blocked, MINUTE)),
            ("blocked", stuck),
            ("behind", True),
        ]
        if holds
    )
    chosen = decision(found, record, skip_gaps, age)
    assert (chosen.code if isinstance(chosen, ErrorReport) else chosen and chosen.reason) == expected


@given(partitions(ordered=False), ledger_records(), st.booleans(), ages)
def test_a_range_begins_at_the_watermark_or_says_what_it_skips_and_ends_where_reading_ends(found, record, skip_gaps, age):
    chosen = decision(found, record, skip_gaps, age)
    if not isinstance(chosen, Range):
        return
    assert chosen.start == (record.watermark if chosen.skip_to is None else chosen.skip_to)
    assert chosen.skip_to in (None, found.log_start)
    assert found.log_start <= chosen.start <= chosen.end <= max(found.readable_end, found.log_start)
    assert (chosen.topic, chosen.partition, chosen.topic_id, chosen.leader_epoch) == ("orders", 3, found.topic_id, found.leader_epoch)


@given(partitions(), ledger_records(), st.booleans(), ages, st.data())
def test_whatever_part_of_a_range_is_copied_the_rest_of_it_is_what_is_owed_next(found, record, skip_gaps, age, data):
    chosen = decision(found, record, skip_gaps, age)
    if not isinstance(chosen, Range):
        return
    reached = data.draw(st.integers(chosen.start, chosen.end))
    later = replace(record, watermark=reached, blocked=None, leader_epoch=None)
    rest = decision(found, later, skip_gaps, age)
    assert rest is None if reached == chosen.end else (rest.start, rest.end) == (reached, chosen.end)


@given(partitions(), ledger_records(), ages)
def test_an_error_of_a_partition_names_its_watermark_and_leaves_the_decision_to_a_person(found, record, age):
    error = decision(found, record, False, age)
    if isinstance(error, ErrorReport):
        assert (error.topic, error.partition, error.offset, error.retriable) == ("orders", 3, record.watermark, False)
        assert error.next


starts = st.sampled_from(
    [StartPosition("earliest"), StartPosition("latest"), StartPosition("timestamp", 5), *(StartPosition("offset", n) for n in range(14))]
)


@given(partitions(ordered=False), starts)
def test_a_first_sight_begins_where_it_is_told_and_never_outside_the_log(found, start):
    chosen = first_sight(found, start)
    wanted = {
        "earliest": found.log_start,
        "latest": found.readable_end,
        "timestamp": found.readable_end if found.time_offset is None else found.time_offset,
        "offset": start.value,
    }[start.kind]
    assert chosen.start == max(found.log_start, min(wanted, found.readable_end))
    assert chosen.start <= chosen.end == max(chosen.start, found.readable_end)
    assert chosen.skip_to is None
