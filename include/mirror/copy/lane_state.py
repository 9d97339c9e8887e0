"""What a lane's run knows over its attempts: what was committed, what was left out, and how far the budget goes."""

import time
from dataclasses import replace

from mirror.copy.model import LaneTask, SkippedRecords
from mirror.copy.pacing import Pacing, TransactionSize
from mirror.errors import ErrorReport, MirrorError, RecordRefused
from mirror.formats.ledger import LedgerRecord, Skipped
from mirror.offsets.partition import TopicPartition


class LaneState:
    """Kept over the attempts of one run. Only what was committed stands in `written` and `copied`."""

    def __init__(self, task: LaneTask) -> None:
        self.task = task
        self.deadline = time.monotonic() + task.max_seconds
        self.size = TransactionSize(task.transaction_max_bytes, task.transaction_timeout_ms / 1000)
        self.pacing = Pacing()
        self.errors: dict[TopicPartition, ErrorReport] = {}
        self.poisoned: dict[TopicPartition, tuple[int, RecordRefused]] = {}
        self.written: dict[TopicPartition, LedgerRecord] = {}
        self.copied: dict[TopicPartition, tuple[int, int]] = {}
        self.skipped: dict[TopicPartition, SkippedRecords] = {}
        self.transactions = 0

    def budget_spent(self) -> bool:
        """Whether no new transaction may begin. At least one is always allowed."""
        if not self.transactions:
            return False
        copied = sum(size for _, size in self.copied.values())
        return time.monotonic() >= self.deadline or 0 <= self.task.max_bytes <= copied

    def passed_over(self, tp: TopicPartition, skipped: Skipped) -> None:
        """Counts records that were passed over for good."""
        before = self.skipped.get(tp) or SkippedRecords(tp.topic, tp.partition, skipped.start, 0, skipped.reason)
        self.skipped[tp] = replace(before, records=before.records + skipped.offsets)

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
