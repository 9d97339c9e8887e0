"""What brokers answer about a whole cluster, read without an object for every level: metadata from version 10 on, offsets from 6 on.

A plan and every lane ask for thousands of partitions, and kafka-python's schemas take ten times as long for each of them. They read what
brokers before Kafka 2.8 answer. What these functions cannot read raises ValueError.
"""

import struct
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any, NamedTuple

from kafka.protocol.consumer import ListOffsetsRequest

from kafka_mirror.formats.batches.varint import read_length, varint
from kafka_mirror.formats.offsets.partition import NO_TOPIC_ID, TopicPartition
from kafka_mirror.kafka.model import Partition, Topic

METADATA, METADATA_OLDEST, METADATA_WITH_IDS, METADATA_NEWEST = 3, 7, 10, 12
LIST_OFFSETS, LIST_OFFSETS_OLDEST, LIST_OFFSETS_FLEXIBLE, LIST_OFFSETS_NEWEST = 2, 4, 6, 9
"""The requests' keys, and the versions that are spoken: the oldest from Kafka 2.1 on, and those from 2.8 on, which are read here."""
EARLIEST, LATEST = -2, -1
"""What ListOffsets is asked for: the log's start, and its end."""

_NO_TAGS = 0
_INT32 = struct.Struct(">i")
_REPLICA_AND_ISOLATION = struct.Struct(">ib")
_QUESTION = struct.Struct(">iiqB")
"""Partition, leader epoch, timestamp, no tags."""
_OFFSET = struct.Struct(">ihqqiB")
"""Partition, error code, timestamp, offset, leader epoch, no tags."""
_TOPIC_ID_BYTES = 16
_UNTOLD = -(2**31)
"""What a broker says we may do when it does not tell."""
_REPLICAS_AT = 14
"""In a partition's metadata, after its error code, number, leader and leader epoch."""
_LAST_WITH_RIGHTS = 10
"""Up to this version metadata ends with what we may do with the cluster, whether that is asked or not."""
_LONGEST_SHORT = 127
"""Up to here a length takes one byte."""
_LEAST_PARTITION = 18
"""How many bytes a partition's metadata have when all its lists are empty."""
_SHAPES = 256
"""How many combinations of lengths are remembered. A broker chooses them."""


Row = tuple[int, ...]


@dataclass(frozen=True)
class DescribedTopic:
    """A topic in a broker's metadata. Its partitions are read when somebody asks for them: mostly the topic's id is all that is wanted."""

    name: str
    id: str
    error_code: int
    is_internal: bool
    _rows: Callable[[], Iterable[Row]]
    _operations: int = _UNTOLD

    def permits(self, operation: int) -> bool:
        """Whether we may do it, by Kafka's number of an operation of ACLs, as far as the broker tells."""
        return self._operations in (_UNTOLD, 0) or bool(self._operations >> operation & 1)

    @property
    def topic(self) -> Topic:
        """The topic with its partitions, in the order of their numbers."""
        return Topic(self.name, self.id, tuple(sorted(map(_partition_of, self._rows()))))

    @cached_property
    def leaders(self) -> dict[int, tuple[int, int]]:
        """By partition who leads it (-1: none does), and in which leader epoch."""
        return {number: (leader, epoch) for _, number, leader, epoch, *_ in self._rows()}


class Metadata(NamedTuple):
    """A broker's view of its cluster. `brokers`: host and port by node id."""

    throttle_time_ms: int
    brokers: dict[int, tuple[str, int]]
    cluster_id: str
    topics: list[DescribedTopic]


class ListedOffset(NamedTuple):
    """What a leader says of one partition, if `error_code` is 0."""

    error_code: int
    offset: int
    leader_epoch: int


class ListedOffsets(NamedTuple):
    """What a leader says of the partitions that it was asked for."""

    throttle_time_ms: int
    partitions: dict[TopicPartition, ListedOffset]


def metadata(body: memoryview, version: int) -> Metadata:
    """Reads an answer to a metadata request."""
    try:
        return _metadata(body, version)
    except (IndexError, struct.error) as failure:
        raise ValueError(f"metadata is cut off: {failure}") from failure


