"""Asks the source which offsets a time interval comes to.

Wild timestamps: a record that is stamped so far ahead of its neighbours that it takes their place in time.

    offsets      40    41    42     43    44    45
    stamped      d3    d3    2040   d3    d4    d5       o(d4) = o(d5) = o(d6) = 42: the intervals of d4 and d5 are empty

Records are looked at from the interval's end on: the one that stands there is stamped after the interval, and if most of those that follow
it are not, it jumped over them. If most of them are, the others are merely late, and nothing is said.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from kafka_mirror.backfill.model import (
    BackfillRequest,
    OffsetInterval,
    Resolution,
    TimeInterval,
    make_offset_interval,
    moment_of,
    show_times,
)
from kafka_mirror.backfill.plan_view import (
    NOT_LED,
    concerns_flow,
    explain_absence,
    find_errors_of,
    find_paused,
    is_waiting_for_remote,
    partition_of,
    read_pending_ledger,
    unreadable,
)
from kafka_mirror.config import Flow
from kafka_mirror.config.validate import check_readable
from kafka_mirror.copy.plan.ranges import SourceOffsets
from kafka_mirror.copy.plan.run import PlanContext, survey
from kafka_mirror.errors import ErrorReport, MirrorError, UsageError, WildTimestamp, name_flow_in_errors
from kafka_mirror.formats.offsets.intervals import Interval
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.reader import BoundedReader
from kafka_mirror.ledger.clusters import clusters

SAMPLE = 16
"""How many offsets after the end of an interval are looked at."""


@dataclass(frozen=True)
class TimestampedOffset:
    """A record's offset and its timestamp in Unix milliseconds."""

    offset: int
    timestamp: int


def find_jump(interval: OffsetInterval, times: TimeInterval, after: Sequence[TimestampedOffset]) -> TimestampedOffset | None:
    """The record at the interval's end whose timestamp jumps over it, if there is one. `after` are the visible records from the interval's
    end on, in order.

    One after an interval with records counts only if it is ahead of those after it by more than the interval is long: that records are
    a little out of order is nothing special.
    """
    ahead = next((record for record in after if record.timestamp >= times.end), None)
    if ahead is None:
        return None
    following = [record.timestamp for record in after if record.offset > ahead.offset]
    late = [timestamp for timestamp in following if timestamp < times.end]
    if not late or 2 * len(late) < len(following):
        return None
    if interval.offsets and ahead.timestamp - max(late) <= times.end - times.start:
        return None
    return ahead


def resolve(flow: Flow, request: BackfillRequest) -> Resolution:
    """The offsets of a time interval, of each mirrored partition that is asked for and not paused; writes nothing.

    What concerns one partition or topic is in the errors. Raises what concerns the whole flow, and UsageError for a topic that is not
    mirrored.
    """
    check_readable(flow)
    with name_flow_in_errors(flow.name), clusters(flow) as (source, target):
        # The ends come with the survey, so they are older than the answers for the times.
        return _resolve_one(flow, request, source, survey(flow, source, target, dry_run=True))


def offsets_within(
    flow: Flow, topics: Collection[str], all_times: Iterable[TimeInterval]
) -> dict[TimeInterval, dict[TopicPartition, Interval]]:
    """The offsets of many time intervals, by one look at the clusters; intervals that touch share a question.

    What cannot be read is absent. Wild timestamps are not looked for.
    """
    check_readable(flow)
    with name_flow_in_errors(flow.name), clusters(flow) as (source, target):
        context = survey(flow, source, target, dry_run=True)
        wanted = select_partitions(topics, context)
        lookup = _TimestampLookup(flow, source, wanted, read_pending_ledger(context).starts, {})
        firsts: dict[int, dict[TopicPartition, int | None]] = {}
        offsets: dict[TimeInterval, dict[TopicPartition, Interval]] = {}
        for times in all_times:
            for time in (times.start, times.end):
                if time not in firsts:
                    firsts[time] = lookup.first_offsets_at(time)
            first, after = firsts[times.start], firsts[times.end]
            offsets[times] = {}
            for tp in first.keys() & after.keys():
                interval = make_offset_interval(tp, first[tp], after[tp], wanted[tp].log_start, wanted[tp].readable_end)
                offsets[times][tp] = (interval.start, interval.end)
        return offsets


