"""The protocol by which a lane copies, exactly once. One pass over it, which is one producer epoch:

    1  read the limits of the remote topics                          remote_partitions
    2  fence every earlier attempt, and end its transaction          engine
    3  read the lane's own ledger, and the target beside it          lane_preflight
    4  as long as work and budget are left, a transaction:
         records, each acknowledged right where the last one ended   engine, LogEnd
         the ids of the topics on both sides, once more
         the ledger records of what was copied                       ledger_updates, engine
         commit
    5  a lane that follows waits for its next turn, asks what was    shared_turn,
       decided and how far the source is, and goes on at 4 with      new_ranges,
       new ranges, until the run is over, anything was decided, or   discovery
       the source has topics that the plan did not know
    6  wait until readers of committed records see it

A lane that follows keeps its epoch, the ends that it knows and its connections; without anything new it writes nothing. It goes on for a
while after its run was due: the fence of the next run then hands it over. What is open is aborted, and the lane ends well, for the next run
has the rest. Before that, the copy that fences it has it for the time of a transaction.
A partition that was left out for an error that may pass is tried again after a while, from the top: no other run comes for minutes.

Ledger and offsets are read after the fencing, so they cannot change any more: no other client can write to the lane's ledger partition, and
no open transaction can hide what was committed there. Any error ends the attempt; the next one begins from the top.
"""

import math
import socket
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from kafka_mirror.copy.batches.engine import BatchEngine
from kafka_mirror.copy.follow_turn import look_for_more
from kafka_mirror.copy.history import merge_history
from kafka_mirror.copy.lane_preflight import LanePreflight
from kafka_mirror.copy.lane_state import LaneState
from kafka_mirror.copy.ledger_updates import advance_record, check_write_order, mark_blocked, with_source_end
from kafka_mirror.copy.model import (
    LaneTask,
    PaceChanged,
    PartitionAssignment,
    PartitionProgress,
    PoisonRecord,
    TransactionLimits,
)
from kafka_mirror.copy.next_transaction import PartitionInLine
from kafka_mirror.copy.plan.model import Range
from kafka_mirror.copy.remote_partitions import TargetView
from kafka_mirror.errors import (
    BatchNotUnpacked,
    ErrorReport,
    MirrorError,
    SourceRecreated,
    TargetLostRecords,
    TargetRecreated,
)
from kafka_mirror.errors.words import count_text
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.ledger.checks import check_ledger
from kafka_mirror.ledger.codec import encode, encode_key
from kafka_mirror.ledger.compare_and_set import LogEnd, await_readable
from kafka_mirror.ledger.record import LedgerRecord, Skipped, Writer

_MARKER_SECONDS = 2.0
_LEDGER_MARKER_SECONDS = 15.0
_FOLLOWING_TRANSACTION_SECONDS = 2.0
"""How old a transaction of a lane that follows may become: before the next one it asks what was decided."""


