"""Asks the source which offsets a time interval comes to."""

from collections.abc import Collection, Iterable, Mapping

from mirror.backfill.absent import NOT_LED, of_flow, partition_of, paused, told_of, unreadable, waits_for_remote, why_absent
from mirror.backfill.ahead import ahead
from mirror.backfill.model import Request, Resolution
from mirror.backfill.tiling import OffsetInterval, offset_interval
from mirror.backfill.times import moment_of, text_of
from mirror.backfill.wild import SAMPLE, Stamped, jumped_over
from mirror.config import Flow
from mirror.config.readable import check_readable
from mirror.errors import ErrorReport, MirrorError, UsageError, WildTimestamp, named_with
from mirror.kafka.cluster import Cluster
from mirror.kafka.connect import clusters
from mirror.kafka.reading import BoundedReader
from mirror.offsets.partition import TopicPartition
from mirror.plan.choose import SourcePartition
from mirror.plan.run import Survey, survey

_FETCH_BYTES = 128 * 1024


def resolve(flow: Flow, request: Request) -> Resolution:
    """The offsets of a time interval, of each mirrored partition that is asked for and nobody paused; writes nothing.

    What concerns one partition or topic is in the errors. Raises what concerns the whole flow, and UsageError for a topic that is not
    mirrored.
    """
    check_readable(flow)
    with named_with(flow.name), clusters(flow) as (source, target):
        # The ends come with the survey, so they are older than the answers for the times.
        return _resolved(flow, request, source, survey(flow, source, target, dry_run=True))


def _resolved(flow: Flow, request: Request, source: Cluster, found: Survey) -> Resolution:
    wanted = chosen(request.topics, found)
    refused: dict[str, MirrorError] = {}
    starts = ahead(found).starts
    asking = _Asking(flow, source, wanted, starts, refused)
    first, behind = asking.first_at(request.times.start), asking.first_at(request.times.end)
    errors, not_had = _left_out(flow, request.topics, found)
    intervals = []
    for tp, partition in wanted.items():
        if tp in first and tp in behind:
            intervals.append(offset_interval(tp, first[tp], behind[tp], partition.log_start, partition.readable_end))
        elif tp.topic not in refused:
            errors.append(unreadable(tp, NOT_LED).report())
    wild = _wild(flow, request, intervals, starts, refused)
    # Reading may have been refused until just now.
    errors += [error.report() for error in (*refused.values(), *(wild[tp] for tp in sorted(wild)))]
    return Resolution(
        flow=flow.name,
        times=request.times,
        intervals=tuple(each for each in intervals if each.topic_partition not in wild and each.topic not in refused),
        errors=tuple(dict.fromkeys(error.of_flow(flow.name) for error in errors)),
        notices=tuple(found.plan.notices),
        not_had=tuple(not_had),
    )


class _Asking:
    """Asks for the first offsets of times.

    A broker's answer counts everything in the log: records of aborted transactions, and the markers of transactions, which are stamped by
    the broker's clock however old the records are. Where history is cut, that would leave out what stands behind them. So of a partition
    with history the log is read on from the answer to the first record that counts; as a rule that is the very first. Of the others only
    the copy is asked to pass the interval, and the audit to compare it: for these any offsets do that tile.
    """

    def __init__(
        self,
        flow: Flow,
        source: Cluster,
        wanted: Mapping[TopicPartition, SourcePartition],
        starts: Mapping[TopicPartition, int],
        refused: dict[str, MirrorError],
    ) -> None:
        self._flow = flow
        self._source = source
        self._wanted = wanted
        self._with_history = {tp for tp, found in wanted.items() if found.log_start < starts.get(tp, 0)}
        self._refused = refused

    def first_at(self, time: int) -> dict[TopicPartition, int | None]:
        """The first offset of each partition whose record is stamped then or later, None if there is none."""
        told = self._source.offsets_for_time(self._wanted, time, self._refused)
        ranges = {
            tp: (offset, self._wanted[tp].readable_end) for tp, offset in told.items() if tp in self._with_history and offset is not None
        }
        found = _reader(self._flow).first_visible(
            ranges,
            self._flow.value("mirror.run.max.seconds"),
            self._refused,
            accept=lambda message: message.timestamp()[1] >= time,
        )
        return told | {tp: int(found[tp].offset() or 0) if tp in found else None for tp in ranges}


def _reader(flow: Flow) -> BoundedReader:
    """A reader that mostly needs the first few records only."""
    settings = {**flow.client("source", "consumer"), "max.partition.fetch.bytes": _FETCH_BYTES}
    return BoundedReader(flow.source, settings, settings.get("isolation.level") != "read_uncommitted")


