"""A consumer group of the demo that fails over: it reads on the source, stops, and goes on with the same name on the target."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from confluent_kafka import Consumer, Message

from kafka_mirror.config import Flow
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.group_translation import GroupOffset
from kafka_mirror.groups.translation import EXACT
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.groups import Groups
from kafka_mirror.kafka.model import Committed
from kafka_mirror.status.snapshot_groups import group_position
from services.demo.settings import DemoFailed
from services.demo.verify import Ledger, read_ledger, watermark

GROUP, TOPIC = "billing", "payments"
_SECONDS = 240.0
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
    """Lets the group read up to now on the source, waits until its offsets are synced, and lets it go on on the target.

    Compares what it read on both sides with the remote topic, record by record. Raises DemoFailed when its offsets are not synced in time.
    """
    source, target = flow.find_bootstrap("source"), flow.find_bootstrap("target")
    before = _read(source, GROUP, TOPIC, until=time.time())
    _await_sync(flow, wait)
    after = _read(target, GROUP, remote)
    whole = _read(target, f"{GROUP}-check", remote)
    return compare_reads(before, after, whole)


def compare_reads(before: Sequence[Record], after: Sequence[Record], whole: Sequence[Record]) -> FailedOver:
    """Compares what was read of each partition, before and after, with the whole partition up to the last record read."""
    lost = twice = 0
    for partition in {record[0] for record in whole}:
        read = [record for part in (before, after) for record in part if record[0] == partition]
        there = [record for record in whole if record[0] == partition]
        there = there[: there.index(read[-1]) + 1] if read and read[-1] in there else there
        twice += len(read) - len(set(read))
        lost += len(set(there) - set(read))
    return FailedOver(len(before), len(after), lost, twice)


def _read(bootstrap: str, group: str, topic: str, until: float | None = None) -> list[Record]:
    """Reads as a member of the group, and commits: until a record is later than a time (Unix seconds), else until none comes any more."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False})
    records: list[Record] = []
    try:
        consumer.subscribe([topic])
        quiet = deadline = time.monotonic() + _SECONDS
        while time.monotonic() < min(quiet, deadline) and not (records and until and records[-1][1] > until * 1000):
            messages = [message for message in consumer.consume(500, 0.5) if message.error() is None]
            records += map(_record, messages)
            if messages:
                quiet = time.monotonic() + _QUIET_SECONDS
        if records:
            consumer.commit(asynchronous=False)
    finally:
        consumer.close()
    return records


def _record(message: Message) -> Record:
    key, value = message.key(), message.value()
    return (message.partition() or 0, message.timestamp()[1], key if isinstance(key, bytes) else None, value)


def _await_sync(flow: Flow, wait: Callable[[str], None]) -> None:
    """Waits until the group's position on the target is the exact translation of that on the source: the copy has passed it, and the DAG
    has committed it."""
    deadline, settings = time.monotonic() + _SECONDS, flow.client("target", "admin")
    while True:
        ledger = read_ledger(flow)
        positions = group_position(flow, GROUP).offsets
        with Cluster(flow.target, settings, 30.0) as target:
            synced = Groups(target).read_committed([GROUP], {}).get(GROUP, {})
        waiting = find_unsynced(positions, ledger, synced)
        if positions and not waiting:
            return
        if time.monotonic() > deadline:
            raise DemoFailed(
                f"{flow.dag_id('group-offsets')} did not bring {GROUP} to its place on the target in {_SECONDS:g} s: {waiting}"
            )
        wait(f"{len(waiting)} of {len(positions)} partitions of {GROUP} have yet to be synced by {flow.dag_id('group-offsets')}")
        time.sleep(1)


def find_unsynced(positions: Sequence[GroupOffset], ledger: Ledger, synced: Mapping[TopicPartition, Committed]) -> list[GroupOffset]:
    """The positions that have no exact translation yet, or one that is not committed on the target.

    A position that the copy has not passed counts too: its translation is the copy's end until then, and the group would read again what
    comes next.
    """

    def is_synced(position: GroupOffset) -> bool:
        is_copied = position.committed.offset <= watermark(ledger, position.source)
        on_target = synced.get(position.remote)
        is_exact = position.translated.kind == EXACT
        return is_copied and is_exact and on_target is not None and on_target.offset == position.translated.target

    return [position for position in positions if not is_synced(position)]
