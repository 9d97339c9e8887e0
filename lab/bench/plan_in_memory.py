"""A plan over very many partitions whose clusters are tables in memory: what the mirror's own part of it costs, without any network.

The ledger's records are decoded as they stand on the target, each with an offset map of twenty runs. «Idle» has nothing to copy, «busy» ten
records in every partition; a busy plan is packed as for XCom (which takes 1 MB), and becomes one task a lane as Spark gets it.
"""

import json
import pickle
import random
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar, cast

import psutil

from kafka_mirror.config import Flow, load
from kafka_mirror.config.policies import topic_selection
from kafka_mirror.copy.plan.model import Plan, to_columns
from kafka_mirror.copy.plan.planner import Planning
from kafka_mirror.copy.plan.run import order_ranges
from kafka_mirror.copy.run import lane_tasks
from kafka_mirror.formats.offsets.map import OffsetMap, Run
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster, TopicListing
from kafka_mirror.kafka.model import ConfigEntry, LogOffsets, LogPosition, Partition, Topic
from kafka_mirror.ledger.codec import decode, encode
from kafka_mirror.ledger.decisions import Decisions
from kafka_mirror.ledger.record import LastRecord, LedgerRecord, Writer
from kafka_mirror.ledger.topic import LedgerView
from lab.bench.results import append
from services.flows import ClusterPair

PARTITIONS = 50
SIZES, QUICK_SIZES = (10_000, 100_000), (1_000,)
LANES = 64
_RUNS, _RUN_RECORDS, _NEW = 20, 1_000, 10

Result = TypeVar("Result")


class MemoryCluster:
    """The part of `Cluster` that planning uses: every partition has a leader, and ends `new` offsets after its ledger's watermark."""

    def __init__(self, alias: str, names: Iterable[str], records: Mapping[TopicPartition, LedgerRecord], new: int) -> None:
        self.alias = alias
        self._names = list(names)
        self._records = records
        self._new = new

    def names(self) -> list[str]:
        """All topics."""
        return self._names

    def listing(self) -> TopicListing:
        """All topics, as metadata lists them."""
        return TopicListing(frozenset(self._names), {})

    def find_listed_topics(self, names: Iterable[str], errors: object = None) -> dict[str, Topic]:
        """Topics of the listing, as metadata describes them."""
        return self.topics(names)

    def topics(self, names: Iterable[str], errors: object = None) -> dict[str, Topic]:
        """Topics as metadata describes them."""
        there = set(self._names)
        partitions = tuple(Partition(number, 1, (1,), (1,)) for number in range(PARTITIONS))
        return {name: Topic(name, f"id-{name}", partitions) for name in names if name in there}

    def log_offsets(self, partitions: Iterable[TopicPartition], errors: object, committed: bool) -> dict[TopicPartition, LogOffsets]:
        """First and last offsets, as the leaders would answer."""
        ends = {tp: self._records[tp].watermark + self._new for tp in partitions}
        return {tp: LogOffsets(0, end, end, 0) for tp, end in ends.items()}

    def find_shared_ends(self, positions: Iterable[LogPosition], seconds: float) -> dict[LogPosition, int]:
        """The logs' ends: no log was ever cut off."""
        return {position: self._records[position.partition].watermark + self._new for position in positions}

    def configs(self, names: Collection[str], errors: object = None, entries: object = None) -> dict[str, dict[str, ConfigEntry]]:
        """The topics' configs: none differs from the defaults."""
        return {name: {} for name in names}


def encode_ledger(topics: Iterable[str]) -> list[tuple[TopicPartition, bytes]]:
    """The ledger's records as they stand on the target: all was copied up to the watermark."""
    numbers = random.Random(1)
    partitions = [TopicPartition(topic, number) for topic in topics for number in range(PARTITIONS)]
    return [(tp, encode(_record(tp, numbers.randrange(10**9), numbers.randrange(2_000)))) for tp in partitions]


