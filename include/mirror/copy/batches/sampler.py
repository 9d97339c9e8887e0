"""A look at the first batches of partitions before an engine is chosen; the engine for batches goes on with what was fetched."""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from mirror.copy.batches.engine import BatchEngine
from mirror.copy.batches.source import BatchSource
from mirror.copy.engine import BatchesUnavailable, BatchSample, PartitionAssignment
from mirror.copy.model import LaneTask
from mirror.errors import ClusterTooOld, MirrorError
from mirror.kafka.broker_pool import receive
from mirror.offsets.partition import TopicPartition

log = logging.getLogger(__name__)

_PARTITION_BYTES = 256 * 1024
_BYTES = 4 * 1024 * 1024
_SMALLEST_BYTES = 4 * 1024
"""A header is much less."""
_SECONDS = 3.0
"""So long a source may be away or give nothing, until it is left to the other engine to wait for it, or to say why."""
_POLL_SECONDS = 0.02
_STAMPS = "the remote topic stamps records when they are appended (LogAppendTime)"


class SourceBatchSampler:
    """Looks at partitions, and opens the engine for batches on the connections and with the batches that the look has brought."""

    def __init__(self) -> None:
        self._source: BatchSource | None = None

    def sample(self, task: LaneTask, work: Sequence[PartitionAssignment]) -> Mapping[TopicPartition, BatchSample]:
        """See `BatchSampler.sample`. A topic or partition that an error names gives no sample; with any other error none does."""
        wanted = list(work)
        while wanted:
            try:
                return self._sample(task, wanted)
            except ClusterTooOld as error:
                self.close()
                raise BatchesUnavailable(f"one of its brokers is older than Kafka {error.oldest}") from error
            except MirrorError as error:
                log.info("lane %d: the first batches could not be looked at, so records are encoded anew: %s", task.lane, error)
                self.close()
                others = [assignment for assignment in wanted if not _names(error, assignment.source)]
                if len(others) == len(wanted):
                    break
                wanted = others
        return {}

    def open(self, task: LaneTask, max_batch_bytes: int) -> BatchEngine:
        """The engine for batches; its first one goes on behind the look."""
        source, self._source = self._source, None
        return BatchEngine(task, max_batch_bytes, source)

    def close(self) -> None:
        """See `BatchSampler.close`."""
        source, self._source = self._source, None
        if source is not None:
            source.close()

    # ------------------------------------------------------------ inside

    def _sample(self, task: LaneTask, work: Sequence[PartitionAssignment]) -> dict[TopicPartition, BatchSample]:
        self.close()
        self._source = source = BatchSource(task)
        source.pool.patience = _SECONDS
        whole = source.limits
        share = max(_SMALLEST_BYTES, min(_PARTITION_BYTES, _BYTES // len(work)))
        source.limits = whole._replace(partition_bytes=min(whole.partition_bytes, share))
        source.assign(work)
        samples = self._fetched(source, work)
        source.limits, source.pool.patience = whole, None
        return samples

    def _fetched(self, source: BatchSource, work: Sequence[PartitionAssignment]) -> dict[TopicPartition, BatchSample]:
        samples: dict[TopicPartition, BatchSample] = {}
        deadline = time.monotonic() + _SECONDS
        source.fetch()
        while True:
            for assignment in work:
                if assignment.source not in samples and (sample := source.sample(assignment.source)) is not None:
                    samples[assignment.source] = replace(sample, obstacle=_STAMPS) if assignment.limits.stamps else sample
            if not any(connection.in_flight for connection in source.pool.connections):
                if len(samples) == len(work) or time.monotonic() >= deadline:
                    return samples
                source.fetch()
            receive([source.pool], _POLL_SECONDS)


def _names(error: MirrorError, tp: TopicPartition) -> bool:
    return error.topic == tp.topic and error.partition in (None, tp.partition)