def _left_out(flow: Flow, topics: Collection[str], found: Survey) -> tuple[list[ErrorReport], list[str]]:
    """The errors of what has no interval, and what has none because a person wants it so or refresh-topics has still to come.

    What the plan says of a partition with an interval is not among them: it matters only if the interval is concerned.
    """
    errors = [
        error
        for error in found.plan.errors
        if partition_of(error) not in found.source and (not topics or error.topic in topics or of_flow(error))
    ]
    not_had = []
    # The first copy of a flow creates the remote topics itself.
    is_fresh = not found.ledger.records and flow.value("refresh.topics.enabled")
    for name, topic in sorted(found.topics.items()):
        if topics and name not in topics:
            continue
        absent = [tp for each in topic.partitions if (tp := TopicPartition(name, each.number)) not in found.source]
        pauses = paused(found, absent)
        waiting = [tp for tp in absent if tp not in pauses and not is_fresh and waits_for_remote(found, tp) and not told_of(found, tp)]
        for listed, why in ((pauses, "are paused"), (waiting, "wait for refresh-topics")):
            if listed:
                not_had.append(f"{name}: {len(listed)} of {len(topic.partitions)} partitions {why}")
        errors += [error for tp in absent if tp not in pauses and tp not in waiting for error in why_absent(found, tp)]
    return errors, not_had


def chosen(topics: Collection[str], found: Survey) -> dict[TopicPartition, SourcePartition]:
    """The partitions of the given topics, all of them if none is given. Raises UsageError for one that the flow does not mirror: of one
    that it cannot mirror just now the plan has an error."""
    known = {*found.topics, *(error.topic for error in found.plan.errors)}
    unknown = [topic for topic in topics if topic not in known]
    if unknown:
        raise UsageError(
            f"{found.plan.flow} does not mirror {', '.join(sorted(unknown))}.",
            next="Name topics of the source as they are called there, that the flow mirrors (`topics`, `topics.exclude`).",
            names=unknown,
        )
    return {tp: partition for tp, partition in sorted(found.source.items()) if not topics or tp.topic in topics}


def _wild(
    flow: Flow,
    request: Request,
    intervals: Iterable[OffsetInterval],
    starts: Mapping[TopicPartition, int],
    refused: dict[str, MirrorError],
) -> dict[TopicPartition, WildTimestamp]:
    """The partitions whose interval a wild timestamp cuts short, unless that is accepted. An interval of live offsets that has records is
    none of them: what it lacks is copied all the same; nor is history that nobody asked for."""
    suspects = {
        each.topic_partition: each
        for each in intervals
        if not each.is_provisional
        and not _accepted(flow, request, each.topic)
        and _loses_records(each, starts.get(each.topic_partition, 0), request.history)
    }
    found: dict[TopicPartition, WildTimestamp] = {}
    for tp, behind in _behind(flow, suspects, refused).items():
        ahead = jumped_over(suspects[tp], request.times, behind)
        if ahead is not None:
            found[tp] = WildTimestamp(*tp, ahead.offset, moment_of(ahead.timestamp), text_of(request.times))
    return found


def _loses_records(each: OffsetInterval, live_start: int, with_history: bool) -> bool:
    """Whether what a wild timestamp cuts off stays away: of live offsets if it is all of the interval, of history if that is asked for."""
    is_history = each.end < live_start
    return with_history if is_history else not each.offsets


def _accepted(flow: Flow, request: Request, topic: str) -> bool:
    if request.accept_wild is not None:
        return request.accept_wild
    return bool(flow.per_topic("mirror.backfill.on.wild.timestamp", topic) == "accept")


def _behind(
    flow: Flow, suspects: Mapping[TopicPartition, OffsetInterval], refused: dict[str, MirrorError]
) -> dict[TopicPartition, list[Stamped]]:
    """The first records behind each interval, with their timestamps."""
    reader = _reader(flow)
    ranges = {tp: (each.end, min(each.end + SAMPLE, each.readable_end)) for tp, each in suspects.items()}
    seconds = flow.value("admin.timeout.ms") / 1000
    behind: dict[TopicPartition, list[Stamped]] = {}
    for message in reader.read(ranges, seconds, refused):
        tp = TopicPartition(str(message.topic()), int(message.partition() or 0))
        behind.setdefault(tp, []).append(Stamped(int(message.offset() or 0), message.timestamp()[1]))
    return behind
