"""One attempt at a lane's protocol: fence, read the ledger, check the target, copy transaction after transaction.

Everything is read after the fencing, so it cannot change any more: nobody else can write to the lane's ledger partition, and no open
transaction can hide what was committed there. Any error ends the attempt; the next one begins from the top.
"""

import socket
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from mirror.copy.beginning import Beginning
from mirror.copy.checks import went_back
from mirror.copy.engine import Engine, EngineFactory, PaceChanged, PoisonRecord, Progress, TransactionLimits, Work
from mirror.copy.history import stored
from mirror.copy.lane_state import LaneState
from mirror.copy.log_end import LogEnd
from mirror.copy.model import LaneTask
from mirror.copy.recording import after, stuck
from mirror.copy.target_view import TargetView
from mirror.copy.turns import waiting
from mirror.errors import ErrorReport, LedgerMissing, MirrorError, RecordRefused, SourceRecreated, TargetLostRecords, TargetRecreated
from mirror.formats.ledger import LedgerRecord, Writer
from mirror.formats.ledger_bytes import encode, encode_key
from mirror.formats.skipped import Skipped
from mirror.kafka.cluster import Cluster
from mirror.kafka.model import Topic
from mirror.offsets.partition import TopicPartition
from mirror.plan.model import Range

_MARKER_SECONDS = 2.0
_LEDGER_MARKER_SECONDS = 15.0


