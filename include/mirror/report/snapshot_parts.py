"""From what was seen of a flow to what its snapshot shows: partitions, topics, lanes, offsets that were passed over. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby

from mirror.formats.ledger import LedgerRecord, Writer
from mirror.offsets.lanes import lane_of
from mirror.offsets.partition import TopicPartition
from mirror.report.snapshot import LaneSnapshot, PartitionSnapshot, SchemaIds, SkippedOffsets, TopicSnapshot
from mirror.report.status import PAUSED, PROGRESSING, Observation, Status
from mirror.report.throughput import CatchUp, Sample, Totals, catch_up, estimated_bytes, throughput

MAX_SKIPPED = 300
"""How many intervals of offsets that were passed over a snapshot lists."""

Records = Mapping[TopicPartition, LedgerRecord]


def sample_of(seen: Observation) -> Sample:
    """The running totals at the moment of an observation."""
    source = seen.source or {}
    totals = {
        tp: Totals(*record.totals, seen.starts.get(tp, record.watermark), source[tp].end if tp in source else None)
        for tp, record in (seen.ledger or {}).items()
    }
    return Sample(seen.time.timestamp(), totals)


def partitions_of(status: Status, seen: Observation, samples: Sequence[Sample], remote: Callable[[str], str]) -> list[PartitionSnapshot]:
    """Every partition of the status, in its order, with what was measured of it."""
    records = seen.ledger or {}
    of_flow, of_topics = (
        _totals(records.values()),
        {topic: _totals(records[tp] for tp in each) for topic, each in groupby(sorted(records), key=lambda tp: tp.topic)},
    )
    names = {topic: remote(topic) for topic in {each.topic for each in status.partitions}}
    found = []
    for each in status.partitions:
        tp, record = each.topic_partition, records.get(each.topic_partition)
        own = record.totals if record else (0, 0)
        found.append(
            PartitionSnapshot(
                status=each,
                remote=names[tp.topic],
                lane=lane_of(*tp, seen.lanes),
                bytes_behind=estimated_bytes(each.lag, own, of_topics.get(tp.topic, (0, 0)), of_flow),
                throughput=throughput(samples, [tp]),
                last=record.last if record else None,
            )
        )
    return found


def _totals(records: Iterable[LedgerRecord]) -> tuple[int, int]:
    listed = [each.totals for each in records]
    return sum(copied for copied, _ in listed), sum(size for _, size in listed)


def topics_of(
    partitions: Iterable[PartitionSnapshot], samples: Sequence[Sample], schema_ids: Mapping[str, SchemaIds | None]
) -> tuple[TopicSnapshot, ...]:
    """The same by topic. They have to be in the order of topics."""
    found = []
    for topic, group in groupby(partitions, key=lambda each: each.topic):
        each = tuple(group)
        found.append(
            TopicSnapshot(
                topic,
                each[0].remote,
                each,
                lag=total(one.status.lag for one in each),
                oldest_seconds=max((one.status.oldest_seconds for one in each if one.status.oldest_seconds is not None), default=None),
                bytes_behind=bytes_of(each),
                throughput=throughput(samples, [one.status.topic_partition for one in each]),
                written=_newest(one.status.written for one in each),
                schema_ids=schema_ids.get(topic),
            )
        )
    return tuple(found)


def lanes_of(partitions: Iterable[PartitionSnapshot], seen: Observation) -> tuple[LaneSnapshot, ...]:
    """The same by lane; lanes without partitions are left out, unless their ledger cannot be read."""
    by_lane: dict[int, list[PartitionSnapshot]] = {lane: [] for lane in seen.unreadable}
    for each in partitions:
        by_lane.setdefault(each.lane, []).append(each)
    return tuple(
        LaneSnapshot(
            lane,
            partitions=len(each),
            behind=sum(one.status.is_behind for one in each),
            lag=total(one.status.lag for one in each),
            written=_newest(one.status.written for one in each),
            error=seen.unreadable.get(lane),
        )
        for lane, each in sorted(by_lane.items())
    )


def skipped_of(records: Records) -> tuple[tuple[SkippedOffsets, ...], int]:
    """The offsets that were passed over, those with the highest offsets of each partition first, and how many there are in all."""
    found = [
        (age, SkippedOffsets(*tp, each.start, each.end, each.offsets, each.reason))
        for tp, record in sorted(records.items())
        for age, each in enumerate(reversed(record.skipped))
    ]
    newest_first = sorted(found, key=lambda each: each[0])[:MAX_SKIPPED]
    return tuple(each for _, each in newest_first), sum(each.offsets for _, each in found)


def catch_up_of(status: Status, samples: Sequence[Sample], interval: float) -> CatchUp:
    """When the partitions that need nobody's help will be copied to their end; those that do are counted."""
    moving = [each for each in status.partitions if each.state in PROGRESSING]
    waiting = sum(each.state not in PROGRESSING and each.state != PAUSED for each in status.partitions)
    lag = None if status.unknown else total(each.lag for each in moving)
    return catch_up(samples, {each.topic_partition for each in moving}, lag, interval, waiting)


def bytes_of(partitions: Iterable[PartitionSnapshot]) -> int | None:
    """About how many bytes the partitions are behind together; None if that is unknown of one that is: the rest would look like all."""
    listed = list(partitions)
    if any(each.status.is_behind and each.bytes_behind is None for each in listed):
        return None
    return total(each.bytes_behind for each in listed)


def total(numbers: Iterable[int | None]) -> int | None:
    """The sum of what is known; None if nothing is, 0 if there is nothing to know."""
    listed = list(numbers)
    known = [each for each in listed if each is not None]
    return sum(known) if known or not listed else None


def _newest(writers: Iterable[Writer | None]) -> Writer | None:
    return max((each for each in writers if each is not None), key=lambda each: each.time, default=None)