def _resolve_one(flow: Flow, request: BackfillRequest, source: Cluster, context: PlanContext) -> Resolution:
    wanted = select_partitions(request.topics, context)
    refused: dict[str, MirrorError] = {}
    starts = read_pending_ledger(context).starts
    asking = _TimestampLookup(flow, source, wanted, starts, refused)
    first, after = asking.first_offsets_at(request.times.start), asking.first_offsets_at(request.times.end)
    errors, not_had, absent = _list_left_out(flow, request.topics, context)
    intervals = []
    for tp, partition in wanted.items():
        if tp in first and tp in after:
            intervals.append(make_offset_interval(tp, first[tp], after[tp], partition.log_start, partition.readable_end))
        elif tp.topic not in refused:
            errors.append(unreadable(tp, NOT_LED).report())
    wild_timestamps = _find_outliers(flow, request, intervals, starts, refused)
    # Reading may have been refused until just now.
    errors += [error.report() for error in (*refused.values(), *(wild_timestamps[tp] for tp in sorted(wild_timestamps)))]
    return Resolution(
        flow=flow.name,
        times=request.times,
        intervals=tuple(one for one in intervals if one.topic_partition not in wild_timestamps and one.topic not in refused),
        errors=tuple(dict.fromkeys(error.with_flow(flow.name) for error in errors)),
        notices=tuple(context.plan.notices),
        not_had=tuple(not_had),
        absent=tuple(absent),
    )


class _TimestampLookup:
    """Asks for the first offsets of times.

    A broker's answer counts everything in the log: records of aborted transactions, and the markers of transactions, which are stamped by
    the broker's clock however old the records are. Where history is cut, that would leave out what stands after them. So of a partition
    with history the log is read on from the answer to the first record that counts; as a rule that is the very first. Of the others only
    the copy is asked to pass the interval, and the audit to compare it: for these any offsets do that tile.
    """

    def __init__(
        self,
        flow: Flow,
        source: Cluster,
        wanted: Mapping[TopicPartition, SourceOffsets],
        starts: Mapping[TopicPartition, int],
        refused: dict[str, MirrorError],
    ) -> None:
        self._flow = flow
        self._source = source
        self._wanted = wanted
        self._with_history = {tp for tp, partition in wanted.items() if partition.log_start < starts.get(tp, 0)}
        self._refused = refused

    def first_offsets_at(self, time: int) -> dict[TopicPartition, int | None]:
        """The first offset of each partition whose record is stamped then or later, None if there is none."""
        offsets = self._source.offsets_for_time(self._wanted, time, self._refused)
        ranges = {
            tp: (offset, self._wanted[tp].readable_end) for tp, offset in offsets.items() if tp in self._with_history and offset is not None
        }
        first_records = _open_reader(self._flow).first_visible(
            ranges,
            self._flow.value("mirror.run.max.seconds"),
            self._refused,
            accept=lambda message: message.timestamp[1] >= time,
        )
        return offsets | {tp: first_records[tp].offset if tp in first_records else None for tp in ranges}


def _open_reader(flow: Flow) -> BoundedReader:
    return BoundedReader(flow.source, flow.client("source", "consumer"), flow.reads_committed)


