"""Fetching whole batches: the request, what an answer holds of a partition, and what of it a reader of committed records skips."""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import kafka.errors as errors
from kafka.protocol.consumer import FetchRequest

from mirror.formats.record_batch import AbortedTransactions, OldMagic, RecordBatch, batches_in
from mirror.kafka.broker_connection import BrokerConnection
from mirror.kafka.broker_pool import Leader
from mirror.kafka.fetch_response import FetchResponse, PartitionData, fetch_response
from mirror.kafka.old_messages import first_message
from mirror.offsets.partition import TopicPartition

_FETCH = 12
_WAIT_MS = 100
_LEAST_SHARE = 1024 * 1024
"""An answer is shared by the partitions that are asked for, but not into pieces smaller than this."""
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

    __slots__ = ("_rest", "_start", "batches", "bytes", "cut_off", "epoch", "leader", "next_offset", "old", "position")

    def __init__(self, start: int, epoch: int | None, leader: Leader) -> None:
        self.leader = leader
        self._start = (start, epoch)
        self.next_offset = start
        """Behind what was handed over."""
        self.position = start
        """Where to fetch next."""
        self.epoch = -1 if epoch is None else epoch
        self.batches: deque[tuple[RecordBatch, bool]] = deque()
        """Each with whether it belongs to the copy: markers, aborted and empty batches do not."""
        self.bytes = 0
        self.old: OldMagic | None = None
        """Where messages of an older format begin: at the position, until somebody has them read."""
        self._rest = memoryview(b"")
        self.cut_off: RecordBatch | None = None
        """The header of the batch at the position, of which the last answer had a part."""

    def goes_on(self, start: int, epoch: int | None) -> bool:
        """Whether what is here follows the record in front of `start`, which is of this leader epoch: the broker was asked with it whether
        it has that record (KIP-320), or what stands in front was handed over from here."""
        return self.next_offset == start and (start != self._start[0] or epoch == self._start[1])

    def add(self, data: PartitionData) -> None:
        """Takes what a broker answered. Raises ValueError for bytes that are no batches."""
        self.cut_off = None
        self._add(memoryview(data.records), AbortedTransactions(data.aborted) if data.aborted else None)

    def read_old(self, largest: int) -> None:
        """Reads the messages of an older format that were met, and what follows them. Raises ValueError for what is none."""
        while self.old is not None:
            self.old = None
            messages, rest = first_message(self._rest, largest)
            for batch in messages:
                if batch.next_offset > self.position:
                    self._append(batch, True)
            self._add(rest, None)

    def _add(self, data: memoryview, aborted: AbortedTransactions | None) -> None:
        at = 0
        try:
            for batch in batches_in(data, cut_off=True):
                size = len(batch.data)
                at += size
                if batch.next_offset <= self.position:
                    continue
                if size < batch.size:
                    self.cut_off = batch._replace(data=memoryview(b""))
                    break
                is_dropped = batch.is_control or not batch.record_count
                if aborted is not None:
                    is_dropped |= aborted.hold(batch)
                self._append(batch, not is_dropped)
        except OldMagic as old:
            self.old, self._rest = old, data[at:]

    def _append(self, batch: RecordBatch, is_copied: bool) -> None:
        self.batches.append((batch, is_copied))
        self.bytes += len(batch.data)
        self.position = batch.next_offset
        self.epoch = batch.leader_epoch

    def pop(self) -> None:
        """The first batch is handed over."""
        batch, _ = self.batches.popleft()
        self.bytes -= len(batch.data)
        self.next_offset = batch.next_offset


def ask_for(
    connection: BrokerConnection,
    questions: Mapping[TopicPartition, FetchedPartition],
    limits: FetchLimits,
    answered: Callable[[FetchResponse], None],
) -> None:
    """Asks for what follows of these partitions. A broker fills its answer in their order, each partition up to its share."""
    connection.send(_fetch_request(questions, limits), answered, fetch_response)


def has_moved(code: int) -> bool:
    """Whether an error code of a partition says that another broker leads it now."""
    return code in _MOVED


def _fetch_request(questions: Mapping[TopicPartition, FetchedPartition], limits: FetchLimits) -> FetchRequest:
    topics: dict[str, list[Any]] = {}
    share = min(limits.partition_bytes, max(_LEAST_SHARE, limits.max_bytes // len(questions)))
    for tp, fetched in questions.items():
        topics.setdefault(tp.topic, []).append(
            FetchRequest.FetchTopic.FetchPartition(
                partition=tp.partition,
                current_leader_epoch=fetched.leader.epoch,
                fetch_offset=fetched.position,
                last_fetched_epoch=fetched.epoch,
                log_start_offset=-1,
                partition_max_bytes=share,
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