def _metadata(body: memoryview, version: int) -> Metadata:
    (throttle,), at = _INT32.unpack_from(body, 0), _INT32.size
    count, at = _count(body, at)
    brokers: dict[int, tuple[str, int]] = {}
    for _ in range(count):
        (node,) = _INT32.unpack_from(body, at)
        host, at = _text(body, at + _INT32.size)
        (port,) = _INT32.unpack_from(body, at)
        _, at = _text(body, at + _INT32.size)
        brokers[node] = (host, port)
        at = _skip_tags(body, at)
    cluster_id, at = _text(body, at)
    count, at = _count(body, at + _INT32.size)
    topics: list[DescribedTopic] = []
    for _ in range(count):
        topic, at = _read_topic(body, at)
        topics.append(topic)
    if version <= _LAST_WITH_RIGHTS:
        at += _INT32.size
    if _skip_tags(body, at) != len(body):
        raise ValueError("metadata is followed by unknown bytes")
    return Metadata(throttle, brokers, cluster_id, topics)


def older_metadata(answer: Any) -> Metadata:
    """Metadata from an answer that kafka-python's schema has read, of a broker before Kafka 2.8."""
    brokers = {int(broker.node_id): (str(broker.host), int(broker.port)) for broker in answer.brokers}
    topics = [
        DescribedTopic(
            str(topic.name),
            NO_TOPIC_ID,
            int(topic.error_code),
            bool(topic.is_internal),
            partial(tuple, [_row(partition) for partition in topic.partitions]),
            _UNTOLD if topic.authorized_operations is None else sum(1 << number for number in topic.authorized_operations),
        )
        for topic in answer.topics
    ]
    return Metadata(int(answer.throttle_time_ms), brokers, str(answer.cluster_id or ""), topics)


def _row(partition: Any) -> Row:
    lists = (partition.replica_nodes, partition.isr_nodes, partition.offline_replicas or ())
    lengths = [number for nodes in lists for number in (len(nodes) + 1, *nodes)]
    return (partition.error_code, partition.partition_index, partition.leader_id, partition.leader_epoch, *lengths, _NO_TAGS)


def offsets_request(leaders: Mapping[TopicPartition, int], timestamp: int, committed: bool) -> bytes:
    """Asks for an offset of each partition, which is led in this epoch."""
    by_topic: dict[str, list[bytes]] = {}
    for (topic, partition), epoch in leaders.items():
        by_topic.setdefault(topic, []).append(_QUESTION.pack(partition, epoch, timestamp, _NO_TAGS))
    parts = [_REPLICA_AND_ISOLATION.pack(-1, committed), _length(len(by_topic))]
    for topic, questions in by_topic.items():
        name = topic.encode()
        parts += (_length(len(name)), name, _length(len(questions)), *questions, bytes([_NO_TAGS]))
    parts.append(bytes([_NO_TAGS]))
    return b"".join(parts)


def listed_offsets(body: memoryview) -> ListedOffsets:
    """Reads an answer to such a request."""
    try:
        return _read_offsets(body)
    except (IndexError, struct.error) as failure:
        raise ValueError(f"offsets are cut off: {failure}") from failure


def older_offsets_request(version: int, leaders: Mapping[TopicPartition, int], timestamp: int, committed: bool) -> Any:
    """Asks a broker before Kafka 2.8 for an offset of each partition, by kafka-python's schema."""
    of_topic = ListOffsetsRequest.ListOffsetsTopic
    of_partition = of_topic.ListOffsetsPartition
    by_topic: dict[str, list[Any]] = {}
    for (topic, partition), epoch in leaders.items():
        question = of_partition(partition_index=partition, current_leader_epoch=epoch, timestamp=timestamp)
        by_topic.setdefault(topic, []).append(question)
    topics = [of_topic(name=topic, partitions=questions) for topic, questions in by_topic.items()]
    return ListOffsetsRequest(version=version, replica_id=-1, isolation_level=int(committed), topics=topics)


def older_offsets(answer: Any) -> dict[TopicPartition, ListedOffset]:
    """What a leader before Kafka 2.8 says of partitions."""
    return {
        TopicPartition(str(topic.name), int(row.partition_index)): ListedOffset(row.error_code, row.offset, row.leader_epoch)
        for topic in answer.topics
        for row in topic.partitions
    }


def _read_offsets(body: memoryview) -> ListedOffsets:
    (throttle,), at = _INT32.unpack_from(body, 0), _INT32.size
    count, at = _count(body, at)
    partitions: dict[TopicPartition, ListedOffset] = {}
    for _ in range(count):
        topic, at = _text(body, at)
        rows, at = _count(body, at, _OFFSET.size)
        end = at + rows * _OFFSET.size
        for partition, code, _, offset, epoch, tags in _OFFSET.iter_unpack(body[at:end]):
            if tags:
                raise ValueError("an offset has tags, and none are defined")
            partitions[TopicPartition(topic, partition)] = ListedOffset(code, offset, epoch)
        at = _skip_tags(body, end)
    if _skip_tags(body, at) != len(body):
        raise ValueError("offsets are followed by unknown bytes")
    return ListedOffsets(throttle, partitions)


