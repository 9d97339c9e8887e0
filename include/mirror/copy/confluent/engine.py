"""The engine that moves single records with confluent-kafka: a source consumer and a transactional producer."""

import time
from collections.abc import Sequence

from mirror.copy.confluent.partition import raise_batch_refused, raise_refusal
from mirror.copy.confluent.source import SourceConsumer, records_at_a_time
from mirror.copy.confluent.target import TransactionalProducer
from mirror.copy.engine import NothingRead, PartitionAssignment, PartitionProgress, TransactionLimits
from mirror.copy.model import LaneTask
from mirror.errors import MirrorError

_CONSUME_SECONDS = 0.02  # the client waits this long for a full batch, even when the range's last record is there


class ConfluentEngine:
    """Copies record by record. Opening it fences the lane; the source is assigned with the first work."""

    def __init__(self, task: LaneTask, max_batch_bytes: int) -> None:
        self._target = TransactionalProducer(task, max_batch_bytes)
        self._source = SourceConsumer(task)
        self._records_at_a_time = records_at_a_time(task)
        self._silence_seconds = task.request_seconds

    def copy(self, work: Sequence[PartitionAssignment], limits: TransactionLimits) -> list[PartitionProgress]:
        """See `Engine.copy`."""
        started = time.monotonic()
        partitions = self._source.assign(work, self._target)
        try:
            self._target.begin()
            while self._source.has_work() and self._target.bytes < limits.bytes and not self._time_is_up(limits, started):
                self._source.consume(self._records_at_a_time, _CONSUME_SECONDS, self._target, limits.bytes)
            self._target.flush(lambda: any(in_flight.is_explained for in_flight in partitions))
            failed = [in_flight for in_flight in partitions if in_flight.failure]
            if failed:
                self._target.raise_transaction_error(all(in_flight.thrown_away for in_flight in failed))
        except MirrorError:
            # One refused record makes every later call of its transaction fail, so it comes first; its report may be on its way.
            self._target.await_report(lambda: any(in_flight.is_explained for in_flight in partitions))
            raise_batch_refused(partitions)
            raise
        raise_refusal(partitions)
        if not any(in_flight.moved() for in_flight in partitions):
            seconds = time.monotonic() - started
            self._source.raise_complaint(seconds)
            raise NothingRead([in_flight.work.source for in_flight in partitions], seconds)
        return [in_flight.progress() for in_flight in partitions if in_flight.moved()]

    def _time_is_up(self, limits: TransactionLimits, started: float) -> bool:
        age = self._target.age if self._target.bytes else None
        return limits.time_is_up(age, time.monotonic() - max(started, self._source.heard_at), self._silence_seconds)

    def record(self, topic: str, partition: int, entries: Sequence[tuple[bytes, bytes]]) -> list[int]:
        """See `Engine.record`."""
        return self._target.record(topic, partition, entries)

    def commit(self) -> None:
        """See `Engine.commit`."""
        self._target.commit()

    def close(self) -> None:
        """See `Engine.close`."""
        self._source.close()
        self._target.close()
