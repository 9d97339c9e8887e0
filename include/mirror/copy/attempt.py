"""One attempt at a lane's protocol: fence, read the ledger, check the target, copy transaction after transaction.

Everything is read after the fencing, so it cannot change any more: nobody else can write to the lane's ledger partition, and no open
transaction can hide what was committed there. Any error ends the attempt; the next one begins from the top.
"""

import socket
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from mirror.copy.checks import RemotePartition, availability, continuity, window
from mirror.copy.engine import Engine, EngineFactory, PoisonRecord, Progress, TransactionLimits, Work
from mirror.copy.model import LaneTask
from mirror.copy.pacing import Pacing
from mirror.copy.recording import after, first_record, over_gap, stuck
from mirror.copy.target_view import TargetView
from mirror.errors import ErrorReport, MirrorError, RecordRefused, SourceRecreated, TargetRecreated, UnexplainedTarget
from mirror.formats.ledger import LedgerRecord, Writer, encode, encode_key
from mirror.kafka.cluster import Cluster
from mirror.kafka.ledger import Ledger
from mirror.kafka.reading import BoundedReader
from mirror.offsets.partition import TopicPartition
from mirror.plan.checks import check_clusters, check_writer
from mirror.plan.model import Range

_MARKER_SECONDS = 2.0


class LaneState:
    """What a lane's run knows over its attempts. Only what was committed stands in `written` and `copied`."""

    def __init__(self, task: LaneTask) -> None:
        self.task = task
        self.deadline = time.monotonic() + task.max_seconds
        self.transaction_bytes = task.transaction_max_bytes
        self.pacing = Pacing()
        self.errors: dict[TopicPartition, ErrorReport] = {}
        self.poisoned: dict[TopicPartition, tuple[int, MirrorError]] = {}
        self.written: dict[TopicPartition, LedgerRecord] = {}
        self.copied: dict[TopicPartition, tuple[int, int]] = {}
        self.transactions = 0

    def budget_spent(self) -> bool:
        """Whether no new transaction may begin. At least one is always allowed."""
        if not self.transactions:
            return False
        copied = sum(size for _, size in self.copied.values())
        return time.monotonic() >= self.deadline or 0 <= self.task.max_bytes <= copied

    def refuse(self, tp: TopicPartition, error: MirrorError) -> None:
        """Leaves out a partition of the source for an error that may name its remote topic."""
        self.errors[tp] = replace(error.report(), topic=tp.topic)

    def leave_out(self, error: MirrorError) -> bool:
        """Leaves out the partition, or the topic, that an error names. False if it names none of this lane's."""
        named = [
            planned.topic_partition
            for planned in self.task.ranges
            if planned.topic == error.topic and error.partition in (None, planned.partition) and planned.topic_partition not in self.errors
        ]
        self.errors.update({tp: error.report() for tp in named})
        return bool(named)


