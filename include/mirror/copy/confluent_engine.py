"""The engine that moves single records with confluent-kafka: a source consumer and a transactional producer."""

import time
from collections.abc import Sequence

from mirror.copy.confluent_partition import raise_batch_refused, raise_refusal
from mirror.copy.confluent_settings import records_at_a_time
from mirror.copy.confluent_source import Source
from mirror.copy.confluent_target import Target
from mirror.copy.engine import NothingRead, Progress, TransactionLimits, Work
from mirror.copy.model import LaneTask
from mirror.errors import MirrorError

_CONSUME_SECONDS = 0.02  # the client waits this long for a full batch, even when the range's last record is there


class ConfluentEngine:
    """Copies record by record. Opening it fences the lane; the source is assigned with the first work."""

    def __init__(self, task: LaneTask, max_batch_bytes: int) -> None:
        self._target = Target(task, max_batch_bytes)
        self._source = Source(task)
        self._records_at_a_time = records_at_a_time(task)
        self._silence_seconds = task.request_seconds

    def copy(self, work: Sequence[Work], limits: TransactionLimits) -> list[Progress]:
        """See `Engine.copy`."""
        started = time.monotonic()
        flows = self._source.assign(work, self._target)
        try:
            self._target.begin()
            while self._source.has_work() and self._target.bytes < limits.bytes and not self._time_is_up(limits, started):
                self._source.consume(self._records_at_a_time, _CONSUME_SECONDS, self._target, limits.bytes)
            self._target.flush(lambda: any(flow.is_explained for flow in flows))
            failed = [flow for flow in flows if flow.failure]
            if failed:
                self._target.raise_transaction_error(all(flow.thrown_away for flow in failed))
        except MirrorError:
            # One refused record makes every later call of its transaction fail, so it comes first; its report may be on its way.
            self._target.await_report(lambda: any(flow.is_explained for flow in flows))
            raise_batch_refused(flows)
            raise
        raise_refusal(flows)
        if not any(flow.moved() for flow in flows):
            seconds = time.monotonic() - started
            self._source.raise_complaint(seconds)
            raise NothingRead([flow.work.source for flow in flows], seconds)
        return [flow.progress() for flow in flows if flow.moved()]

    def _time_is_up(self, limits: TransactionLimits, started: float) -> bool:
        """Whether to end the transaction; as long as it is empty it has no age, and ends when the source has been silent for longer than
        any answer may take. A source that throttles us is not silent, nor is one whose aborted records are fetched."""
        if self._target.bytes:
            return self._target.age >= limits.seconds
        heard = max(started, self._source.heard_at)
        return time.monotonic() - heard >= max(limits.seconds, self._silence_seconds)

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
