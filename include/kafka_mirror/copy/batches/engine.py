"""Moves a lane's records, over connections of its own to both clusters."""

import gc
import time
from collections.abc import Sequence

from kafka_mirror.copy.batches.source import BatchSource
from kafka_mirror.copy.batches.target import BatchProducer
from kafka_mirror.copy.model import LaneTask, NothingRead, PartitionAssignment, PartitionProgress, TransactionLimits
from kafka_mirror.kafka.broker_pool import receive

_POLL_SECONDS = 0.02
_WAITING_BYTES = 4 * 1024 * 1024


class BatchEngine:
    """Copies batch by batch. Opening it fences every earlier attempt at the lane and ends its open transaction; the source is connected
    with the first work. `max_batch_bytes` is the smallest max.message.bytes of the lane's remote topics."""

    def __init__(self, task: LaneTask, max_batch_bytes: int) -> None:
        self._source = BatchSource(task)
        try:
            self._target = BatchProducer(task, max_batch_bytes)
        except BaseException:
            self._source.close()
            raise
        self._pools = (self._target.pool, self._source.pool)
        self._silence_seconds = task.request_seconds

    def copy(self, work: Sequence[PartitionAssignment], limits: TransactionLimits) -> list[PartitionProgress]:
        """Begins a transaction if none is open, and puts records of all the work into it until it is large or old enough or nothing is
        left, all of them acknowledged. Only partitions that moved or hit a poison record are in the answer.

        Raises BatchRefused and NothingRead for what the protocol finds a way around.
        """
        # The collector would look at thousands of batches and records again and again, and none of them is in a cycle.
        collecting = gc.isenabled()
        gc.disable()
        try:
            return self._copy(work, limits)
        finally:
            if collecting:
                gc.enable()

    def _copy(self, work: Sequence[PartitionAssignment], limits: TransactionLimits) -> list[PartitionProgress]:
        started = time.monotonic()
        partitions = self._source.assign(work)
        self._target.begin(partitions)
        taken = 0
        while self._source.has_work() and taken < limits.bytes and not self._is_time_up(limits, started):
            # What waits to be sent is bounded: a slow target makes nothing pile up here.
            if taken - self._target.bytes <= _WAITING_BYTES // 2:
                taken += self._source.hand_over(min(limits.bytes - taken, _WAITING_BYTES - (taken - self._target.bytes)))
            self._source.fetch()
            self._target.send(partitions)
            if taken < limits.bytes and self._source.has_work():
                receive(self._pools, _POLL_SECONDS)
        for partition in partitions:
            partition.flush()
        while not all(partition.is_done for partition in partitions):
            self._target.send(partitions)
            receive(self._pools, _POLL_SECONDS)
        if not any(partition.has_moved for partition in partitions):
            self._source.stop_at_passed_over()
        if not (moved := [partition.report_progress() for partition in partitions if partition.has_moved]):
            raise NothingRead([partition.work.source for partition in partitions], time.monotonic() - started)
        return moved

    def _is_time_up(self, limits: TransactionLimits, started: float) -> bool:
        age = self._target.age if self._target.bytes else None
        return limits.is_time_up(age, time.monotonic() - max(started, self._source.heard_at), self._silence_seconds)

    def record(self, topic: str, partition: int, entries: Sequence[tuple[bytes, bytes]]) -> list[int]:
        """Puts keyed records into the open transaction (beginning one if there is none), acknowledged; gives the offset of each."""
        return self._target.record(topic, partition, entries)

    def commit(self) -> None:
        """Commits the open transaction. Raises Overtaken or TransactionTooSlow when the lane is no longer ours."""
        self._target.commit()

    def close(self) -> None:
        """Aborts what is open, and closes the connections to both clusters."""
        self._source.close()
        self._target.close()