class Attempt:
    """One pass over the protocol for the given ranges of the lane."""

    def __init__(self, task: LaneTask, state: LaneState, ranges: Sequence[Range], open_engine: EngineFactory) -> None:
        self._task = task
        self._state = state
        self._ranges = {planned.topic_partition: planned for planned in ranges}
        self._open_engine = open_engine
        self._records: dict[TopicPartition, LedgerRecord] = {}
        self._unwritten: set[TopicPartition] = set()

    def run(self) -> None:
        """Copies until the ranges are done or the budget is spent. Raises what ends the attempt."""
        task = self._task
        with (
            Cluster(task.target, task.clients.target_admin, task.request_seconds) as target,
            Cluster(task.source, task.clients.source_admin, task.request_seconds) as source,
        ):
            self._target, self._source = target, source
            self._view = TargetView(task, target)
            engine = self._open_engine(task, self._view.smallest_message_limit)
            try:
                self._begin_at_the_ledger()
                self._note_poison()
                self._copy(engine)
            finally:
                engine.close()
            self._await_markers()

    # ------------------------------------------------------------ where to begin

    def _begin_at_the_ledger(self) -> None:
        """Steps 2 to 4: the lane's own records, the checks, and from them where each partition really begins."""
        task = self._task
        ledger = Ledger(task.ledger_topic, task.lanes, self._target, task.clients.target_consumer)
        records = ledger.read_lane(task.lane)
        check_clusters(records.values(), task.source, task.source_cluster_id, task.target, task.target_cluster_id)
        check_writer(records.values(), task.ledger_topic, task.lane, task.installation, task.interval_seconds, datetime.now(UTC))
        wanted = [planned for tp, planned in self._ranges.items() if tp not in self._state.errors]
        found = self._view.partitions(wanted)
        windows: dict[TopicPartition, tuple[int, int]] = {}
        for planned in wanted:
            tp = planned.topic_partition
            record, remote = records.get(tp), found[tp]
            error = (
                self._view.refused.get(remote.remote) or availability(remote) or continuity(remote, record) or _source_id(planned, record)
            )
            if error is not None:
                self._state.refuse(tp, error)
                continue
            suspicious = window(remote, record)
            if suspicious and tp.topic not in task.append_to:
                windows[tp] = suspicious
            self._accept(planned, record, remote)
        self._refuse_unexplained(windows, found, records)

    def _accept(self, planned: Range, record: LedgerRecord | None, remote: RemotePartition) -> None:
        tp = planned.topic_partition
        if record is None:
            topic_id = remote.topic.id if remote.topic else ""
            self._records[tp] = first_record(self._task, planned, topic_id, remote.end, self._writer())
            self._unwritten.add(tp)
        elif planned.skip_to is not None and record.watermark < planned.skip_to:
            self._records[tp] = over_gap(record, planned.skip_to)
            self._unwritten.add(tp)
        else:
            self._records[tp] = record

    def _refuse_unexplained(
        self,
        windows: dict[TopicPartition, tuple[int, int]],
        found: dict[TopicPartition, RemotePartition],
        records: dict[TopicPartition, LedgerRecord],
    ) -> None:
        by_remote = {TopicPartition(found[tp].remote, tp.partition): tp for tp in windows}
        reader = BoundedReader(self._task.target, self._task.clients.target_consumer)
        hidden: dict[str, MirrorError] = {}
        visible = reader.first_visible({remote: windows[tp] for remote, tp in by_remote.items()}, self._task.request_seconds, hidden)
        for remote, tp in by_remote.items():
            if remote.topic in hidden:
                self._refuse(tp, hidden[remote.topic])
        for remote, message in visible.items():
            tp = by_remote[remote]
            self._refuse(tp, UnexplainedTarget(tp.topic, tp.partition, remote.topic, message.offset() or 0, found[tp].end, tp in records))

    def _refuse(self, tp: TopicPartition, error: MirrorError) -> None:
        self._state.refuse(tp, error)
        self._records.pop(tp, None)
        self._unwritten.discard(tp)

    def _note_poison(self) -> None:
        for tp, (offset, error) in self._state.poisoned.items():
            if tp in self._records and tp not in self._state.errors:
                self._stick(tp, offset, error)

    # ------------------------------------------------------------ transactions

    def _copy(self, engine: Engine) -> None:
        while True:
            work = self._work()
            if not work and not self._unwritten:
                return
            limits = TransactionLimits(self._state.transaction_bytes, self._task.transaction_timeout_ms / 4000)
            progress = engine.copy(work, limits) if work else []
            self._apply(progress)
            self._check_identities()
            self._write_ledger(engine)
            engine.commit()
            self._committed(progress)
            if self._state.budget_spent():
                return

    def _await_markers(self) -> None:
        """Waits until what was committed can be read, in the ledger first of all: the run is judged by it.

        A commit is decided before its markers are written, so for some milliseconds readers of committed records do not see it. Somebody
        else's open transaction may hold back a remote partition for longer: that is not waited for.
        """
        if not self._state.transactions:
            return
        ledger = TopicPartition(self._task.ledger_topic, self._task.lane)
        ends = self._target.offsets([ledger], "latest") | {
            TopicPartition(record.target_topic, tp.partition): record.target_next
            for tp, record in self._state.written.items()
            if tp in self._ranges
        }
        deadline = time.monotonic() + _MARKER_SECONDS
        while ends and time.monotonic() < deadline:
            stable = self._target.offsets(ends, "latest", committed=True)
            ends = {tp: end for tp, end in ends.items() if stable.get(tp, 0) < end}
            if ends:
                time.sleep(0.01)

    def _work(self) -> list[Work]:
        pacing, remotes = self._state.pacing, self._task.remote_topics
        work: list[Work] = []
        for tp, record in self._records.items():
            end = pacing.end(tp, self._ranges[tp].end)
            if tp in self._state.errors or record.watermark >= end:
                continue
            limits = self._view.limits(remotes[tp.topic])
            start, epoch = record.watermark, record.leader_epoch
            work.append(Work(tp, remotes[tp.topic], start, end, epoch, limits, pacing.records.get(tp)))
        return work

    def _apply(self, progress: Sequence[Progress]) -> None:
        for moved in progress:
            tp = moved.source
            self._records[tp] = after(self._records[tp], moved)
            self._unwritten.add(tp)
            if moved.poison is not None:
                self._stick(tp, moved.next_offset, self._poison_error(tp, moved.poison))

    def _poison_error(self, tp: TopicPartition, poison: PoisonRecord | MirrorError) -> MirrorError:
        if isinstance(poison, PoisonRecord):
            return RecordRefused(tp.topic, tp.partition, poison.offset, self._task.remote_topics[tp.topic], poison.detail)
        return poison

    def _stick(self, tp: TopicPartition, offset: int, error: MirrorError) -> None:
        self._state.errors[tp] = error.report()
        self._records[tp] = stuck(self._records[tp], offset, f"{error.code}: {error.message}", datetime.now(UTC))
        self._unwritten.add(tp)

    def _check_identities(self) -> None:
        """Topic ids once more before each commit: a remote topic deleted inside a transaction is silently created anew by the client, and
        the commit succeeds; a source topic created anew would give other records under the same offsets."""
        touched = {tp.topic for tp in self._unwritten}
        now = self._target.topics({self._task.remote_topics[topic] for topic in touched})
        source = self._source.topics(touched)
        for tp in sorted(self._unwritten):
            remote = self._task.remote_topics[tp.topic]
            known = self._records[tp]
            if (found := now[remote].id if remote in now else "none") != known.target_topic_id:
                raise TargetRecreated(tp.topic, tp.partition, remote, f"topic id {known.target_topic_id}", found)
            if tp.topic in source and source[tp.topic].id != known.source_topic_id:
                raise SourceRecreated(tp.topic, tp.partition, known.watermark, known.source_topic_id, source[tp.topic].id)

    def _write_ledger(self, engine: Engine) -> None:
        writer = self._writer()
        entries = []
        for tp in sorted(self._unwritten):
            self._records[tp] = record = _signed(self._records[tp], writer)
            entries.append((encode_key(tp), encode(record)))
        engine.record(self._task.ledger_topic, self._task.lane, entries)

    def _committed(self, progress: Sequence[Progress]) -> None:
        state = self._state
        state.transactions += 1
        state.written.update({tp: self._records[tp] for tp in self._unwritten})
        self._unwritten.clear()
        for moved in progress:
            records, size = state.copied.get(moved.source, (0, 0))
            state.copied[moved.source] = (records + moved.records, size + moved.bytes)
            state.pacing.committed(moved.source, moved.next_offset)

    def _writer(self) -> Writer:
        return Writer(self._task.installation, socket.gethostname(), self._task.run, datetime.now(UTC))


def _source_id(planned: Range, record: LedgerRecord | None) -> MirrorError | None:
    if record is None or record.source_topic_id == planned.topic_id:
        return None
    return SourceRecreated(planned.topic, planned.partition, record.watermark, record.source_topic_id, planned.topic_id)


def _signed(record: LedgerRecord, writer: Writer) -> LedgerRecord:
    return replace(record, writer=writer)
