"""Consumer groups for tests: members that read and commit, and positions that are set without any member."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from confluent_kafka import Consumer, Message

from kafka_mirror.errors import MirrorError
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.groups import Groups
from kafka_mirror.kafka.model import Committed
from services.waiting import PATIENCE


@contextmanager
def groups_of(bootstrap: str) -> Iterator[Groups]:
    settings = {"bootstrap.servers": bootstrap}
    with Cluster("tests", settings, PATIENCE) as cluster:
        yield Groups(cluster)


def set_offsets(bootstrap: str, group: str, offsets: Mapping[tuple[str, int], int], metadata: str = "") -> None:
    """Commits for a group without members, as kafka-consumer-groups --reset-offsets does."""
    with groups_of(bootstrap) as groups:
        errors: dict[str, MirrorError] = {}
        refused = groups.commit({group: {TopicPartition(*tp): Committed(at, metadata) for tp, at in offsets.items()}}, errors)
    assert (refused, errors) == ({group: {}}, {})


def read_offsets(bootstrap: str, group: str) -> dict[TopicPartition, int]:
    with groups_of(bootstrap) as groups:
        errors: dict[str, MirrorError] = {}
        offsets = groups.read_committed([group], errors)[group]
    assert not errors
    return {tp: position.offset for tp, position in offsets.items()}


@dataclass
class Member:
    """A consumer in a group, and the records that came while it waited for its partitions."""

    consumer: Consumer
    waiting: list[Message] = field(default_factory=list)


@contextmanager
def member(bootstrap: str, group: str, topic: str, protocol: str = "classic") -> Iterator[Member]:
    """Gives a member of the group that has its partitions, or at least one of them; it leaves at the end of the block."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 20,
        }
    )
    joined = Member(consumer)
    try:
        consumer.subscribe([topic])
        deadline = time.monotonic() + PATIENCE
        while not consumer.assignment():
            assert time.monotonic() < deadline, "no partition was assigned"
            joined.waiting += consumer.consume(1, 0.05)
        yield joined
    finally:
        consumer.close()


def read(member: Member, count: int) -> list[tuple[str | None, int | None, int | None]]:
    """Reads and commits the next records of a member; gives topic, partition and offset of each."""
    records: list[tuple[str | None, int | None, int | None]] = []
    deadline = time.monotonic() + PATIENCE
    while len(records) < count:
        assert time.monotonic() < deadline, f"only {len(records)} of {count} records came"
        messages, member.waiting = member.waiting or member.consumer.consume(count - len(records), 0.1), []
        for message in messages:
            assert message.error() is None, message.error()
            records.append((message.topic(), message.partition(), message.offset()))
    member.consumer.commit(asynchronous=False)
    return records
