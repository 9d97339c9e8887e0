"""What an audit has to compare: the ledger first, then what both sides still hold of what it says."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from kafka_mirror.audit.copied_ranges import (
    HISTORY_GONE,
    HISTORY_LOST,
    PLACE_UNKNOWN,
    AuditRange,
    countable,
    empty_range_at_end,
    forgotten,
    history_range,
    live_ranges,
    subtract_intervals,
)
from kafka_mirror.audit.model import Backlog, LeftOut
from kafka_mirror.audit.scope import LogBoundsReader, Scope, list_not_begun, note_not_begun
from kafka_mirror.config import Flow
from kafka_mirror.copy.plan.left_on_source import find_written_since_move, moved_topics
from kafka_mirror.errors import ErrorReport, MirrorError, SourceUnreadable, TargetMissing, TargetRecreated
from kafka_mirror.formats.offsets.intervals import Interval, cut_within
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.ledger.checks import check_clusters
from kafka_mirror.ledger.clusters import control_of, read_decisions, read_ledger
from kafka_mirror.ledger.control_records import ACCEPT_RECORDS, RESTART
from kafka_mirror.ledger.decisions import Decisions
from kafka_mirror.ledger.record import HistoryTopic, LedgerRecord
from kafka_mirror.ledger.topic import LedgerView


@dataclass(frozen=True)
class PreparedAudit:
    """What to compare, and what could not even be tried. `tails`: where records after the copy are unexplained, by source partition."""

    time: datetime
    records: Mapping[TopicPartition, LedgerRecord] = field(default_factory=dict)
    stretches: tuple[AuditRange, ...] = ()
    left_out: Mapping[TopicPartition, tuple[LeftOut, ...]] = field(default_factory=dict)
    errors: tuple[ErrorReport, ...] = ()
    notices: tuple[str, ...] = ()
    tails: Mapping[TopicPartition, Interval] = field(default_factory=dict)
    backlog: tuple[Backlog, ...] = ()
    not_begun: tuple[str, ...] = ()
    left_on_source: tuple[ErrorReport, ...] = ()
    """WrittenOnSource of each partition of a moved topic: what was asked for and is not copied."""

    @property
    def offsets(self) -> int:
        """How many source offsets are to be read: an upper bound of the records."""
        return sum(stretch.offsets for stretch in self.stretches)


def prepare(flow: Flow, source: Cluster, target: Cluster, scope: Scope) -> PreparedAudit:
    """Looks at the ledger and both clusters. Raises what concerns the whole flow."""
    clusters = flow.source, source.cluster_id(), flow.target, target.cluster_id()
    control = control_of(flow, target)
    decisions = read_decisions(flow, control, dry_run=True)
    time = datetime.now(UTC)
    _, view = read_ledger(flow, target, control, decisions, dry_run=True)
    check_clusters(view.records.values(), *clusters, decisions)
    return _LedgerPass(flow, source, target, scope, decisions, view).run(time)


class _LedgerPass:
    """One pass over the partitions of the ledger."""

    def __init__(self, flow: Flow, source: Cluster, target: Cluster, scope: Scope, decisions: Decisions, view: LedgerView) -> None:
        self._flow = flow
        self._source = source
        self._moved = moved_topics(decisions, view.records)
        self._scope = scope
        self._decisions = decisions
        self.errors: list[ErrorReport] = [error.report() for error in view.unreadable.values()]
        self.notices: list[str] = list(scope.list_unknown(view.records))
        self.stretches: list[AuditRange] = []
        self.left_out: dict[TopicPartition, list[LeftOut]] = {}
        self.tails: dict[TopicPartition, Interval] = {}
        self.records = scope.select_partitions(flow, view.records)
        self._holdings = LogBoundsReader(source, target, self.records, flow.reads_committed)
        self.backlog: list[Backlog] = []
        self.left_on_source: list[ErrorReport] = []
        self.not_begun: tuple[str, ...] = ()
        if scope.is_whole_topics and not view.unreadable:
            self.not_begun = list_not_begun(flow, source, scope, self.records, self._holdings.partitions)
            self.notices += note_not_begun(self.not_begun)

    def run(self, time: datetime) -> PreparedAudit:
        """What was asked for, by a ledger that was read at this time."""
        wanted = self._scope.select_offsets(self._source, self.records, self._holdings)
        self.left_on_source += self._note_left_on_source(wanted)
        for tp, record in sorted(self.records.items()):
            self.left_out[tp] = []
            error = self._holdings.find_source_error(tp, record)
            if error is None and wanted is not None and tp not in wanted and self._scope.starts is None:
                message = f"{tp}: no leader says which of its offsets the times come to. Nothing of it was compared."
                advice = "Look at the source's brokers, and audit again."
                error = SourceUnreadable(message, topic=tp.topic, partition=tp.partition, next=advice)
            if error is not None:
                self._fail(tp, error)
            else:
                self.backlog += self._note_backlog(tp, record, (wanted or {}).get(tp))
                self._add_live(tp, record, (wanted or {}).get(tp))
                self._add_history(tp, record, (wanted or {}).get(tp))
        return PreparedAudit(
            time,
            self.records,
            tuple(self.stretches),
            {tp: tuple(intervals) for tp, intervals in self.left_out.items()},
            tuple(self.errors),
            tuple(self.notices),
            self.tails,
            tuple(self.backlog),
            self.not_begun,
            tuple(self.left_on_source),
        )

    def _note_backlog(self, tp: TopicPartition, record: LedgerRecord, wanted: Interval | None) -> Iterator[Backlog]:
        """What is asked for and not copied yet, of a partition that this flow is to copy."""
        if record.moved is not None or record.is_handed_back:
            return
        first, last = (record.watermark, self._holdings.ends[tp]) if wanted is None or self._scope.reaches_the_end else wanted
        offsets = min(last, self._holdings.ends[tp]) - max(first, record.watermark)
        if offsets > 0:
            yield Backlog(*tp, offsets, record.blocked.code if record.blocked is not None else "")

    def _note_left_on_source(self, wanted: Mapping[TopicPartition, Interval] | None) -> Iterator[ErrorReport]:
        """What was written on the source since topics moved, as far as it is asked for. Nothing of it is copied, so nothing is compared."""
        topics = self._moved & {tp.topic for tp in (self.records if wanted is None else wanted)}
        for error in find_written_since_move(self._flow, self._source, self.records, topics):
            place = TopicPartition(error.topic or "", -1 if error.partition is None else error.partition)
            if wanted is None or error.offset is None or (place in wanted and error.offset < wanted[place][1]):
                yield error

    # ------------------------------------------------------------ stretches

    def _add_live(self, tp: TopicPartition, record: LedgerRecord, wanted: Interval | None) -> None:
        lenient, error = self._is_lenient(tp, record), self._holdings.find_live_error(tp, record)
        if error is not None and record.covered:
            self._fail(tp, error)
            return
        held = self._holdings.find_bounds(tp, record.target_topic if error is None else None)
        stretches, left_out = live_ranges(tp, record, wanted, held)
        if error is None and self._scope.reaches_the_end and not lenient and (tail := self._holdings.find_tail(tp, record)) is not None:
            self.tails[tp] = tail
            stretches = stretches or [empty_range_at_end(tp, record, held)]
        self._add(tp, stretches, left_out, lenient)

    def _add_history(self, tp: TopicPartition, record: LedgerRecord, wanted: Interval | None) -> None:
        noted = [interval for topic in record.history_topics for interval in topic.intervals]
        requested = wanted or (0, max((end for _, end in (*record.history, *noted)), default=0))
        lost = cut_within(subtract_intervals(record.history, noted), *requested)
        self.left_out[tp] += [LeftOut(*part, HISTORY_LOST) for part in lost]
        for topic in record.history_topics:
            if written := cut_within(topic.intervals, *requested):
                self._add_history_of(tp, record, topic, written, requested)

    def _add_history_of(
        self, tp: TopicPartition, record: LedgerRecord, topic: HistoryTopic, written: Iterable[Interval], requested: Interval
    ) -> None:
        """What was asked for of the history in one topic, `written`. A topic of its own may be deleted when it has served: that is like
        retention, and no error."""
        error = self._holdings.find_target_error(tp, topic.topic, topic.topic_id)
        if topic.topic != record.target_topic and isinstance(error, TargetMissing | TargetRecreated):
            gone = HISTORY_GONE.format(topic.topic, "is gone" if isinstance(error, TargetMissing) else "was recreated")
            self.left_out[tp] += [LeftOut(*interval, gone) for interval in written]
            return
        self.left_out[tp] += [
            LeftOut(*interval, f"{PLACE_UNKNOWN} in {topic.topic}") for interval in cut_within(forgotten(topic), *requested)
        ]
        places = [place for place in topic.places if place.start < requested[1] and place.end > requested[0]]
        if places and error is not None:
            self._fail(tp, error)
            return
        lenient = topic.topic == record.target_topic and self._is_shared(tp)
        for place in places:
            self._add(tp, *history_range(tp, place, self._holdings.find_bounds(tp, topic.topic), record), lenient)

    def _add(self, tp: TopicPartition, stretches: Iterable[AuditRange], left_out: Iterable[LeftOut], lenient: bool) -> None:
        self.left_out[tp] += left_out
        for audit_range in stretches:
            countable_range = countable(
                replace(audit_range, compacted=self._holdings.is_compacted(tp, audit_range.remote.topic), lenient=lenient)
            )
            if isinstance(countable_range, LeftOut):
                self.left_out[tp].append(countable_range)
            else:
                self.stretches.append(countable_range)

    def _fail(self, tp: TopicPartition, error: MirrorError) -> None:
        # What the target refuses bears the name of its topic, and what was not compared is the source's.
        self.errors.append(replace(error.report(), topic=tp.topic))

    def _is_shared(self, tp: TopicPartition) -> bool:
        return bool(self._flow.per_topic("mirror.on.unexplained.target", tp.topic) == "append")

    def _is_lenient(self, tp: TopicPartition, record: LedgerRecord) -> bool:
        """Whether records may stand in the remote partition that are no copies, copies that a person had made a second time, or history of
        which the ledger no longer knows the place."""
        if self._is_shared(tp) or any(forgotten(topic) for topic in record.history_topics if topic.topic == record.target_topic):
            return True
        if record.older is not None:
            return True
        decided = {decision.decision for decision in self._decisions.select(tp)} | ({record.decided.decision} if record.decided else set())
        return bool(decided & {ACCEPT_RECORDS, RESTART})
