"""Fetching whole batches: the request, what an answer holds of a partition, and what of it a reader of committed records skips."""

from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

import kafka.errors as errors
from kafka.protocol.consumer import FetchRequest

from mirror.formats.record_batch import AbortedTransactions, OldMagic, RecordBatch, batches_in
from mirror.kafka.broker_pool import Leader
from mirror.offsets.partition import TopicPartition

_FETCH = 12
_WAIT_MS = 100
_MOVED = {
    error.errno
    for error in (
        errors.NotLeaderForPartitionError,
        errors.LeaderNotAvailableError,
        errors.ReplicaNotAvailableError,
        errors.FencedLeaderEpochError,
        errors.UnknownLeaderEpochError,
    )
}


class FetchLimits(NamedTuple):
    """What bounds the answer to a fetch, and whether it ends where a transaction is open."""

    max_bytes: int
    partition_bytes: int
    wait_ms: int
    committed: bool

    @classmethod
    def of(cls, settings: Mapping[str, Any], most: int, committed: bool) -> "FetchLimits":
        """Those of a user's consumer settings (librdkafka's), and never more than `most` bytes."""
        return cls(
            min(int(settings.get("fetch.max.bytes", most)), most),
            min(int(settings.get("max.partition.fetch.bytes", most)), most),
            int(settings.get("fetch.wait.max.ms", _WAIT_MS)),
            committed,
        )


class FetchedPartition:
    """What was fetched of one partition and not handed over."""

    __slots__ = ("batches", "bytes", "cut_off", "epoch", "leader", "next_offset", "old", "position")

    def __init__(self, start: int, epoch: int | None, leader: Leader) -> None:
        self.leader = leader
        self.next_offset = start
        """Behind what was handed over."""
        self.position = start
        """Where to fetch next."""
        self.epoch = -1 if epoch is None else epoch
        self.batches: deque[tuple[RecordBatch, bool]] = deque()
        """Each with whether it belongs to the copy: markers, aborted and empty batches do not."""
        self.bytes = 0
        self.old: OldMagic | None = None
        """Where messages of an older format begin: at the position."""
        self.cut_off: RecordBatch | None = None
        """The header of the batch at the position, of which the last answer had a part."""

    def add(self, answer: Any) -> None:
        """Takes what a broker answered. Raises ValueError for bytes that are no batches."""
        aborted = AbortedTransactions(
            (transaction.producer_id, transaction.first_offset) for transaction in answer.aborted_transactions or ()
        )
        self.cut_off = None
        try:
            for batch in batches_in(answer.records or b"", cut_off=True):
                if batch.next_offset <= self.position:
                    continue
                if len(batch.data) < batch.size:
                    self.cut_off = batch._replace(data=memoryview(b""))
                    break
                is_aborted = aborted.hold(batch)
                self.batches.append((batch, batch.record_count > 0 and not batch.is_control and not is_aborted))
                self.bytes += len(batch.data)
                self.position = batch.next_offset
                self.epoch = batch.leader_epoch
        except OldMagic as old:
            self.old = old

    def pop(self) -> None:
        """The first batch is handed over."""
        batch, _ = self.batches.popleft()
        self.bytes -= len(batch.data)
        self.next_offset = batch.next_offset


def fetch_request(questions: Mapping[TopicPartition, FetchedPartition], limits: FetchLimits) -> FetchRequest:
    """Asks for what follows of these partitions. A broker fills its answer in their order."""
    topics: dict[str, list[Any]] = {}
    for tp, fetched in questions.items():
        topics.setdefault(tp.topic, []).append(
            FetchRequest.FetchTopic.FetchPartition(
                partition=tp.partition,
                current_leader_epoch=fetched.leader.epoch,
                fetch_offset=fetched.position,
                last_fetched_epoch=fetched.epoch,
                log_start_offset=-1,
                partition_max_bytes=limits.partition_bytes,
            )
        )
    return FetchRequest(
        version=_FETCH,
        replica_id=-1,
        max_wait_ms=limits.wait_ms,
        min_bytes=1,
        max_bytes=limits.max_bytes,
        isolation_level=int(limits.committed),
        session_id=0,
        session_epoch=-1,
        topics=[FetchRequest.FetchTopic(topic=name, partitions=partitions) for name, partitions in topics.items()],
        forgotten_topics_data=[],
        rack_id="",
    )


def diverged_at(partition_answer: Any) -> int | None:
    """Where the log went another way than the one that was read before; None: nowhere (KIP-320)."""
    epoch = partition_answer.diverging_epoch
    return epoch.end_offset if epoch is not None and epoch.end_offset >= 0 else None


def has_moved(code: int) -> bool:
    """Whether an error code of a partition says that another broker leads it now."""
    return code in _MOVED
