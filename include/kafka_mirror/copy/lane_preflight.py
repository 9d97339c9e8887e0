"""Where each partition of a fenced lane really begins: the lane's own ledger records, and what the target looks like beside them.

It is read after the fencing, so it cannot change any more: no other client can write to the lane's ledger partition, and no open
transaction can hide what was committed there.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from kafka_mirror.copy.history import refuse_part, view_as_history
from kafka_mirror.copy.lane_state import LaneState
from kafka_mirror.copy.ledger_updates import first_record, skip_gap, with_topic_id
from kafka_mirror.copy.model import LaneTask
from kafka_mirror.copy.plan.model import Range
from kafka_mirror.copy.plan.target_checks import RemotePartition, find_hidden, unusable, window
from kafka_mirror.copy.remote_partitions import TargetView, losses
from kafka_mirror.errors import (
    ErrorReport,
    HistoryIntoCompacted,
    HistoryWithoutStart,
    MirrorError,
    Overtaken,
    SourceRecreated,
    StaleAnswer,
    TargetLostRecords,
    TargetMissing,
    UnexplainedTarget,
)
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.polling import poll_until
from kafka_mirror.kafka.reader import BoundedReader
from kafka_mirror.ledger.apply_decisions import (
    PartitionFacts,
    act_on_decisions,
    records_accepted_until,
    with_adopted_clusters,
    with_decision_note,
)
from kafka_mirror.ledger.checks import check_clusters, check_lane_open, check_ledger, check_writer, find_handed_back, find_lost, find_moved
from kafka_mirror.ledger.compare_and_set import LogEnd
from kafka_mirror.ledger.decisions import Decisions
from kafka_mirror.ledger.record import LedgerRecord, Writer
from kafka_mirror.ledger.topic import Ledger

_PATIENCE_SECONDS = 2.0


class LanePreflight:
    """Steps 2 to 4 of the protocol. `records` are the partitions that may be copied, `unwritten` those whose record must be committed
    even if nothing is copied; what may not be copied is refused in the lane's state."""

    def __init__(
        self,
        task: LaneTask,
        state: LaneState,
        ranges: Mapping[TopicPartition, Range],
        source: Cluster,
        target: Cluster,
        view: TargetView,
        writer: Writer,
    ) -> None:
        self._task = task
        self._state = state
        self._ranges = ranges
        self._decisions = Decisions(task.decisions)
        self._source = source
        self._target = target
        self._view = view
        self._writer = writer
        self.ranges = dict(ranges)
        self.before: dict[TopicPartition, LedgerRecord] = {}
        """Of partitions whose history is written: their own records, of which `records` are the views, and `ranges` what is missing."""
        self.records: dict[TopicPartition, LedgerRecord] = {}
        self.unwritten: set[TopicPartition] = set()
        self._note: LedgerRecord | None = None
        self.ledger_end = LogEnd(TopicPartition(task.ledger_topic, task.lane), 0)
        self.remote_ends: dict[TopicPartition, LogEnd] = {}
        """By source partition, where only the mirror may write."""

    def run(self) -> None:
        """Reads and checks. Raises what concerns the whole lane."""
        task = self._task
        ledger = Ledger(task.ledger_topic, task.lanes, self._target, task.clients.target_consumer)
        records = self._read(ledger)
        self._state.turns.begin(records)
        wanted = [planned for tp, planned in self._ranges.items() if tp not in self._state.errors]
        ledger_records = records
        if task.history:
            ledger_records = self._view_histories(wanted, records)
            wanted = [planned for planned in wanted if planned.topic_partition in ledger_records]
        # A moment of patience for remote partitions that do not show yet what stands in them.
        remotes = poll_until(
            lambda: self._view.read_partitions(wanted),
            _PATIENCE_SECONDS,
            every=0.1,
            enough=lambda answer: not any(find_hidden(remote, ledger_records.get(tp)) for tp, remote in answer.items()),
        )
        # The log may have moved on since the plan, where a decision or the configuration lets a lane pass over a gap.
        movable = [planned.topic_partition for planned in wanted if planned.decisions or planned.skip_to is not None]
        starts = self._source.offsets(movable, "earliest")
        windows: dict[TopicPartition, tuple[int, int]] = {}
        for planned in wanted:
            tp = planned.topic_partition
            suspicious = self._check_partition(planned, ledger_records.get(tp), remotes[tp], starts.get(tp))
            if suspicious and tp.topic not in task.append_to:
                windows[tp] = suspicious
        self._note_lost(windows.keys(), remotes)
        self._refuse_unexplained(windows, remotes, records, ledger)

    def _check_partition(
        self, planned: Range, noted: LedgerRecord | None, remote: RemotePartition, log_start: int | None
    ) -> tuple[int, int] | None:
        """Accepts a partition or refuses it, and gives the offsets of the remote one in which no record may be seen, if any."""
        tp, facts = planned.topic_partition, _find_facts(planned, remote, log_start)
        record = self._act_on_decisions(planned, noted, facts)
        error = self._find_error(planned, remote, record)
        if isinstance(error, TargetLostRecords):
            self._doubt(TopicPartition(remote.remote, tp.partition), remote.end, error.target_next)
        if error is not None:
            self._refuse(tp, error)
            return None
        if record is not None and (lost := find_lost(tp, record)) is not None:
            self._leave_out(tp, lost)
            return None
        self._accept(planned, record, remote, log_start)
        return window(remote, record, records_accepted_until(planned.decisions, facts) or 0)

    def _read(self, ledger: Ledger) -> dict[TopicPartition, LedgerRecord]:
        """The lane's records, once it is certain that they are of this flow and that we may write after them."""
        task = self._task
        check_ledger(task.ledger_topic, task.ledger_id, self._target.topic_ids([task.ledger_topic]).get(task.ledger_topic))
        lane = ledger.read_fenced(task.lane)
        self.ledger_end.next = lane.end
        self._note = lane.note
        check_lane_open(lane.note)
        records = dict(lane.records)
        self._state.log.tell_fence(lane.end, records)
        self._state.note_totals(records)
        check_owner(task, records, self._decisions, datetime.now(UTC))
        return records

    def _find_error(self, planned: Range, remote: RemotePartition, record: LedgerRecord | None) -> MirrorError | None:
        """Why a partition may not be copied now, as far as that is known without reading what stands in the remote one."""
        tp = planned.topic_partition
        error = (
            (find_moved(tp, record) if record is not None else None)
            or self._find_handed_back(tp, record)
            or self._view.refused.get(remote.remote)
            or unusable(remote, record)
            or _find_recreated(planned, record)
        )
        return error if error is not None or planned.topic in self._task.append_to else find_hidden(remote, record)

    def _find_handed_back(self, tp: TopicPartition, record: LedgerRecord | None) -> MirrorError | None:
        """Of a partition that the ledger does not have yet, the lane's note tells: a plan made before hand-back may be copied after it."""
        said = record or self._note
        return find_handed_back(tp, said) if said is not None else None

    def _view_histories(
        self, wanted: Sequence[Range], records: Mapping[TopicPartition, LedgerRecord]
    ) -> dict[TopicPartition, LedgerRecord]:
        """The records of partitions whose history is written, as the protocol sees them; those that cannot have any are refused."""
        views = {}
        for planned in wanted:
            tp, into = planned.topic_partition, self._task.remote_topics[planned.topic]
            topic, record = self._view.topics.get(into), records.get(tp)
            if topic is None:
                self._refuse(tp, self._view.refused.get(into) or TargetMissing(*tp, into))
            elif record is None:
                self._refuse(tp, HistoryWithoutStart(*tp))
            elif into == record.target_topic and (refusal := find_moved(tp, record)) is not None:
                self._refuse(tp, refusal)
            elif self._view.find_limits(into).needs_key:
                self._refuse(tp, HistoryIntoCompacted(*tp, into))
            else:
                views[tp], self.ranges[tp] = view_as_history(record, planned, topic)
                refused = refuse_part(record, self.ranges[tp], topic, self._task.in_time_order)
                if refused is not None:
                    self._refuse(tp, refused)
                    del views[tp]
                    continue
                self.before[tp] = record
        return views

    def _act_on_decisions(self, planned: Range, record: LedgerRecord | None, facts: PartitionFacts) -> LedgerRecord | None:
        """The ledger's record as people's decisions make it, for those that are still in force."""
        if record is None:
            return None
        task = self._task
        decided, applied = act_on_decisions(record, planned.decisions, facts)
        if applied:
            self.unwritten.add(planned.topic_partition)
        source, target = (task.source, task.source_cluster_id), (task.target, task.target_cluster_id)
        return with_adopted_clusters(decided, self._decisions, source, target, task.installation)

    def _accept(self, planned: Range, record: LedgerRecord | None, remote: RemotePartition, log_start: int | None) -> None:
        tp = planned.topic_partition
        if record is None:
            topic_id = remote.topic.id if remote.topic else ""
            self.records[tp] = with_decision_note(first_record(self._task, planned, topic_id, remote.end, self._writer), planned.decisions)
            self.unwritten.add(tp)
        elif planned.skip_to is not None and log_start is not None and record.watermark < log_start:
            self.records[tp] = skip_gap(record, log_start, planned.leader_epoch)
            self.unwritten.add(tp)
        else:
            self.records[tp] = with_topic_id(record, planned.topic_id)
        if tp.topic not in self._task.append_to:
            self.remote_ends[tp] = LogEnd(TopicPartition(remote.remote, tp.partition), remote.end, tp)

    def _note_lost(self, grown: Iterable[TopicPartition], remotes: Mapping[TopicPartition, RemotePartition]) -> None:
        """What the target lost although it ends where it should: the attempt that wrote over the hole did not note it or see it."""
        looked_at = {
            tp: (remotes[tp], self.records[tp])
            for tp in grown
            if tp in self.records and not self._view.find_limits(remotes[tp].remote).needs_key
        }
        reader = BoundedReader(self._task.target, self._task.clients.target_consumer)
        for tp, lost in losses(reader, self._target, looked_at, self._task.request_seconds).items():
            if self._task.history:
                self._refuse(tp, lost)
            else:
                self._state.keep_loss(tp, self.records[tp], lost)

    def _refuse_unexplained(
        self,
        windows: dict[TopicPartition, tuple[int, int]],
        remotes: dict[TopicPartition, RemotePartition],
        records: dict[TopicPartition, LedgerRecord],
        ledger: Ledger,
    ) -> None:
        by_remote = {TopicPartition(remotes[tp].remote, tp.partition): tp for tp in windows}
        reader = BoundedReader(self._task.target, self._task.clients.target_consumer)
        hidden: dict[str, MirrorError] = {}
        ranges = {remote: windows[tp] for remote, tp in by_remote.items()}
        visible = reader.first_visible(ranges, self._task.request_seconds, hidden, in_all=False)
        for remote, tp in by_remote.items():
            if remote.topic in hidden:
                self._refuse(tp, hidden[remote.topic])
        if visible and ledger.read_fenced(self._task.lane).records != records:
            # Only an attempt at this lane writes its ledger, so one that has overtaken us wrote these records as well.
            raise Overtaken(self._task.lane)
        if visible:
            self._doubt(self.ledger_end.log, self.ledger_end.next, self.ledger_end.next + 1)
        for remote, message in visible.items():
            tp = by_remote[remote]
            self._refuse(tp, UnexplainedTarget(tp.topic, tp.partition, remote.topic, message.offset, remotes[tp].end, tp in records))

    def _doubt(self, log: TopicPartition, end: int, further: int) -> None:
        """Raises StaleAnswer if any broker knows that a partition reaches further than the end that was read: before a person reads that
        records are lost, or are somebody else's."""
        task = self._state.task  # this attempt's own may begin at one server alone
        with Cluster(task.target, task.clients.target_admin, task.request_seconds) as target:
            answers, _ = target.ask_each_server(lambda server: server.offsets([log], "latest"))
        if (furthest := max((ends.get(log, end) for ends in answers.values()), default=end)) >= further:
            raise StaleAnswer(log, end, furthest)

    def _refuse(self, tp: TopicPartition, error: MirrorError) -> None:
        # The error may name the remote topic.
        self._leave_out(tp, replace(error.report(), topic=tp.topic))

    def _leave_out(self, tp: TopicPartition, error: ErrorReport) -> None:
        self._state.leave_out_partition(tp, error)
        self.records.pop(tp, None)
        self.unwritten.discard(tp)


def check_owner(task: LaneTask, records: Mapping[TopicPartition, LedgerRecord], decisions: Decisions, now: datetime) -> None:
    """Raises OtherCluster or ForeignWriter if the lane's records are of other clusters, or were just written by another installation."""
    check_clusters(records.values(), task.source, task.source_cluster_id, task.target, task.target_cluster_id, decisions)
    check_writer(records.values(), task.ledger_topic, task.lane, task.installation, task.interval_seconds, now, decisions)


def _find_facts(planned: Range, remote: RemotePartition, log_start: int | None) -> PartitionFacts:
    remote_id = remote.topic.id if remote.topic else None
    return PartitionFacts(planned.topic_id, log_start, remote.remote, remote_id, planned.leader_epoch)


def _find_recreated(planned: Range, record: LedgerRecord | None) -> MirrorError | None:
    if record is None or record.is_of(planned.topic_id, planned.leader_epoch):
        return None
    return SourceRecreated(planned.topic, planned.partition, record.watermark, record.source_topic_id, planned.topic_id)
