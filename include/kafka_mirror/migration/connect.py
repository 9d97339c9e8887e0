"""MirrorMaker 2 as it stands on the target of a flow: its worker group, its transactional ids, and the offsets that Kafka Connect kept."""

import json
import operator
from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka_mirror.config import Flow
from kafka_mirror.errors import ConnectOffsetsMissing, ConnectOffsetsUnreadable, MirrorError, MirrorMakerRunning
from kafka_mirror.formats.batches.batch_records import ReadRecord
from kafka_mirror.formats.mm2 import SOURCE_CONNECTOR, OtherConnector, decode_offset, decode_source
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.groups import describe_groups
from kafka_mirror.kafka.polling import poll_until
from kafka_mirror.kafka.reader import BoundedReader
from kafka_mirror.kafka.transactions import fence

READ_SECONDS = 120.0
_MARKER_SECONDS = 10.0
_OTHER_CONNECTORS = ("MirrorCheckpointConnector", "MirrorHeartbeatConnector")


@dataclass(frozen=True)
class MirrorMaker:
    """How MirrorMaker 2's connector and its Connect cluster are called; in dedicated mode all follows from the flow."""

    connector: str
    group: str
    offsets_topic: str
    config_topic: str

    @classmethod
    def of(cls, flow: Flow, connector: str | None = None, offsets_topic: str | None = None, group: str | None = None) -> "MirrorMaker":
        """By the flow's configuration, as far as nothing else is said."""

        def resolve(name: str) -> str:
            return flow.references.resolve(flow.worker_settings[name])

        topic = offsets_topic or resolve("offset.storage.topic")
        return cls(connector or SOURCE_CONNECTOR, group or resolve("group.id"), topic, resolve("config.storage.topic"))


@dataclass(frozen=True)
class StoredOffsets:
    """The offset of the last record that was certainly mirrored, by source partition; None where it was removed."""

    offsets: Mapping[TopicPartition, int | None] = field(default_factory=dict)
    others: tuple[str, ...] = ()
    """Connectors with the clusters that the topic has other source offsets of."""
    unread: tuple[str, ...] = ()
    """Records whose keys MirrorMaker 2 could not find either: where, and what is wrong with them."""


def require_stopped(target: Cluster, maker: MirrorMaker) -> None:
    """Raises MirrorMakerRunning if a worker is a member of the group.

    A worker that hangs is no member any more, and without exactly-once support nothing can keep it from writing when it goes on.
    """
    refused: dict[str, MirrorError] = {}
    described = describe_groups(target, [maker.group], refused)
    for error in refused.values():
        raise error
    for group in described.values():
        if not group.is_gone:
            raise MirrorMakerRunning(maker.group, group.state, tuple(map(str, group.members)))


def fence_tasks(flow: Flow, target: Cluster, maker: MirrorMaker) -> list[str]:
    """Fences the transactional ids of the connector's tasks, as Connect's leader does it, and of the connectors beside it: as many as the
    config topic says that there are (KIP-618). Gives the ids; none without exactly-once support."""
    counts = _count_tasks(flow, target, maker.config_topic)
    names = (maker.connector, *(maker.connector.replace(SOURCE_CONNECTOR, other) for other in _OTHER_CONNECTORS))
    ids = [f"{maker.group}-{name}-{task}" for name in dict.fromkeys(names) for task in range(counts.get(name, 0))]
    fence(flow.target, flow.client("target", "producer"), ids, target.timeout)
    return ids


def read_stored_offsets(flow: Flow, target: Cluster, maker: MirrorMaker) -> StoredOffsets:
    """What Kafka Connect kept of the flow. Raises ConnectOffsetsUnreadable."""
    offsets: dict[TopicPartition, int | None] = {}
    others: set[str] = set()
    unread: list[str] = []
    for message in _read_records(flow, target, maker.offsets_topic):
        where = (maker.offsets_topic, message.partition.partition, message.offset)
        try:
            key = decode_source(message.key)
        except OtherConnector:
            continue  # it has offsets of its own, which are no business of ours
        except ValueError as failure:
            unread.append(f"{where[0]}-{where[1]}@{where[2]}: {failure}")
            continue
        if (key.connector, key.cluster) != (maker.connector, flow.source):
            others.add(f"'{key.connector}' for '{key.cluster}'")
            continue
        try:
            offsets[TopicPartition(key.topic, key.partition)] = decode_offset(message.value)
        except ValueError as failure:
            raise ConnectOffsetsUnreadable(*where, str(failure)) from failure
    return StoredOffsets(offsets, tuple(sorted(others)), tuple(unread))


def require_offsets(flow: Flow, maker: MirrorMaker, stored: StoredOffsets) -> None:
    """Raises ConnectOffsetsMissing if there are none of this flow."""
    if not any(offset is not None for offset in stored.offsets.values()):
        raise ConnectOffsetsMissing(maker.offsets_topic, maker.connector, flow.source, stored.others)


def _count_tasks(flow: Flow, target: Cluster, topic: str) -> dict[str, int]:
    """The largest number of tasks that the config topic names, by connector."""
    counts: dict[str, int] = {}
    prefix = b"tasks-fencing-"
    for message in _read_records(flow, target, topic):
        key, value = message.key or b"", message.value
        if key.startswith(prefix) and value is not None:
            name = key[len(prefix) :].decode()
            try:
                fields = json.loads(value)
                count = max((number for number in fields.values() if type(number) is int), default=0)
            except (ValueError, AttributeError) as failure:
                raise ConnectOffsetsUnreadable(topic, message.partition.partition, message.offset, str(failure)) from failure
            counts[name] = max(counts.get(name, 0), count)
    return counts


def _read_records(flow: Flow, target: Cluster, topic: str) -> list[ReadRecord]:
    """Every committed record of a topic of Connect's, partition by partition, in their order. None if there is no such topic.

    Raises ConnectOffsetsUnreadable if a transaction stays open in it: what it hides might be the newest offsets.
    """
    described = target.topics([topic]).get(topic)
    if described is None:
        return []
    partitions = [TopicPartition(topic, partition.number) for partition in described.partitions]
    ends = target.offsets(partitions, "latest")

    def find_hidden() -> list[tuple[TopicPartition, int]]:
        stable = target.offsets(partitions, "latest", committed=True)
        return [(tp, stable.get(tp, 0)) for tp in partitions if stable.get(tp, -1) < ends.get(tp, 0)]

    if still := poll_until(find_hidden, _MARKER_SECONDS, every=0.1, enough=operator.not_):
        tp, stable = still[0]
        raise ConnectOffsetsUnreadable(*tp, stable, "a transaction is open there, or the partition has no leader")
    reader = BoundedReader(flow.target, flow.client("target", "consumer"))
    read = reader.read({tp: (0, end) for tp, end in ends.items()}, READ_SECONDS)
    return sorted(read, key=lambda message: (message.partition, message.offset))