class Attempt:
    """One pass over the protocol for the given ranges of the lane."""

    def __init__(self, task: LaneTask, state: LaneState, ranges: Sequence[Range], open_engine: EngineFactory) -> None:
        self._task = task
        self._state = state
        self._ranges = {planned.topic_partition: planned for planned in ranges}
        self._open_engine = open_engine
        self._records: dict[TopicPartition, LedgerRecord] = {}
        self._before: dict[TopicPartition, LedgerRecord] = {}
        self._unwritten: set[TopicPartition] = set()
        self._skipped: list[tuple[TopicPartition, Skipped]] = []
        self._stuck: dict[TopicPartition, ErrorReport] = {}
        self._portion: int | None = None
        self._ledger_end = LogEnd(TopicPartition(task.ledger_topic, task.lane), 0)
        self._remote_ends: dict[TopicPartition, LogEnd] = {}

    def run(self) -> None:
        """Copies until the ranges are done or the budget is spent. Raises what ends the attempt."""
        task = self._task
        with (
            Cluster(task.target, task.clients.target_admin, task.request_seconds) as target,
            Cluster(task.source, task.clients.source_admin, task.request_seconds) as source,
        ):
            self._target, self._source = target, source
            self._view = TargetView(task, target)
            self._portion = self._state.pace.portion
            engine = self._open_engine(replace(task, fetch_bytes=self._portion), self._view.smallest_message_limit)
            try:
                self._begin()
                self._copy(engine)
            finally:
                engine.close()
            self._await_markers()

    def _begin(self) -> None:
        beginning = Beginning(self._task, self._state, self._ranges, self._source, self._target, self._view, self._writer())
        beginning.run()
        self._records, self._unwritten = beginning.records, beginning.unwritten
        self._ranges, self._before = beginning.ranges, beginning.before
        self._ledger_end, self._remote_ends = beginning.ledger_end, beginning.remote_ends
        self._state.ledger_end = max(self._state.ledger_end, self._ledger_end.next)
        self._note_poison()

    def _note_poison(self) -> None:
        """What the broker refused in earlier attempts, now that the record stands alone: it is passed over, or its partition is stuck."""
        for tp, (offset, error) in self._state.poisoned.items():
            if tp not in self._records or tp in self._state.errors:
                continue
            if isinstance(error, TargetLostRecords) or not self._task.skip_refused:
                self._stick(tp, offset, error)
            elif self._records[tp].watermark == offset:
                self._apply([Progress(tp, offset + 1, skipped=(Skipped(offset, offset + 1, error.reason),))])

    # ------------------------------------------------------------ transactions

    def _copy(self, engine: Engine) -> None:
        while True:
            limits = TransactionLimits(self._state.transaction_bytes(), self._task.transaction_timeout_ms / 4000)
            # What earlier attempts found is committed by itself: what is copied next may be refused as well, and take the note with it.
            work = self._work(limits.bytes) if not (self._skipped or self._stuck) else []
            if not work and not self._unwritten:
                return
            if work and not self._may_begin():
                return
            if self._state.transaction_bytes() < limits.bytes:
                continue
            begun = time.monotonic()
            progress = engine.copy(work, limits) if work else []
            self._apply(progress)
            self._check_identities()
            self._write_ledger(engine)
            engine.commit()
            seconds = time.monotonic() - begun
            self._state.size.committed(seconds)
            self._state.pace.copied(sum(moved.bytes for moved in progress), seconds)
            self._state.log.committed(progress, seconds)
            self._committed(progress)
            if self._state.budget_spent():
                return

    def _may_begin(self) -> bool:
        """Waits until the throttle allows the next transaction; whether it does before the run is over. Raises PaceChanged."""
        begin = self._state.pace.await_turn(self._target, self._state.deadline)
        if self._state.pace.portion != self._portion:
            raise PaceChanged
        return begin

    def _await_markers(self) -> None:
        """Waits until what was committed can be read, in the ledger first of all: the run is judged by it.

        A commit is decided before its markers are written, so for some milliseconds readers of committed records do not see it. Somebody
        else's open transaction may hold back a remote partition for longer: that is not waited for.
        """
        if not self._state.transactions:
            return
        ledger = self._ledger_end.log
        ends = {ledger: self._state.ledger_end} | {
            TopicPartition(record.target_topic, tp.partition): record.target_next
            for tp, record in self._state.written.items()
            if tp in self._ranges
        }
        started = time.monotonic()
        while ends and (waited := time.monotonic() - started) < _LEDGER_MARKER_SECONDS:
            stable = self._target.offsets(ends, "latest", committed=True)
            ends = {tp: end for tp, end in ends.items() if stable.get(tp, 0) < end and (tp == ledger or waited < _MARKER_SECONDS)}
            if ends:
                time.sleep(0.01)

    def _work(self, max_bytes: int) -> list[Work]:
        """What the next transaction copies, if it may hold about so many bytes."""
        pacing, state = self._state.pacing, self._state
        ends = {tp: pacing.end(tp, self._ranges[tp].end, self._records[tp].watermark) for tp in self._records if tp not in state.errors}
        candidates = []
        for tp, end in ends.items():
            owed = min(end - self._records[tp].watermark, pacing.records.get(tp, end))
            if owed > 0:
                candidates.append(waiting(tp, self._records[tp], owed, state.turns.written.get(tp, 0)))
        return [self._work_of(tp, ends[tp]) for tp in state.turns.next(candidates, max_bytes)]

    def _work_of(self, tp: TopicPartition, end: int) -> Work:
        record, remote = self._records[tp], self._task.remote_topics[tp.topic]
        most = self._state.pacing.records.get(tp)
        limits, refused = self._view.limits(remote), self._state.pacing.named.get(tp, {})
        return Work(tp, remote, record.watermark, end, record.leader_epoch, limits, most, self._task.skip_refused, refused)

    def _apply(self, progress: Sequence[Progress]) -> None:
        for moved in progress:
            tp = moved.source
            lost = went_back(self._records[tp], self._task.remote_topics[tp.topic], moved)
            if lost is not None:
                self._unwritten.add(tp)
                self._check_identities()  # a topic that was created anew begins at 0 too
                if isinstance(lost, TargetLostRecords):
                    self._state.keep_loss(tp, self._records[tp], lost)
                raise lost
            if tp in self._remote_ends:
                self._remote_ends[tp].delivered((run.target, run.length) for run in moved.runs)
            self._records[tp] = after(self._records[tp], moved, self._ranges[tp].leader_epoch)
            self._unwritten.add(tp)
            self._skipped.extend((tp, skipped) for skipped in moved.skipped)
            if moved.poison is not None:
                self._stick(tp, moved.next_offset, self._poison_error(tp, moved.poison))

    def _poison_error(self, tp: TopicPartition, poison: PoisonRecord | MirrorError) -> MirrorError:
        if isinstance(poison, PoisonRecord):
            return RecordRefused(tp.topic, tp.partition, poison.offset, self._task.remote_topics[tp.topic], poison.detail)
        return poison

    def _stick(self, tp: TopicPartition, offset: int, error: MirrorError) -> None:
        self._stuck[tp] = error.report()
        limits = self._view.limits_text(self._task.remote_topics[tp.topic])
        told = f"{error.code}: {error.message}"
        self._records[tp] = stuck(self._records[tp], offset, told, datetime.now(UTC), planned=self._task.planned, limits=limits)
        self._unwritten.add(tp)

    def _check_identities(self) -> None:
        """Topic ids once more before each commit: a remote topic deleted inside a transaction is silently created anew by the client, and
        the commit succeeds; a source topic created anew would give other records under the same offsets."""
        touched = {tp.topic for tp in self._unwritten}
        ledger = self._task.ledger_topic
        now = self._remote_topics(touched, ledger)
        source = self._source.topics(touched)
        if self._task.ledger_id and (ledger not in now or now[ledger].id != self._task.ledger_id):
            raise LedgerMissing(ledger, self._task.ledger_id, now[ledger].id if ledger in now else None)
        for tp in sorted(self._unwritten):
            remote = self._task.remote_topics[tp.topic]
            known = self._records[tp]
            if (found := now[remote].id if remote in now else "none") != known.target_topic_id:
                raise TargetRecreated(tp.topic, tp.partition, remote, f"topic id {known.target_topic_id}", found)
            if tp.topic in source and source[tp.topic].id != known.source_topic_id:
                raise SourceRecreated(tp.topic, tp.partition, known.watermark, known.source_topic_id, source[tp.topic].id)

    def _remote_topics(self, touched: set[str], ledger: str) -> dict[str, Topic]:
        """The remote topics of these source topics, and the ledger. What the target refuses of one is raised by the name of its source
        topic, by which the lane leaves it out and goes on with the others."""
        refused: dict[str, MirrorError] = {}
        found = self._target.topics({self._task.remote_topics[topic] for topic in touched} | {ledger}, refused)
        for topic in sorted(touched):
            if (error := refused.get(self._task.remote_topics[topic])) is not None:
                error.topic = topic
                raise error
        if ledger in refused:
            raise refused[ledger]
        return found

    def _write_ledger(self, engine: Engine) -> None:
        writer = self._writer()
        entries = []
        for tp in sorted(self._unwritten):
            self._records[tp] = record = _signed(self._records[tp], writer)
            entries.append((encode_key(tp), encode(stored(self._before[tp], record) if tp in self._before else record)))
        offsets = engine.record(self._task.ledger_topic, self._task.lane, entries)
        self._ledger_end.delivered((offset, 1) for offset in offsets)

    def _committed(self, progress: Sequence[Progress]) -> None:
        state = self._state
        for end in (self._ledger_end, *self._remote_ends.values()):
            end.committed()
        state.ledger_end = self._ledger_end.next
        state.transactions += 1
        state.written.update({tp: self._records[tp] for tp in self._unwritten})
        for tp, skipped in self._skipped:
            state.passed_over(tp, skipped)
        for tp, error in self._stuck.items():
            state.leave_out_partition(tp, error)
        self._skipped.clear()
        self._stuck.clear()
        self._unwritten.clear()
        for moved in progress:
            records, size = state.copied.get(moved.source, (0, 0))
            state.copied[moved.source] = (records + moved.records, size + moved.bytes)
            state.pacing.committed(moved.source, moved.next_offset)
        state.turns.served(moved.source for moved in progress)

    def _writer(self) -> Writer:
        return Writer(self._task.installation, socket.gethostname(), self._task.run, datetime.now(UTC))


def _signed(record: LedgerRecord, writer: Writer) -> LedgerRecord:
    return replace(record, writer=writer)
