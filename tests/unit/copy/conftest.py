"""A target, a source, a ledger and an engine that live in memory and write down in which order they are asked."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pytest

from kafka_mirror.copy import follow_turn, lane, lane_preflight, lane_protocol
from kafka_mirror.copy.lane import LaneCopy
from kafka_mirror.copy.model import LaneResult, LaneTask, PartitionAssignment, PartitionProgress, TransactionLimits
from kafka_mirror.copy.plan.model import BEHIND, Range
from kafka_mirror.errors import AuthorizationRefused
from kafka_mirror.formats.offsets.map import OffsetMap, Run
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.model import Topic
from kafka_mirror.ledger.codec import decode, decode_key
from kafka_mirror.ledger.record import LedgerRecord, Writer
from kafka_mirror.ledger.topic import FencedLane
from tests.unit.copy.lane_tasks import LEDGER, make_lane_task
from tests.unit.copy.memory_cluster import QuietCluster

RECORD_BYTES = 100


@dataclass
class World:
    """Both clusters as the protocol sees them. `log` has every step in order; `happenings` are called, and may raise, before a step."""

    log: list[str] = field(default_factory=list)
    ledger: dict[TopicPartition, LedgerRecord] = field(default_factory=dict)
    ends: dict[TopicPartition, int] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    unwritable: set[str] = field(default_factory=set)
    hidden: set[str] = field(default_factory=set)
    """Topics that may not be described."""
    limits: list[TransactionLimits] = field(default_factory=list)
    happenings: dict[str, Callable[["MemoryEngine"], None]] = field(default_factory=dict)
    engines: int = 0
    committed: list[Run] = field(default_factory=list)
    """Which source offsets stand where on the target, each as often as it was copied."""
    starts: dict[TopicPartition, int] = field(default_factory=dict)
    """Where remote partitions begin; unless it is given, at their end: nothing of ours is left to be looked at."""
    ledger_end: int = 0
    note: LedgerRecord | None = None
    kept: dict[TopicPartition, int] = field(default_factory=dict)
    """In front of which offset the records of ours still stand."""

    def happens(self, step: str, engine: "MemoryEngine") -> None:
        self.log.append(step)
        if step in self.happenings:
            self.happenings[step](engine)


class MemoryCluster(QuietCluster):
    """The part of Cluster that a lane uses."""

    world: World

    def topic_id(self, name: str) -> str:
        return self.world.ids.get(name, super().topic_id(name))

    def topics(self, names: Iterable[str], errors: dict[str, Exception] | None = None, operation: str = "DESCRIBE") -> dict[str, Topic]:
        self.world.log.append(f"topics of {self.alias}")
        if operation == "WRITE" and errors is not None:
            errors.update({name: Exception(name) for name in names if name in self.world.unwritable})
        hidden = {
            name: AuthorizationRefused(self.alias, "DESCRIBE", f"topic {name}", topic=name) for name in self.world.hidden & set(names)
        }
        for error in hidden.values() if errors is None else ():
            raise error
        if errors is not None:
            errors.update(hidden)
        return super().topics([name for name in names if name not in hidden], errors, operation)

    def offsets(self, partitions: Iterable[TopicPartition], at: str, committed: bool = False, errors: object = None) -> dict[object, int]:
        ends = {tp: self.world.ends.get(tp, self.world.ledger_end if tp.topic == LEDGER else 0) for tp in partitions}
        return ends if at == "latest" else ends | {tp: start for tp, start in self.world.starts.items() if tp in ends}


class MemoryLedger:
    """The ledger of the lane."""

    world: World

    def __init__(self, topic: str, lanes: int, target: object, settings: object) -> None:
        pass

    def read_fenced(self, number: int) -> FencedLane:
        self.world.log.append("read the ledger")
        return FencedLane(dict(self.world.ledger), self.world.ledger_end, self.world.note)


@dataclass
class Found:
    """A record that was read."""

    offset: int


class MemoryReader:
    """Finds the records of ours that are left, and none that nobody knows of."""

    world: World

    def __init__(self, alias: str, settings: object) -> None:
        pass

    def first_visible(
        self, ranges: Mapping[TopicPartition, tuple[int, int]], seconds: float, errors: object, in_all: bool = True
    ) -> dict[TopicPartition, Found]:
        return {remote: Found(start) for remote, (start, end) in ranges.items() if start < min(end, self.world.kept.get(remote, 0))}

    def read(self, ranges: Mapping[TopicPartition, tuple[int, int]], seconds: float) -> Iterator[Found]:
        for remote, (start, end) in ranges.items():
            yield from (Found(offset) for offset in range(start, min(end, self.world.kept.get(remote, 0))))


class MemoryEngine:
    """Writes records of 100 bytes; what is not committed is gone when it is closed. Opening it is the fencing. Of markers it leaves only
    those between its own transactions."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.ends: dict[TopicPartition, int] = {}
        self.markers: set[TopicPartition] = set()
        self.records: dict[TopicPartition, LedgerRecord] = {}
        self.work: Sequence[PartitionAssignment] = ()
        self.runs: list[Run] = []
        world.engines += 1
        world.happens("fence", self)

    def copy(self, work: Sequence[PartitionAssignment], limits: TransactionLimits) -> list[PartitionProgress]:
        self.work = work
        self.world.limits.append(limits)
        self.world.happens("copy", self)
        left, done = limits.bytes, []
        for each in work:
            records = max(min(each.end - each.start, left // RECORD_BYTES, each.max_records or each.end), 0)
            if not records:
                continue
            left -= records * RECORD_BYTES
            remote = TopicPartition(each.remote, each.source.partition)
            first = self.world.ends.get(remote, 0) + (remote in self.markers)
            self.ends[remote] = first + records
            runs = (Run(each.start, first, records),)
            self.runs += runs
            done.append(PartitionProgress(each.source, each.start + records, 0, runs, records, records * RECORD_BYTES, first + records))
        return done

    def record(self, topic: str, partition: int, entries: Sequence[tuple[bytes, bytes]]) -> list[int]:
        self.world.happens("record", self)
        self.records |= {decode_key(key, "here"): decode(value, "here") for key, value in entries}
        first = self.world.ledger_end
        self.world.ledger_end += len(entries)
        return list(range(first, self.world.ledger_end))

    def commit(self) -> None:
        self.world.happens("commit", self)
        self.world.ends |= self.ends
        self.world.committed += self.runs
        self.runs.clear()
        self.markers.update(self.ends)
        self.ends.clear()
        self.world.ledger_end += 1
        for tp, record in self.records.items():
            self.world.ledger.pop(tp, None)  # a ledger gives its records in the order in which they were written
            self.world.ledger[tp] = record

    def close(self) -> None:
        self.world.log.append("close")


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """What the lane of this test finds; no waiting between attempts."""
    made = World()
    for fake in (MemoryCluster, MemoryLedger, MemoryReader):
        monkeypatch.setattr(fake, "world", made, raising=False)
    monkeypatch.setattr(lane_protocol, "Cluster", MemoryCluster)
    monkeypatch.setattr(lane_protocol, "BatchEngine", lambda _task, _limit: MemoryEngine(made))
    monkeypatch.setattr(follow_turn, "Cluster", MemoryCluster)
    monkeypatch.setattr(lane_preflight, "Cluster", MemoryCluster)
    monkeypatch.setattr(lane_preflight, "Ledger", MemoryLedger)
    monkeypatch.setattr(lane_preflight, "BoundedReader", MemoryReader)
    monkeypatch.setattr(lane.time, "sleep", lambda _seconds: None)
    return made


@pytest.fixture
def lane_task() -> LaneTask:
    """Two topics of one partition each with 10 records to copy."""
    ranges = tuple(Range(topic, 0, f"id-{topic}", 0, 10, BEHIND) for topic in ("orders", "payments"))
    return make_lane_task(ranges=ranges)


@pytest.fixture
def copy(world: World, lane_task: LaneTask) -> Callable[..., LaneResult]:
    """Runs the lane; keyword arguments change its task."""

    def run(**changes: object) -> LaneResult:
        return LaneCopy(replace(lane_task, **changes)).run()

    return run


@pytest.fixture
def known(world: World, lane_task: LaneTask) -> Callable[..., LedgerRecord]:
    """Puts a record into the ledger: `known("orders", 4)` for four records copied so far."""

    def put(topic: str, copied: int, **changes: object) -> LedgerRecord:
        tp, remote = TopicPartition(topic, 0), lane_task.remote_topics[topic]
        writer = Writer("", "elsewhere", "", datetime.now(UTC))
        offsets = OffsetMap().with_runs((Run(0, 0, copied),))
        record = LedgerRecord(
            copied, 0, f"id-{topic}", remote, f"id-{remote}", copied, "E", "W", 1, offsets, writer, ((0, copied),), records=copied
        )
        world.ledger[tp] = replace(record, **changes)
        world.ends[TopicPartition(remote, 0)] = copied
        return world.ledger[tp]

    return put
