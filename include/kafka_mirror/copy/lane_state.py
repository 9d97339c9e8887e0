"""What a lane's run knows over its attempts: what was committed, what was left out, and how far the budget goes."""

import threading
import time
from collections.abc import Mapping, Set
from dataclasses import replace
from datetime import UTC, datetime

from kafka_mirror.copy.follow_turn import Discovery, SharedTurn, TurnEnds
from kafka_mirror.copy.lane_log import LaneLog
from kafka_mirror.copy.model import (
    HANDED_OVER,
    NEWS,
    BatchShare,
    CopiedElsewhere,
    LaneTask,
    PartitionProgress,
    RewriteReason,
    SkippedRecords,
    add_up_reasons,
    add_up_shares,
    is_hand_over,
)
from kafka_mirror.copy.next_transaction import SMALLEST_TRANSACTION, BatchBisection, TransactionSize, Turns
from kafka_mirror.copy.plan.model import Range
from kafka_mirror.copy.throttle import Pace
from kafka_mirror.errors import ErrorReport, RecordRefused, TargetLostRecords
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.ledger.record import LedgerRecord, Skipped

LEFT_OUT_SECONDS = 60.0
"""How long a lane that follows leaves out a partition whose error may pass. To try again may cost the lane the patience of a fetch."""


