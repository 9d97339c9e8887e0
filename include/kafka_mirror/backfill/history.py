"""The history part of an interval: what lies below the start of a partition in the ledger, written by its lane into a topic of its own."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from kafka_mirror.backfill.destination import HistoryTopics, TopicId, find_history_elsewhere, history_topics
from kafka_mirror.backfill.live import Copy
from kafka_mirror.backfill.model import IN_TIME_ORDER, BackfillPart, BackfillRequest, OffsetInterval, Resolution, cut, moment_of
from kafka_mirror.backfill.plan_view import PendingLedger, explain_absence, find_paused, read_pending_ledger
from kafka_mirror.config import Flow
from kafka_mirror.copy.history import refuse_part
from kafka_mirror.copy.model import LaneResult
from kafka_mirror.copy.plan.model import HISTORY, Plan, Range
from kafka_mirror.copy.plan.ranges import SourceOffsets
from kafka_mirror.copy.plan.run import PlanContext, survey
from kafka_mirror.copy.publish import ledger_after
from kafka_mirror.errors import ErrorReport, HistoryWithoutStart, NothingMoved, SourceRecreated, name_flow_in_errors
from kafka_mirror.formats.offsets.intervals import Interval, cut_within, find_missing
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.model import Topic
from kafka_mirror.ledger.clusters import clusters
from kafka_mirror.ledger.record import HistoryTopic, LedgerRecord

Parts = Mapping[TopicPartition, Interval]


def history_slice(flow: Flow, request: BackfillRequest, resolution: Resolution, copy: Copy, dry_run: bool = False) -> BackfillPart:
    """One run's budget of the history that is missing; what is left is in `owed`. With `dry_run` nothing is written or created.

    What concerns one partition or topic is in the errors; what was paused since the times were resolved is in `not_had`. Raises what
    concerns the whole flow.
    """
    with name_flow_in_errors(flow.name), clusters(flow) as (source, target):
        context = survey(flow, source, target, dry_run=True)
        work = _Work(resolution, context)
        if request.into is None:
            records = [context.ledger.records[tp] for tp in work.parts if tp in context.ledger.records]
            work.elsewhere = find_history_elsewhere(target, records)
        topics = {tp.topic: context.topics[tp.topic] for tp in work.parts if tp.topic in context.topics}
        into = history_topics(flow, source, target, topics, context.topics, request.into, dry_run)
        work.plan(into, (request.order or flow.value("mirror.backfill.order")) == IN_TIME_ORDER, dry_run)
        if not dry_run and work.planned.ranges:
            results = list(copy(work.planned))
            work.record_results(results, ledger_after(flow, target, results, work.planned.ledger_id).records)
    return work.as_part(flow, into)


@dataclass
class _Work:
    """What there is to write, and what was written."""

    resolution: Resolution
    context: PlanContext
    parts: dict[TopicPartition, Interval] = field(default_factory=dict)
    errors: list[ErrorReport] = field(default_factory=list)
    not_had: list[str] = field(default_factory=list)
    planned: Plan = field(default_factory=lambda: Plan(""))
    records: int = 0
    bytes: int = 0
    elsewhere: Collection[TopicId] = ()
    """Topics whose history counts beside that of the topic that is written to: where that one is not named, all that are there."""
    _into: Mapping[str, Topic] = field(default_factory=dict)
    _ledger: PendingLedger = field(init=False)

    def __post_init__(self) -> None:
        self._ledger = read_pending_ledger(self.context)
        starts = self._ledger.starts
        for tp, interval in self.resolution.by_partition.items():
            partition, record = self.context.source.get(tp), self._ledger.records.get(tp)
            if partition is None:
                # Of a partition that the ledger does not show now, any of it may be history that is missing.
                part = cut(interval, starts.get(tp, interval.end)).history
                if part[0] < part[1]:
                    self.parts[tp] = part
            elif tp not in starts:
                self.errors.append(HistoryWithoutStart(*tp).report())
            elif record is not None and not record.is_of(partition.topic_id, partition.leader_epoch):
                error = SourceRecreated(*tp, record.watermark, record.source_topic_id, partition.topic_id)
                part = cut(interval, starts[tp]).history
                if part[0] < part[1]:
                    self.errors.append(error.report())
            else:
                self._cut(tp, interval, partition, starts[tp])

    def _cut(self, tp: TopicPartition, interval: OffsetInterval, partition: SourceOffsets, live_start: int) -> None:
        start, end = cut(interval, live_start).history
        # What the copy took since it began it has, also where the source's log starts after that by now.
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
        behind = {tp: intervals for tp, intervals in self._find_missing().items() if intervals}
        self._leave_out({tp for tp in behind if tp not in self.context.source})
        ranges = []
        for tp, intervals in behind.items():
            if tp not in self.context.source or tp.topic not in self._into:
                continue
            if tp not in self.context.ledger.records:
                if dry_run:  # its start is planned, and the copy begins it first
                    continue
                self.errors.append(HistoryWithoutStart(*tp).report())
                continue
            topic, record = self._into[tp.topic], self.context.ledger.records[tp]
            history_topic_before = record.find_history(topic.name, topic.id)
            # A lane knows what stands in the topic that it writes to, and only there; what stands elsewhere is no part of its range.
            has_others = any(history_topic.topic != topic.name for history_topic in self._list_written(tp))
            end = intervals[0 if has_others else -1][1]
            planned = Range(*tp, self.context.source[tp].topic_id, intervals[0][0], end, HISTORY)
            error = refuse_part(record, replace(planned, end=intervals[0][1]), topic, in_time_order)
            if error is not None:
                self.errors.append(error.report())
                continue
            if history_topic_before:
                planned = replace(planned, records=history_topic_before.records, bytes=history_topic_before.bytes)
            ranges.append(planned)
        names = {topic: topic_there.name for topic, topic_there in self._into.items()}
        self.planned = replace(self.context.plan, ranges=tuple(ranges), errors=(), into=names, in_time_order=in_time_order)

    def _leave_out(self, absent: Iterable[TopicPartition]) -> None:
        """Partitions that the survey has no offsets of. Nothing waits for what is paused; the others are owed, with an error."""
        left_out = find_paused(self.context, sorted(absent))
        self.not_had.extend(left_out.values())
        for tp in left_out:
            del self.parts[tp]
        self.errors.extend(error for tp in sorted(absent) if tp not in left_out for error in explain_absence(self.context, tp))

    def record_results(self, results: Iterable[LaneResult], records: Mapping[TopicPartition, LedgerRecord]) -> None:
        """Records by the ledger what was written, what is left, and which of the lanes' errors still matter."""
        before, self.context = self._count_owed(), replace(self.context, ledger=replace(self.context.ledger, records=records))
        self._ledger = read_pending_ledger(self.context)
        for planned in self.planned.ranges:
            record, topic = records.get(planned.topic_partition), self._into[planned.topic]
            history_topic = record.find_history(topic.name, topic.id) if record is not None else None
            if history_topic is not None:
                self.records += max(0, history_topic.records - planned.records)
                self.bytes += max(0, history_topic.bytes - planned.bytes)
        behind = {tp for tp, intervals in self._find_missing().items() if intervals}
        planned_ones = {planned.topic_partition for planned in self.planned.ranges}
        for error in (error for result in results for error in result.errors):
            tp = TopicPartition(error.topic or "", -1 if error.partition is None else error.partition)
            if tp in behind or (tp not in planned_ones and behind):
                self.errors.append(error)
        if self._count_owed() and self._count_owed() >= before and not self.errors:
            stuck = ", ".join(str(tp) for tp in sorted(behind)[:5])
            self.errors.append(NothingMoved.of_history(len(behind), stuck).report())

    def as_part(self, flow: Flow, into: HistoryTopics) -> BackfillPart:
        """The answer."""
        times = moment_of(self.resolution.times.start), moment_of(self.resolution.times.end)
        created = (f"{name} would be created with {count} partitions" for name, count in sorted(into.to_create.items()))
        return BackfillPart(
            offsets=sum(end - start for start, end in self.parts.values()),
            records=self.records,
            bytes=self.bytes,
            owed=self._count_owed(),
            errors=tuple(dict.fromkeys(error.with_flow(flow.name).with_times(*times) for error in self.errors)),
            notices=(*into.notices, *created, *self._list_elsewhere()),
            not_had=tuple(self.not_had),
            into={topic: name for topic, name in into.names.items() if topic not in into.errors},
        )

    def _list_elsewhere(self) -> list[str]:
        """Of which topics some of the interval stands in another one than that which is written to."""
        by_topic: dict[str, set[str]] = {}
        for tp, part in self.parts.items():
            for history_topic in self._list_written(tp):
                into = self._into.get(tp.topic)
                if cut_within(history_topic.intervals, *part) and (into is None or history_topic.topic != into.name):
                    by_topic.setdefault(tp.topic, set()).add(history_topic.topic)
        return [
            f"{topic}: {', '.join(sorted(names))} already holds the history of this interval, so it is not written again. To have it "
            "elsewhere too, name a topic (--into, in Airflow the parameter into)."
            for topic, names in sorted(by_topic.items())
        ]

    def _find_missing(self) -> dict[TopicPartition, tuple[Interval, ...]]:
        written = {tp: [interval for topic in self._list_written(tp) for interval in topic.intervals] for tp in self.parts}
        return {tp: find_missing(part, written[tp]) for tp, part in self.parts.items()}

    def _list_written(self, tp: TopicPartition) -> list[HistoryTopic]:
        """What stands in the topics that count."""
        topic, record = self._into.get(tp.topic), self._ledger.records.get(tp)
        counting = {*self.elsewhere, *([(topic.name, topic.id)] if topic is not None else [])}
        return [written for written in record.history_topics if (written.topic, written.topic_id) in counting] if record is not None else []

    def _count_owed(self) -> int:
        return sum(end - start for intervals in self._find_missing().values() for start, end in intervals)