class Attempt:
    """One pass over the protocol for the given ranges of the lane, under one producer epoch."""

    def __init__(self, task: LaneTask, state: LaneState, ranges: Sequence[Range], follows: bool) -> None:
        self._task = task
        self._state = state
        self._ranges = {planned.topic_partition: state.followed.get(planned.topic_partition, planned) for planned in ranges}
        self._follows = follows
        self._records: dict[TopicPartition, LedgerRecord] = {}
        self._before: dict[TopicPartition, LedgerRecord] = {}
        self._unwritten: set[TopicPartition] = set()
        self._skipped: list[tuple[TopicPartition, Skipped]] = []
        self._stuck: dict[TopicPartition, ErrorReport] = {}
        self._portion: int | None = None
        self._longest = min(task.transaction_timeout_ms / 4000, _FOLLOWING_TRANSACTION_SECONDS if task.follow_seconds else math.inf)
        self._ledger_end = LogEnd(TopicPartition(task.ledger_topic, task.lane), 0)
        self._remote_ends: dict[TopicPartition, LogEnd] = {}

    def run(self) -> None:
        """Copies until the ranges are done, or the run ends if the lane follows, or the budget is spent. Raises what ends the attempt."""
        task = self._task
        with (
            Cluster(task.target, task.clients.target_admin, task.request_seconds) as target,
            Cluster(task.source, task.clients.source_admin, task.request_seconds) as source,
        ):
            self._target, self._source = target, source
            if self._state.was_overtaken:
                self._state.pace.look(target)
                if self._state.has_news(source):
                    return
            source.open_ahead()  # it is asked just before the first commit, and may be far away
            self._view = TargetView(task, target)
            self._portion = self._state.pace.throttle.portion
            engine = BatchEngine(replace(task, fetch_bytes=self._portion), self._view.smallest_message_limit)
            try:
                self._begin()
                while self._copy(engine) and self._follow():
                    pass
            finally:
                engine.close()
            self._await_markers()

    def _begin(self) -> None:
        preflight = LanePreflight(self._task, self._state, self._ranges, self._source, self._target, self._view, self._sign())
        preflight.run()
        self._records, self._unwritten = preflight.records, preflight.unwritten
        self._ranges, self._before = preflight.ranges, preflight.before
        self._ledger_end, self._remote_ends = preflight.ledger_end, preflight.remote_ends
        self._state.ledger_end = max(self._state.ledger_end, self._ledger_end.next)
        self._note_poison()

    def _note_poison(self) -> None:
        """What the broker refused in earlier attempts, now that the record stands alone: it is passed over, or its partition is stuck."""
        for tp, (offset, error) in self._state.poisoned.items():
            if tp not in self._records or tp in self._state.errors:
                continue
            if isinstance(error, TargetLostRecords) or not self._task.skip_refused:
                self._block(tp, offset, error)
            elif self._records[tp].watermark == offset:
                self._apply([PartitionProgress(tp, offset + 1, skipped=(Skipped(offset, offset + 1, error.reason),))])

    def _copy(self, engine: BatchEngine) -> bool:
        """Copies until nothing of the ranges is left, or the run is over; gives whether the ranges are done."""
        while True:
            limits = TransactionLimits(self._state.transaction_bytes, self._longest)
            # What earlier attempts found is committed by itself: what is copied next may be refused as well, and take the note with it.
            work = self._choose_work(limits.bytes) if not (self._skipped or self._stuck) else []
            if not work and not self._unwritten:
                return True
            if work and not self._may_begin():
                return False
            if self._state.transaction_bytes < limits.bytes:
                continue
            begun = time.monotonic()
            progress = engine.copy(work, limits) if work else []
            self._apply(progress)
            self._check_identities()
            self._write_ledger(engine)
            engine.commit()
            seconds = time.monotonic() - begun
            self._state.size.grow(seconds)
            self._state.pace.throttle.count(sum(moved.bytes for moved in progress), seconds)
            self._state.log.tell_commit(progress, seconds)
            self._note_commit(progress)
            if self._state.is_budget_spent():
                return False

    def _may_begin(self) -> bool:
        """Waits until the throttle allows the next transaction; whether it does before the run is over. Raises PaceChanged."""
        begin = self._state.pace.await_turn(self._target, self._state.deadline)
        if self._state.pace.throttle.portion != self._portion:
            self._state.log.tell_rate(self._state.pace.throttle.rate)
            raise PaceChanged
        return begin and not self._state.has_news(self._source)

    def _follow(self) -> bool:
        """Waits until the source has more, which then are the ranges. False: the lane does not follow, no longer, or in another attempt."""
        state = self._state
        if not self._follows:
            return False
        if not state.is_following:
            state.is_following = True
            partitions = count_text(len(self._select_followed()), "partition")
            state.log.say(f"follows {partitions} from now on, every {self._task.follow_seconds:g} s.")
        while ((records := self._select_followed()) or state.passing_errors) and state.await_turn():
            ends = state.find_ends(records.keys())
            state.pace.look(self._target, ends.control if ends else None)
            if state.has_news(self._source) or state.may_take_back():
                return False
            more, errors = look_for_more(self._source, self._task.read_committed, records, self._ranges, ends.source if ends else None)
            state.turns_followed += 1
            for error in errors:
                state.leave_out(error)
            if more:
                self._ranges |= more
                state.follow(more)
                return True
        return False

    def _select_followed(self) -> dict[TopicPartition, LedgerRecord]:
        return {tp: self._records[tp] for tp in self._records.keys() - self._state.errors.keys()}

    def _await_markers(self) -> None:
        """Waits until what was committed can be read, in the ledger first of all: the run is judged by it. Somebody else's open
        transaction may hold back a remote partition for longer: that is not waited for."""
        if not self._state.transactions:
            return
        ledger = self._ledger_end.log
        ends = {ledger: self._state.ledger_end} | {
            TopicPartition(record.target_topic, tp.partition): record.target_next
            for tp, record in self._state.written.items()
            if tp in self._ranges
        }
        if ledger in await_readable(self._target, ends, _MARKER_SECONDS):
            await_readable(self._target, {ledger: self._state.ledger_end}, _LEDGER_MARKER_SECONDS - _MARKER_SECONDS)

    def _choose_work(self, max_bytes: int) -> list[PartitionAssignment]:
        """What the next transaction copies, if it may hold about `max_bytes`."""
        bisection, state = self._state.bisection, self._state
        open_records = {tp: record for tp, record in self._records.items() if tp not in state.errors}
        ends = {tp: bisection.limit_end(tp, self._ranges[tp].end, record.watermark) for tp, record in open_records.items()}
        candidates = []
        for tp, record in open_records.items():
            owed = min(ends[tp] - record.watermark, bisection.records.get(tp, ends[tp]))
            if owed > 0:
                candidates.append(PartitionInLine.of(tp, record, owed, state.turns.written.get(tp, 0)))
        return [self._assign(tp, ends[tp]) for tp in state.turns.choose(candidates, max_bytes)]

    def _assign(self, tp: TopicPartition, end: int) -> PartitionAssignment:
        record, remote, bisection = self._records[tp], self._task.remote_topics[tp.topic], self._state.bisection
        return PartitionAssignment(
            *(tp, remote, record.watermark, end, record.leader_epoch, self._view.find_limits(remote)),
            max_records=bisection.records.get(tp),
            skip_refused=self._task.skip_refused,
            refused=bisection.named.get(tp, {}),
            joined_to=bisection.joined_to.get(tp, 0),
        )

    def _apply(self, progress: Sequence[PartitionProgress]) -> None:
        for moved in progress:
            tp = moved.source
            lost = check_write_order(self._records[tp], self._task.remote_topics[tp.topic], moved)
            if lost is not None:
                self._unwritten.add(tp)
                self._check_identities()  # a topic that was created again begins at 0 too
                if isinstance(lost, TargetLostRecords):
                    self._state.keep_loss(tp, self._records[tp], lost)
                raise lost
            if tp in self._remote_ends:
                self._remote_ends[tp].extend((run.target, run.length) for run in moved.runs)
            self._records[tp] = advance_record(self._records[tp], moved, self._ranges[tp].leader_epoch)
            self._unwritten.add(tp)
            self._skipped.extend((tp, skipped) for skipped in moved.skipped)
            if moved.poison is not None:
                poison, remote = moved.poison, self._task.remote_topics[tp.topic]
                self._block(tp, moved.next_offset, poison.as_error(tp, remote) if isinstance(poison, PoisonRecord) else poison)

    def _block(self, tp: TopicPartition, offset: int, error: MirrorError) -> None:
        self._stuck[tp] = report = error.report()
        limits = self._view.describe_limits(self._task.remote_topics[tp.topic])
        end = error.end if isinstance(error, BatchNotUnpacked) else None
        self._records[tp] = mark_blocked(
            self._records[tp], offset, report, datetime.now(UTC), planned=self._state.planned, limits=limits, end=end
        )
        self._unwritten.add(tp)

    def _check_identities(self) -> None:
        """Topic ids once more before each commit: a remote topic deleted inside a transaction is silently created again by the client, and
        the commit succeeds; a source topic created again would give other records under the same offsets."""
        touched = {tp.topic for tp in self._unwritten}
        ledger = self._task.ledger_topic
        now = self._read_topic_ids(touched, ledger)
        source = self._source.topic_ids(touched)
        check_ledger(ledger, self._task.ledger_id, now.get(ledger))
        for tp in sorted(self._unwritten):
            remote = self._task.remote_topics[tp.topic]
            record = self._records[tp]
            if (topic_id := now.get(remote, "none")) != record.target_topic_id:
                raise TargetRecreated(tp.topic, tp.partition, remote, f"topic id {record.target_topic_id}", topic_id)
            if not record.is_of(source.get(tp.topic, record.source_topic_id)):
                raise SourceRecreated(tp.topic, tp.partition, record.watermark, record.source_topic_id, source[tp.topic])

    def _read_topic_ids(self, touched: set[str], ledger: str) -> dict[str, str]:
        """The ids of the remote topics of these source topics, and of the ledger. What the target refuses of one is raised by the name of
        its source topic, by which the lane leaves it out and goes on with the others."""
        refused: dict[str, MirrorError] = {}
        ids = self._target.topic_ids({self._task.remote_topics[topic] for topic in touched} | {ledger}, refused)
        for topic in sorted(touched):
            if (error := refused.get(self._task.remote_topics[topic])) is not None:
                error.topic = topic
                raise error
        if ledger in refused:
            raise refused[ledger]
        return ids

    def _write_ledger(self, engine: BatchEngine) -> None:
        writer = self._sign()
        entries = []
        for tp in sorted(self._unwritten):
            record = replace(self._records[tp], writer=writer)
            if not self._task.history:
                record = with_source_end(record, self._ranges[tp], self._state.planned)
            self._records[tp] = record
            entries.append((encode_key(tp), encode(merge_history(self._before[tp], record) if tp in self._before else record)))
        offsets = engine.record(self._task.ledger_topic, self._task.lane, entries)
        self._ledger_end.extend((offset, 1) for offset in offsets)

    def _note_commit(self, progress: Sequence[PartitionProgress]) -> None:
        state = self._state
        for end in (self._ledger_end, *self._remote_ends.values()):
            end.pass_marker()
        state.ledger_end = self._ledger_end.next
        state.transactions += 1
        state.written.update({tp: self._records[tp] for tp in self._unwritten})
        for tp, skipped in self._skipped:
            state.count_skipped(tp, skipped)
        for tp, error in self._stuck.items():
            state.leave_out_partition(tp, error)
        self._skipped.clear()
        self._stuck.clear()
        self._unwritten.clear()
        for moved in progress:
            state.count(moved)
            state.bisection.widen(moved.source, moved.next_offset)
        state.turns.count_served(moved.source for moved in progress)

    def _sign(self) -> Writer:
        return Writer(self._task.installation, socket.gethostname(), self._task.run, datetime.now(UTC))