class LaneState:
    """Kept over the attempts of one run. Only what was committed stands in `written` and `copied`."""

    def __init__(self, task: LaneTask, stop: threading.Event | None = None, shared: SharedTurn | None = None) -> None:
        """`stop`: once it is set, the lane ends after the transaction that is open. `shared`: what the lanes of the process
        ask together; None: it asks for itself."""
        self.task = task
        self._stop = stop or threading.Event()
        self.deadline = time.monotonic() + task.max_seconds
        self.log = LaneLog(task)
        self.size = TransactionSize(task.transaction_max_bytes, task.transaction_timeout_ms / 1000)
        self.bisection = BatchBisection()
        self.pace = Pace(task)
        self._shared = shared
        self._discovery = shared.discovery if shared else Discovery(task.known_topics)
        self.turns = Turns()
        self.errors: dict[TopicPartition, ErrorReport] = {}
        self.poisoned: dict[TopicPartition, tuple[int, RecordRefused | TargetLostRecords]] = {}
        self.written: dict[TopicPartition, LedgerRecord] = {}
        self.copied: dict[TopicPartition, tuple[int, int]] = {}
        self.batches: tuple[BatchShare, ...] = ()
        """How the source's batches went, as far as that was committed."""
        self.rewritten: tuple[RewriteReason, ...] = ()
        """Why batches were rewritten; the most frequent reasons, each with its first partition."""
        self.skipped: dict[TopicPartition, SkippedRecords] = {}
        self.copied_elsewhere: dict[TopicPartition, CopiedElsewhere] = {}
        self._totals = {planned.topic_partition: (planned.records, planned.bytes) for planned in task.ranges}
        """The ledger's running totals of records and bytes, as this run saw them last."""
        self.transactions = 0
        self.is_following = False
        """Whether the planned ranges are copied and the lane follows."""
        self.ended_for = ""
        """As in `LaneResult`."""
        self.was_overtaken = False
        """Whether somebody has copied by the lane for a while."""
        self.turns_followed = 0
        """How many turns of following found out how far the source is."""
        self.followed: dict[TopicPartition, Range] = {}
        """The newest range of each partition that got one while the lane followed."""
        self.planned = task.planned
        """When the newest ranges were made."""
        self.stopped: set[TopicPartition] = set()
        """Partitions that an error stopped while the lane followed."""
        self._left_out_at = 0.0
        """When a partition was left out last."""
        self.ledger_end = 0
        """How far the lane's ledger partition reaches at least, as far as this run has seen."""

    def is_budget_spent(self) -> bool:
        """Whether to end. One transaction is always allowed, and one for the first partition that was stuck."""
        return self.transactions > 0 and self.is_over()

    def is_over(self) -> bool:
        """Whether the lane's time is up, its bytes are used up, or it was asked to stop or ends for what is new."""
        return self._stop.is_set() or bool(self.ended_for) or time.monotonic() >= self.deadline or self._bytes_left == 0

    def hand_over(self) -> bool:
        """What a lane that follows does when it was fenced; whether it goes on.

        After its run was due, the next run has it. Before, it is somebody who copies for a while, such as a backfill: the lane lets him
        have the time of a transaction, and then takes it back.
        """
        due, self.was_overtaken = self.deadline - self.task.hand_over_seconds, True
        seconds = min(self.task.transaction_timeout_ms / 1000, due - time.monotonic())
        if seconds > 0:
            by = "by a backfill or a copy by hand"
            self.log.say(f"was taken over before its run was due, {by}, and is taken back in {seconds:g} s.")
            self._stop.wait(seconds)
        if time.monotonic() >= due:
            self.ended_for = HANDED_OVER
            self.log.say("no longer follows: another run has taken it over, and goes on after what was committed here.")
        return not self.is_over()

    def has_news(self, source: Cluster) -> bool:
        """Whether a lane that follows is to end for the next plan: somebody decided something, or the source has other topics."""
        if self.task.follow_seconds and (self.pace.has_news or self._discovery.has_news(source)):
            self.ended_for = NEWS
        return self.ended_for == NEWS

    @property
    def progress(self) -> int:
        """Grows with each transaction, and each turn of following that found out how far the source is."""
        return self.transactions + self.turns_followed

    @property
    def unreached(self) -> set[TopicPartition]:
        """Partitions that did not reach the end of the range that they got last while the lane followed."""
        return {tp for tp, newest in self.followed.items() if tp not in self.written or self.written[tp].watermark < newest.end}

    def await_turn(self) -> bool:
        """Waits until a lane that follows asks the source again: all lanes at the same time. False: its run is over before."""
        now, every = time.monotonic(), self.task.follow_seconds
        begin = (now // every + 1) * every
        return not (self.is_over() or begin >= self.deadline or self._stop.wait(begin - now))

    def find_ends(self, partitions: Set[TopicPartition]) -> TurnEnds | None:
        """How far the source is in this turn, if the lanes of the process could ask it together."""
        return self._shared.find_ends(self.task.lane, partitions) if self._shared else None

    def leave(self) -> None:
        """Has nothing more to ask together with other lanes."""
        if self._shared:
            self._shared.leave(self.task.lane)

    def follow(self, ranges: Mapping[TopicPartition, Range]) -> None:
        """Takes down the new ranges of a turn, for this attempt and those after it."""
        self.followed.update(ranges)
        self.planned = datetime.now(UTC)
        self.turns.begun.clear()
        self.log.follow_to({tp: newest.end for tp, newest in ranges.items()})

    @property
    def transaction_bytes(self) -> int:
        """How much the next transaction may hold: what the target takes, no more than the budget has left, and not much more than the
        throttle allows in a second."""
        budget, size = self._bytes_left, self.size.bytes
        return self.pace.throttle.limit_size(size if budget is None else min(size, max(budget, SMALLEST_TRANSACTION)))

    @property
    def _bytes_left(self) -> int | None:
        if self.task.max_bytes < 0:
            return None
        return max(0, self.task.max_bytes - sum(size for _, size in self.copied.values()))

    def note_totals(self, records: Mapping[TopicPartition, LedgerRecord]) -> None:
        """Takes down how far the ledger's totals are, as an attempt read them; what they grew by is another run's where that one wrote
        them last. A commit of ours whose answer was lost is ours."""
        if self.task.history:
            return  # what is written of it has totals of its own
        both = {tp: (records[tp], totals) for tp, totals in self._totals.items() if tp in records}
        for tp, (record, (records_before, bytes_before)) in both.items():
            if record.records > records_before and record.writer.run != self.task.run:
                before = self.copied_elsewhere.get(tp)
                more, bytes_more = record.records - records_before, max(0, record.bytes - bytes_before)
                counts = (more + before.records, bytes_more + before.bytes) if before else (more, bytes_more)
                if not is_hand_over(self.task.run, record.writer.run):
                    self.log.tell_copied_elsewhere(CopiedElsewhere(tp.topic, tp.partition, more, bytes_more, record.writer.run))
                self.copied_elsewhere[tp] = CopiedElsewhere(tp.topic, tp.partition, *counts, record.writer.run)
            elif record.records > records_before and self.task.run:
                self.written.setdefault(tp, record)
            self._totals[tp] = (record.records, record.bytes)

    def count(self, moved: PartitionProgress) -> None:
        """Counts what a transaction copied that was committed."""
        records, size = self.copied.get(moved.source, (0, 0))
        self.copied[moved.source] = (records + moved.records, size + moved.bytes)
        self.batches = add_up_shares((*self.batches, *moved.batches))
        reasons = (RewriteReason(reason, batches, *moved.source) for reason, batches in moved.rewritten.items())
        self.rewritten = add_up_reasons((*self.rewritten, *reasons))

    def count_skipped(self, tp: TopicPartition, skipped: Skipped) -> None:
        """Counts records that were passed over for good."""
        before = self.skipped.get(tp) or SkippedRecords(tp.topic, tp.partition, skipped.start, 0, skipped.reason)
        self.skipped[tp] = replace(before, records=before.records + skipped.offsets)

    def keep_loss(self, tp: TopicPartition, record: LedgerRecord, lost: TargetLostRecords) -> None:
        """Lets the next commit note in the ledger what the target lost of what was committed: aborted records take up its offsets, and
        the hole would not show any more."""
        if lost.offset < record.target_next:
            first = record.offset_map.source_of(lost.offset)
            self.poisoned[tp] = (record.watermark if first is None else first, lost)

    @property
    def losses(self) -> dict[TopicPartition, ErrorReport]:
        """What was seen to be lost and is not noted in the ledger."""
        losses = {tp: error for tp, (_, error) in self.poisoned.items() if isinstance(error, TargetLostRecords) and tp not in self.errors}
        return {tp: error.report() for tp, error in losses.items()}

    def leave_out(self, error: ErrorReport) -> bool:
        """Leaves out the partition, or the topic, that an error names. False if it names none of this lane's."""
        named = [
            planned.topic_partition
            for planned in self.task.ranges
            if planned.topic == error.topic and error.partition in (None, planned.partition) and planned.topic_partition not in self.errors
        ]
        for tp in named:
            self.leave_out_partition(tp, error)
        return bool(named)

    def leave_out_partition(self, tp: TopicPartition, error: ErrorReport) -> None:
        """Leaves one partition out for this reason: of the rest of the run, or until `take_back` if the lane follows."""
        self.errors[tp] = error
        self._left_out_at = time.monotonic()
        if self.is_following:
            self.stopped.add(tp)
        self.log.warn_of_left_out(tp, error)

    @property
    def passing_errors(self) -> set[TopicPartition]:
        """The partitions that were left out for what may pass."""
        return {tp for tp, error in self.errors.items() if error.retriable}

    def may_take_back(self) -> bool:
        """Whether partitions whose errors may pass were left out for long enough."""
        return bool(self.passing_errors) and time.monotonic() >= self._left_out_at + LEFT_OUT_SECONDS

    def take_back(self) -> None:
        """Lets the next attempt try again what was left out for what may pass."""
        for tp in self.passing_errors:
            self.log.say(f"tries {tp} again, which was left out for {self.errors.pop(tp).code}.")
            self.stopped.discard(tp)
