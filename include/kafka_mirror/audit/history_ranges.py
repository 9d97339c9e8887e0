"""What there is to compare beside what the copy wrote: history, where backfills wrote it; and what all stretches have in common."""

from collections.abc import Sequence
from dataclasses import replace

from kafka_mirror.audit.model import LeftOut
from kafka_mirror.audit.range import AuditRange, LogBounds
from kafka_mirror.formats.offsets.intervals import Interval, merged, within, without
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.record import History, HistoryTopic, LedgerRecord

SOURCE_GONE = "the source no longer has these records: its log starts at {}"
TARGET_GONE = "the target no longer has their copies: the log of {} starts at {}"
PLACE_UNKNOWN = "written by a backfill so long ago that the ledger no longer knows where they stand"
HISTORY_GONE = "written by a backfill into {}, which {}"
HISTORY_LOST = "written by a backfill, and no topic that the ledger knows holds their copies any more"
UNCOUNTABLE = "the log of {} starts at {}, between two known offsets, and what is no copy keeps its records from being counted back"


def history_range(tp: TopicPartition, place: History, held: LogBounds, record: LedgerRecord) -> tuple[list[AuditRange], list[LeftOut]]:
    """What a backfill wrote into one place, without what it passed over; all of it, for where a part of it stands is not known."""
    remote = TopicPartition(place.topic, tp.partition)
    start, target_start = max(place.start, held.source_start), max(place.target_start, held.target_start)
    if start >= place.end:
        return [], [LeftOut(place.start, place.end, SOURCE_GONE.format(held.source_start))]
    if target_start >= place.target_end and place.target_end > place.target_start:
        return [], [LeftOut(start, place.end, TARGET_GONE.format(remote, held.target_start))]
    left_out = [LeftOut(place.start, start, SOURCE_GONE.format(start))] if start > place.start else []
    source_ahead, target_ahead = target_start > place.target_start, start > place.start
    offsets = (start, place.end, target_start, place.target_end, held.source_end, held.target_end)
    stretch = AuditRange(tp, remote, *offsets, watermark=place.end, source_ahead=source_ahead, target_ahead=target_ahead)
    return [without_skipped(stretch, record)], left_out


def forgotten(topic: HistoryTopic) -> tuple[Interval, ...]:
    """Offsets that a backfill wrote there; where they stand is no longer known."""
    return subtract_intervals(topic.intervals, [(place.start, place.end) for place in topic.places])


def countable(stretch: AuditRange) -> AuditRange | LeftOut:
    """The stretch as it can be compared; or, where it cannot be, what is left out.

    A head is counted back, so it must have nothing but records and their copies. Of one with something else in it, what the target has
    in front can be taken for records that are no copies, and what the source has in front for nothing.
    """
    if not stretch.is_head or stretch.compacted or not (stretch.lenient or stretch.unsure):
        return stretch
    if stretch.source_ahead:
        return LeftOut(stretch.start, stretch.end, UNCOUNTABLE.format(stretch.remote, stretch.target_start))
    return replace(stretch, target_ahead=False, lenient=True)


def without_skipped(stretch: AuditRange, record: LedgerRecord) -> AuditRange:
    """Returns the range without its skipped offsets; where those are not known exactly, they become `unsure`."""
    certain = [(skip.start, skip.end) for skip in record.skipped if skip.count is None]
    drawn_together = [skip for skip in record.skipped if skip.count is not None and skip.start < stretch.end and skip.end > stretch.start]
    return replace(
        stretch,
        source_left=merged((*stretch.source_left, *within(certain, stretch.start, stretch.end))),
        unsure=within([(skip.start, skip.end) for skip in drawn_together], stretch.start, stretch.end),
        most_unsure=sum(skip.offsets for skip in drawn_together),
    )


def subtract_intervals(intervals: Sequence[Interval], taken: Sequence[Interval]) -> tuple[Interval, ...]:
    """Returns the intervals without the offsets of `taken`."""
    remaining = merged(intervals)
    for interval in taken:
        remaining = without(remaining, interval)
    return remaining
