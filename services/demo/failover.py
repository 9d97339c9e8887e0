"""A consumer group of the demo that fails over: it reads on the source, stops, and goes on with the same name on the target."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from confluent_kafka import Consumer, Message

from mirror.config import Flow
from mirror.kafka.closing import close
from mirror.kafka.cluster import Cluster
from mirror.kafka.groups import Groups
from mirror.offsets.partition import TopicPartition
from services.demo.settings import DemoFailed

GROUP, TOPIC = "billing", "payments"
READ_ON_SOURCE = 3000
_SECONDS = 90.0
_QUIET_SECONDS = 3.0

Record = tuple[int, int, bytes | None, bytes | None]
"""Partition, timestamp, key, value."""


@dataclass(frozen=True)
class FailedOver:
    """How many records the group read on each side, how many of the remote topic it missed, and how many it read twice."""

    before: int
    after: int
    lost: int
    twice: int


def fail_over(flow: Flow, remote: str, wait: Callable[[str], None]) -> FailedOver:
    """Lets the group read a part on the source, waits until its offsets are synced, and lets it go on on the target.

    What it read on both sides together is held against the remote topic, record by record. Raises DemoFailed when nobody syncs.
    """
    source, target = flow.bootstrap("source"), flow.bootstrap("target")
    before = _read(source, GROUP, TOPIC, READ_ON_SOURCE)
    _await_synced(flow, remote, {tp: at for tp, at in _committed(flow, "source").items() if tp.topic == TOPIC}, wait)
    after = _read(target, GROUP, remote)
    whole = _read(target, f"{GROUP}-check", remote)
    return compared(before, after, whole)


def compared(before: Sequence[Record], after: Sequence[Record], whole: Sequence[Record]) -> FailedOver:
    """What was read of each partition, before and after, beside as much of the whole partition."""
    lost = twice = 0
    for partition in {each[0] for each in whole}:
        read = [each for part in (before, after) for each in part if each[0] == partition]
        there = [each for each in whole if each[0] == partition]
        there = there[: there.index(read[-1]) + 1] if read and read[-1] in there else there
        twice += len(read) - len(set(read))
        lost += len(set(there) - set(read))
    return FailedOver(len(before), len(after), lost, twice)


def _read(bootstrap: str, group: str, topic: str, at_most: int | None = None) -> list[Record]:
    """Reads as a member of the group and commits; without a number until nothing comes any more."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False})
    found: list[Record] = []
    try:
        consumer.subscribe([topic])
        quiet = deadline = time.monotonic() + _SECONDS
        while (at_most is None or len(found) < at_most) and time.monotonic() < min(quiet, deadline):
            messages = [each for each in consumer.consume(500, 0.5) if each.error() is None]
            found += map(_record, messages)
            if messages:
                quiet = time.monotonic() + _QUIET_SECONDS
        if found:
            consumer.commit(asynchronous=False)
    finally:
        close(consumer)
    return found


def _record(message: Message) -> Record:
    key, value = message.key(), message.value()
    return (message.partition() or 0, message.timestamp()[1], key if isinstance(key, bytes) else None, value)


def _committed(flow: Flow, side: Literal["source", "target"]) -> dict[TopicPartition, int]:
    settings = flow.client(side, "admin")
    with Cluster(side, settings, 30.0) as cluster, Groups(cluster, settings) as groups:
        found = groups.committed([GROUP], {})
    return {tp: each.offset for tp, each in found.get(GROUP, {}).items()}


def _await_synced(flow: Flow, remote: str, read: Mapping[TopicPartition, int], wait: Callable[[str], None]) -> None:
    """Until the group has a position on the target for each partition that it read of."""
    deadline = time.monotonic() + _SECONDS
    while missing := [tp for tp in read if tp._replace(topic=remote) not in _committed(flow, "target")]:
        if time.monotonic() > deadline:
            dag = flow.dag_id("group-offsets")
            raise DemoFailed(f"{dag} committed nothing for the group {GROUP} on {missing[0]} in {_SECONDS:g} s.")
        wait(f"{flow.dag_id('group-offsets')} has yet to commit {len(missing)} of {len(read)} partitions of {GROUP}")
        time.sleep(1)