# ---------------------------------------------------------------- inside


def _read_topic(body: memoryview, at: int) -> tuple[DescribedTopic, int]:
    code = int.from_bytes(body[at : at + 2], "big", signed=True)
    name, at = _text(body, at + 2)
    topic_id = urlsafe_b64encode(body[at : at + _TOPIC_ID_BYTES]).decode().rstrip("=")
    at += _TOPIC_ID_BYTES
    is_internal = bool(body[at])
    count, at = _count(body, at + 1, _LEAST_PARTITION)
    rows, at = _partitions(body, at, count)
    (operations,) = _INT32.unpack_from(body, at)
    return DescribedTopic(name, topic_id, code, is_internal, rows, operations), _skip_tags(body, at + _INT32.size)


def _partitions(body: memoryview, at: int, count: int) -> tuple[Callable[[], Iterable[Row]], int]:
    """How to read a topic's partitions, and the offset after them. Mostly all have equally many replicas, in sync and offline: then their
    lengths, a stride apart, are compared at once, and nothing else of them is read now."""
    if not count:
        return tuple, at
    shape, lengths = _shape(body, at)
    end = at + count * shape.size
    if end <= len(body) and all(bytes(body[at + place : end : shape.size]) == bytes([length]) * count for place, length in lengths):
        return partial(shape.iter_unpack, body[at:end]), end
    rows = []
    for _ in range(count):
        shape, _ = _shape(body, at)
        rows.append(shape.unpack_from(body, at))
        if rows[-1][-1] != _NO_TAGS:
            raise ValueError("a partition's metadata has tags, and none are defined")
        at += shape.size
    return lambda: rows, at


def _shape(body: memoryview, at: int) -> tuple[struct.Struct, tuple[tuple[int, int], ...]]:
    """A partition's metadata by the lengths of its three lists: how to read it, and what stands where if another one is like it."""
    replicas = _short(body[at + _REPLICAS_AT])
    in_sync_at = _REPLICAS_AT + 1 + _INT32.size * replicas
    in_sync = _short(body[at + in_sync_at])
    offline_at = in_sync_at + 1 + _INT32.size * in_sync
    offline = _short(body[at + offline_at])
    shape = _struct_of(replicas, in_sync, offline)
    places = ((_REPLICAS_AT, replicas + 1), (in_sync_at, in_sync + 1), (offline_at, offline + 1), (shape.size - 1, _NO_TAGS))
    return shape, places


@lru_cache(_SHAPES)
def _struct_of(replicas: int, in_sync: int, offline: int) -> struct.Struct:
    """A partition's metadata with three lists of node ids of these lengths, each after its length; at its end the number of tags."""
    return struct.Struct(f">hiiiB{replicas}iB{in_sync}iB{offline}iB")


def _partition_of(row: Row) -> Partition:
    _, number, leader, _, replicas_length, *lists = row
    replicas = replicas_length - 1
    in_sync = lists[replicas] - 1
    return Partition(number, leader if leader >= 0 else None, tuple(lists[:replicas]), tuple(lists[replicas + 1 : replicas + 1 + in_sync]))


def _short(length: int) -> int:
    if not 0 < length <= _LONGEST_SHORT:
        raise ValueError("a partition has no list of replicas, or more than a hundred of them")
    return length - 1


def _skip_tags(body: memoryview, at: int) -> int:
    if body[at] != _NO_TAGS:
        raise ValueError("an answer has tags, and none are defined")
    return at + 1


def _text(body: memoryview, at: int) -> tuple[str, int]:
    """A text, '' for null, and the offset after it."""
    length, at = read_length(body, at)
    end = at + max(0, length)
    return str(body[at:end], "utf-8"), end


def _count(body: memoryview, at: int, least: int = 1) -> tuple[int, int]:
    """How many elements an array has that cannot be null, and where the first begins."""
    count, at = read_length(body, at, least)
    if count < 0:
        raise ValueError("an array is null that cannot be")
    return count, at


def _length(number: int) -> bytes:
    """How many elements follow."""
    return varint(number + 1)
