"""Reading the topics that MirrorMaker 2 keeps for itself and for others: offset syncs, checkpoints, heartbeats.

As MirrorMaker 2 reads them: partition 0 alone, from its beginning to its end as of now, uncommitted records included.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from confluent_kafka import Message

from mirror.errors import InternalRecordDamaged, MirrorError
from mirror.formats import checkpoint, heartbeat, offset_sync
from mirror.formats.checkpoint import Checkpoint
from mirror.formats.heartbeat import Heartbeat
from mirror.formats.offset_sync import OffsetSync
from mirror.kafka.cluster import Cluster
from mirror.kafka.failures import without_leader
from mirror.kafka.reading import BoundedReader
from mirror.offsets.partition import TopicPartition
from mirror.offsets.sync_store import Pair

READ_SECONDS = 60.0
_LEAST_STEP = 2000

Record = TypeVar("Record")
Decode = Callable[[bytes | None, bytes | None], Record]


@dataclass(frozen=True)
class TopicContent(Generic[Record]):
    """The records of a topic in their order, the newer of one key behind the older; and those that could not be read, which are left out
    of `records`: MirrorMaker 2 would fail at some of them."""

    records: tuple[Record, ...] = ()
    damaged: tuple[MirrorError, ...] = ()


def read_offset_syncs(cluster: Cluster, settings: Mapping[str, Any], topic: str) -> TopicContent[OffsetSync]:
    """All offset syncs of the topic; nothing if there is no such topic. `settings` are those of a consumer of the cluster.

    Raises what concerns the cluster or the topic: KafkaFailure without a leader, AuthorizationRefused, DeadlineExceeded …
    """
    return _read(cluster, settings, topic, offset_sync.decode)


def read_checkpoints(cluster: Cluster, settings: Mapping[str, Any], topic: str) -> TopicContent[Checkpoint]:
    """All checkpoints of the topic; otherwise as `read_offset_syncs`."""
    return _read(cluster, settings, topic, checkpoint.decode)


def read_heartbeats(cluster: Cluster, settings: Mapping[str, Any], topic: str) -> TopicContent[Heartbeat]:
    """All heartbeats of the topic, a mirrored one or not; otherwise as `read_offset_syncs`."""
    return _read(cluster, settings, topic, heartbeat.decode)


@dataclass(frozen=True)
class NewestSyncs:
    """The newest pair of each partition that was asked for and has one, the records that could not be read, and how many were read."""

    pairs: Mapping[TopicPartition, Pair]
    damaged: tuple[MirrorError, ...] = ()
    read: int = 0


def newest_offset_syncs(
    cluster: Cluster, settings: Mapping[str, Any], topic: str, partitions: Collection[TopicPartition]
) -> NewestSyncs | None:
    """The newest pair of each of these partitions; None if there is no such topic. Otherwise as `read_offset_syncs`.

    The topic is read backwards, in steps that get larger: what was written a moment ago stands at its end, and brokers may compact the
    rest only after a week.
    """
    end = end_of(cluster, topic)
    if end is None:
        return None
    wanted, pairs, read = set(partitions), dict[TopicPartition, Pair](), 0
    damaged: list[MirrorError] = []
    step = max(_LEAST_STEP, 4 * len(wanted))
    while wanted and end > 0:
        start = max(0, end - step)
        content = read_between(cluster, settings, topic, start, end, offset_sync.decode)
        found = {tp: Pair(sync.upstream, sync.downstream) for sync in content.records if (tp := _source_of(sync)) in wanted}
        pairs |= found
        wanted -= found.keys()
        damaged += content.damaged
        read += len(content.records)
        end, step = start, 8 * step
    return NewestSyncs(pairs, tuple(damaged), read)


def _source_of(sync: OffsetSync) -> TopicPartition:
    return TopicPartition(sync.topic, sync.partition)


def end_of(cluster: Cluster, topic: str) -> int | None:
    """The end of the topic's partition 0; None if there is no such topic. Raises as the readers do."""
    partition = TopicPartition(topic, 0)
    if topic not in cluster.topics([topic]):
        return None
    ends = cluster.offsets([partition], "latest")
    if partition not in ends:
        raise without_leader(partition, f"Cluster '{cluster.alias}': {partition} has no leader and cannot be read.", "the cluster's")
    return ends[partition]


def read_between(
    cluster: Cluster, settings: Mapping[str, Any], topic: str, start: int, end: int, decode: Decode[Record]
) -> TopicContent[Record]:
    """The records of partition 0 between two offsets."""
    records: list[Record] = []
    damaged: list[MirrorError] = []
    reader = BoundedReader(cluster.alias, settings, committed=False)
    for message in reader.read({TopicPartition(topic, 0): (start, end)}, READ_SECONDS):
        try:
            records.append(decode(_bytes(message.key()), _bytes(message.value())))
        except ValueError as failure:
            damaged.append(_damaged(message, failure))
    return TopicContent(tuple(records), tuple(damaged))


def _read(cluster: Cluster, settings: Mapping[str, Any], topic: str, decode: Decode[Record]) -> TopicContent[Record]:
    end = end_of(cluster, topic)
    return TopicContent() if end is None else read_between(cluster, settings, topic, 0, end, decode)


def _damaged(message: Message, failure: ValueError) -> InternalRecordDamaged:
    return InternalRecordDamaged(str(message.topic()), int(message.offset() or 0), str(failure))


def _bytes(data: Any) -> bytes | None:
    return None if data is None else bytes(data)