def _list_left_out(flow: Flow, topics: Collection[str], context: PlanContext) -> tuple[list[ErrorReport], list[str], list[str]]:
    """The errors of what has no interval, and what has none because a person wants it so or refresh-topics has still to come; and the
    topics of that.

    What the plan says of a partition with an interval is not among them: it matters only if the interval is concerned.
    """
    errors = [
        error
        for error in context.plan.errors
        if partition_of(error) not in context.source and (not topics or error.topic in topics or concerns_flow(error))
    ]
    not_had: list[str] = []
    without: list[str] = []
    # The first copy of a flow creates the remote topics itself.
    is_fresh = not context.ledger.records and flow.value("refresh.topics.enabled")
    for name, topic in sorted(context.topics.items()):
        if topics and name not in topics:
            continue
        absent = [tp for partition in topic.partitions if (tp := TopicPartition(name, partition.number)) not in context.source]
        pauses = find_paused(context, absent)
        others = [] if is_fresh else [tp for tp in absent if tp not in pauses and is_waiting_for_remote(context, tp)]
        waiting = [tp for tp in others if not find_errors_of(context, tp)]
        for listed, why in ((pauses, "are paused"), (waiting, "wait for refresh-topics")):
            if listed:
                not_had.append(f"{name}: {len(listed)} of {len(topic.partitions)} partitions {why}")
                without.append(name)
        errors += [error for tp in absent if tp not in pauses and tp not in waiting for error in explain_absence(context, tp)]
    return errors, not_had, without


def select_partitions(topics: Collection[str], context: PlanContext) -> dict[TopicPartition, SourceOffsets]:
    """The partitions of the given topics, all of them if none is given. Raises UsageError for one that the flow does not mirror: of one
    that it cannot mirror just now the plan has an error."""
    mirrored = {*context.topics, *(error.topic for error in context.plan.errors)}
    unknown = [topic for topic in topics if topic not in mirrored]
    if unknown:
        raise UsageError(
            f"{context.plan.flow} does not mirror {', '.join(sorted(unknown))}.",
            next="Name topics of the source as they are called there, that the flow mirrors (`topics`, `topics.exclude`).",
            names=unknown,
        )
    return {tp: partition for tp, partition in sorted(context.source.items()) if not topics or tp.topic in topics}


def _find_outliers(
    flow: Flow,
    request: BackfillRequest,
    intervals: Iterable[OffsetInterval],
    starts: Mapping[TopicPartition, int],
    refused: dict[str, MirrorError],
) -> dict[TopicPartition, WildTimestamp]:
    """The partitions whose interval a wild timestamp cuts short, unless that is accepted. An interval of live offsets that has records is
    none of them: what it lacks is copied all the same; nor is history that was not asked for."""

    def is_accepted(topic: str) -> bool:
        if request.accept_wild is not None:
            return request.accept_wild
        return bool(flow.per_topic("mirror.backfill.on.wild.timestamp", topic) == "accept")

    suspects = {
        interval.topic_partition: interval
        for interval in intervals
        if not interval.is_provisional
        and not is_accepted(interval.topic)
        and _is_losing_records(interval, starts.get(interval.topic_partition, 0), request.history)
    }
    timestamps: dict[TopicPartition, WildTimestamp] = {}
    for tp, after in _read_after(flow, suspects, refused).items():
        ahead = find_jump(suspects[tp], request.times, after)
        if ahead is not None:
            timestamps[tp] = WildTimestamp(*tp, ahead.offset, moment_of(ahead.timestamp), show_times(request.times))
    return timestamps


def _is_losing_records(interval: OffsetInterval, live_start: int, with_history: bool) -> bool:
    """Whether what a wild timestamp cuts off stays away: of live offsets if it is all of the interval, of history if that is asked for."""
    return with_history if interval.end < live_start else not interval.offsets


def _read_after(
    flow: Flow, suspects: Mapping[TopicPartition, OffsetInterval], refused: dict[str, MirrorError]
) -> dict[TopicPartition, list[TimestampedOffset]]:
    """The first records after each interval, with their timestamps."""
    reader = _open_reader(flow)
    ranges = {tp: (interval.end, min(interval.end + SAMPLE, interval.readable_end)) for tp, interval in suspects.items()}
    after: dict[TopicPartition, list[TimestampedOffset]] = {}
    for message in reader.read(ranges, flow.request_seconds, refused):
        tp = message.partition
        after.setdefault(tp, []).append(TimestampedOffset(message.offset, message.timestamp[1]))
    return after