def _record(tp: TopicPartition, first: int, size: int) -> LedgerRecord:
    runs = tuple(Run(first + number * _RUN_RECORDS, number * (_RUN_RECORDS + 1), _RUN_RECORDS) for number in range(_RUNS))
    watermark, records = first + _RUNS * _RUN_RECORDS, _RUNS * _RUN_RECORDS
    return LedgerRecord(
        watermark=watermark,
        leader_epoch=0,
        source_topic_id=f"id-{tp.topic}",
        target_topic=f"east.{tp.topic}",
        target_topic_id=f"id-east.{tp.topic}",
        target_next=runs[-1].target + runs[-1].length,
        source_cluster_id="east",
        target_cluster_id="west",
        lanes=LANES,
        offset_map=OffsetMap(runs),
        writer=Writer("", "bench", "scheduled__2026-11-23", datetime.now(UTC)),
        covered=((first, watermark),),
        records=records,
        bytes=records * size,
        last=LastRecord(0, 0, 0),
        start=first,
    )


def time_call(call: Callable[[], Result]) -> tuple[float, Result]:
    """CPU seconds of a call, and what it gives."""
    began = time.process_time()
    result = call()
    return time.process_time() - began, result


def make_plan(flow: Flow, topics: list[str], view: LedgerView, new: int) -> Plan:
    """A plan in which each source partition has `new` more records."""
    source = MemoryCluster(flow.source, topics, view.records, new)
    target = MemoryCluster(flow.target, [f"{flow.source}.{topic}" for topic in topics], {}, 0)
    planning = Planning(flow, cast(Cluster, source), cast(Cluster, target), view, Decisions(), topic_selection(flow), True, False, False)
    planning.run()
    if planning.errors:
        raise RuntimeError(f"The plan has errors: {planning.errors[0]}")
    ranges = order_ranges(planning.ranges, view.records, LANES, planning.now)
    return Plan(flow.name, ranges, config_hash=flow.config_hash)


def row(flow: Flow, partitions: int) -> tuple[str, ...]:
    """Measures one size."""
    topics = [f"topic-{number}" for number in range(partitions // PARTITIONS)]
    values = encode_ledger(topics)
    reading, records = time_call(lambda: {tp: decode(value, str(tp)) for tp, value in values})
    view = LedgerView(records)
    idle, idle_plan = time_call(lambda: make_plan(flow, topics, view, 0))
    busy, plan = time_call(lambda: make_plan(flow, topics, view, _NEW))
    if idle_plan.ranges or len(plan.ranges) != partitions:
        raise RuntimeError(f"{len(idle_plan.ranges)} and {len(plan.ranges)} ranges were planned, not 0 and {partitions}.")
    packing, packed = time_call(lambda: len(zlib.compress(json.dumps(to_columns(plan), separators=(",", ":")).encode())) / 1e6)
    tasks, pickled = time_call(lambda: [pickle.dumps(task) for task in lane_tasks(flow, plan)])
    ledger = sum(len(value) for _, value in values) / 1e6
    memory = psutil.Process().memory_info().rss / 1e6
    return (
        f"{partitions:,}",
        f"{reading:.2f} ({ledger:.0f} MB)",
        f"{idle:.2f}",
        f"{busy:.2f}",
        f"{packing:.2f} ({packed:.2f} MB)",
        f"{tasks:.2f} ({len(pickled)} × {max(map(len, pickled)) / 1e6:.2f} MB)",
        f"{memory:.0f}",
    )


def main(quick: bool = False) -> None:
    """Measures and appends to the log; `quick` tries it out and writes nothing."""
    with tempfile.TemporaryDirectory() as name:
        pair = ClusterPair("east", "west", "127.0.0.1:1", "127.0.0.1:1", "bench", Path(name))
        extra = {"source->target.mirror.lanes": str(LANES)}
        flow = load([pair.properties("topic-.*", extra)]).flow(pair.flow)
        rows = [row(flow, size) for size in (QUICK_SIZES if quick else SIZES)]
    columns = ("partitions", "ledger CPU s", "idle plan CPU s", "busy plan CPU s", "to XCom CPU s", "to tasks CPU s", "MB of the process")
    append("A plan over very many partitions, clusters in memory", columns, rows, write=not quick)


if __name__ == "__main__":
    main("--quick" in sys.argv)
