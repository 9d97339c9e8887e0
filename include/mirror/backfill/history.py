"""The history part of an interval: what lies below the start of a partition in the ledger, written by its lane into a topic of its own."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from mirror.backfill.absent import paused, why_absent
from mirror.backfill.ahead import Ahead, ahead
from mirror.backfill.into import HistoryTopics, TopicId, held_elsewhere, history_topics
from mirror.backfill.live import Copy
from mirror.backfill.model import IN_TIME_ORDER, Part, Request, Resolution
from mirror.backfill.tiling import OffsetInterval, cut
from mirror.backfill.times import moment_of
from mirror.config import Flow
from mirror.copy.history import not_writable
from mirror.copy.model import LaneResult
from mirror.errors import ErrorReport, HistoryWithoutStart, MirrorError, NothingMoved, SourceRecreated, named_with
from mirror.formats.history import HistoryTopic
from mirror.formats.ledger import LedgerRecord
from mirror.kafka.connect import clusters
from mirror.kafka.model import Topic
from mirror.offsets.intervals import Interval, missing, within
from mirror.offsets.partition import TopicPartition
from mirror.plan.choose import SourcePartition
from mirror.plan.model import HISTORY, Plan, Range
from mirror.plan.run import Survey, survey
from mirror.report.ledger_after import ledger_after

Parts = Mapping[TopicPartition, Interval]


def history_slice(flow: Flow, request: Request, resolution: Resolution, copy: Copy, dry_run: bool = False) -> Part:
    """One run's budget of the history that is missing; what is left is in `owed`. With `dry_run` nothing is written or created.

    What concerns one partition or topic is in the errors; what was paused since the times were resolved is in `not_had`. Raises what
    concerns the whole flow.
    """
    with named_with(flow.name), clusters(flow) as (source, target):
        found = survey(flow, source, target, dry_run=True)
        work = _Work(resolution, found)
        if request.into is None:
            work.elsewhere = held_elsewhere(target, [found.ledger.records[tp] for tp in work.parts if tp in found.ledger.records])
        topics = {tp.topic: found.topics[tp.topic] for tp in work.parts if tp.topic in found.topics}
        into = history_topics(flow, source, target, topics, found.topics, request.into, dry_run)
        work.plan(into, (request.order or flow.value("mirror.backfill.order")) == IN_TIME_ORDER, dry_run)
        if not dry_run and work.made.ranges:
            results = list(copy(work.made))
            work.judge(results, ledger_after(flow, target, results, work.made.ledger_id).records)
    return work.part(flow, into)


@dataclass
class _Work:
    """What there is to write, and what was written."""

    resolution: Resolution
    found: Survey
    parts: dict[TopicPartition, Interval] = field(default_factory=dict)
    errors: list[ErrorReport] = field(default_factory=list)
    not_had: list[str] = field(default_factory=list)
    made: Plan = field(default_factory=lambda: Plan(""))
    records: int = 0
    bytes: int = 0
    elsewhere: Collection[TopicId] = ()
    """Topics whose history counts beside that of the topic that is written to: where nobody named that one, all that are there."""
    _into: Mapping[str, Topic] = field(default_factory=dict)
    _ledger: Ahead = field(init=False)

    def __post_init__(self) -> None:
        self._ledger = ahead(self.found)
        starts = self._ledger.starts
        for tp, interval in self.resolution.by_partition().items():
            partition, record = self.found.source.get(tp), self._ledger.records.get(tp)
            if partition is None:
                # Of a partition that the ledger does not show now, any of it may be history that is missing.
                self._wait_for(tp, cut(interval, starts.get(tp, interval.end)).history)
            elif tp not in starts:
                self.errors.append(HistoryWithoutStart(*tp).report())
            elif record is not None and record.source_topic_id != partition.topic_id:
                error = SourceRecreated(*tp, record.watermark, record.source_topic_id, partition.topic_id)
                self._note(error, cut(interval, starts[tp]).history)
            else:
                self._cut(tp, interval, partition, starts[tp])

    def _note(self, error: MirrorError, part: Interval) -> None:
        if part[0] < part[1]:
            self.errors.append(error.report())

    def _wait_for(self, tp: TopicPartition, part: Interval) -> None:
        if part[0] < part[1]:
            self.parts[tp] = part

    def _cut(self, tp: TopicPartition, interval: OffsetInterval, partition: SourcePartition, live_start: int) -> None:
        start, end = cut(interval, live_start).history
        # What the copy took since it began it has, also where the source's log starts behind that by now.
        if (interval.begins_at_log_start or start < partition.log_start) and live_start >= partition.log_start > 0:
            self.not_had.append(
                f"{tp}: the source's log starts at {partition.log_start}; what the interval had in front of that, if anything, is gone"
            )
        if max(start, partition.log_start) < end:
            self.parts[tp] = (max(start, partition.log_start), end)

    def plan(self, into: HistoryTopics, in_time_order: bool, dry_run: bool) -> None:
        """The ranges with something missing."""
        self._into = {topic: into.topics[name] for topic, name in into.names.items() if name in into.topics and topic not in into.errors}
        self.errors.extend(replace(error.report(), topic=topic) for topic, error in into.errors.items())
        behind = {tp: left for tp, left in self._missing().items() if left}
        self._leave_out({tp for tp in behind if tp not in self.found.source})
        ranges = []
        for tp, left in behind.items():
            if tp not in self.found.source or tp.topic not in self._into:
                continue
            if tp not in self.found.ledger.records:
                if dry_run:  # its start is planned, and the copy begins it first
                    continue
                self.errors.append(HistoryWithoutStart(*tp).report())
                continue
            topic, record = self._into[tp.topic], self.found.ledger.records[tp]
            known = record.written_into(topic.name, topic.id)
            # A lane knows what stands in the topic that it writes to, and only there; what stands elsewhere is no part of its range.
            end = left[0][1] if any(each.topic != topic.name for each in self._written(tp)) else left[-1][1]
            planned = Range(*tp, self.found.source[tp].topic_id, left[0][0], end, HISTORY)
            error = not_writable(record, replace(planned, end=left[0][1]), topic, in_time_order)
            if error is not None:
                self.errors.append(error.report())
                continue
            ranges.append(replace(planned, records=known.records if known else 0, bytes=known.bytes if known else 0))
        names = {topic: each.name for topic, each in self._into.items()}
        self.made = replace(self.found.plan, ranges=tuple(ranges), errors=(), into=names, in_time_order=in_time_order)

    def _leave_out(self, absent: Iterable[TopicPartition]) -> None:
        """Partitions that the survey has no offsets of. What is paused nobody waits for; the others are owed, with an error."""
        left_out = paused(self.found, sorted(absent))
        self.not_had.extend(left_out.values())
        for tp in left_out:
            del self.parts[tp]
        self.errors.extend(error for tp in sorted(absent) if tp not in left_out for error in why_absent(self.found, tp))

    def judge(self, results: Iterable[LaneResult], records: Mapping[TopicPartition, LedgerRecord]) -> None:
        """By the ledger: what was written, what is left, and which of the lanes' errors still matter."""
        before, self.found = self._owed(), replace(self.found, ledger=replace(self.found.ledger, records=records))
        self._ledger = ahead(self.found)
        for planned in self.made.ranges:
            record, topic = records.get(planned.topic_partition), self._into[planned.topic]
            known = record.written_into(topic.name, topic.id) if record is not None else None
            if known is not None:
                self.records += max(0, known.records - planned.records)
                self.bytes += max(0, known.bytes - planned.bytes)
        behind = {tp for tp, left in self._missing().items() if left}
        planned_ones = {planned.topic_partition for planned in self.made.ranges}
        for error in (error for result in results for error in result.errors):
            tp = TopicPartition(error.topic or "", -1 if error.partition is None else error.partition)
            if tp in behind or (tp not in planned_ones and behind):
                self.errors.append(error)
        if self._owed() and self._owed() >= before and not self.errors:
            stuck = ", ".join(str(tp) for tp in sorted(behind)[:5])
            message = f"{len(behind)} partitions have history to be written, and nothing was written of any ({stuck})."
            self.errors.append(NothingMoved(message, next="Look at the log of the copy; the next run tries again.").report())

    def part(self, flow: Flow, into: HistoryTopics) -> Part:
        """The answer."""
        times = moment_of(self.resolution.times.start), moment_of(self.resolution.times.end)
        created = (f"{name} would be created with {count} partitions" for name, count in sorted(into.to_create.items()))
        return Part(
            offsets=sum(end - start for start, end in self.parts.values()),
            records=self.records,
            bytes=self.bytes,
            owed=self._owed(),
            errors=tuple(dict.fromkeys(error.of_flow(flow.name).of_times(*times) for error in self.errors)),
            notices=(*into.notices, *created, *self._told_elsewhere()),
            not_had=tuple(self.not_had),
            into={topic: name for topic, name in into.names.items() if topic not in into.errors},
        )

    def _told_elsewhere(self) -> list[str]:
        """Of which topics some of the interval stands in another one than that which is written to."""
        found: dict[str, set[str]] = {}
        for tp, part in self.parts.items():
            for each in self._written(tp):
                into = self._into.get(tp.topic)
                if within(each.intervals, *part) and (into is None or each.topic != into.name):
                    found.setdefault(tp.topic, set()).add(each.topic)
        return [
            f"{topic}: history of this interval stands in {', '.join(sorted(names))} already, and is not written again. Name a topic "
            "(--into, in Airflow the parameter into) to have it there."
            for topic, names in sorted(found.items())
        ]

    def _missing(self) -> dict[TopicPartition, tuple[Interval, ...]]:
        left = {}
        for tp, part in self.parts.items():
            left[tp] = missing(part, (interval for each in self._written(tp) for interval in each.intervals))
        return left

    def _written(self, tp: TopicPartition) -> list[HistoryTopic]:
        """What stands in the topics that count."""
        topic, record = self._into.get(tp.topic), self._ledger.records.get(tp)
        counting = {(topic.name, topic.id), *self.elsewhere} if topic is not None else set(self.elsewhere)
        return [each for each in record.history_topics if (each.topic, each.topic_id) in counting] if record is not None else []

    def _owed(self) -> int:
        return sum(end - start for left in self._missing().values() for start, end in left)
