"""MirrorMaker 2 for one partition, in memory: copies, flushes its offset, emits syncs, dies, and starts again behind its offset."""

from dataclasses import dataclass, field
from random import Random

from hypothesis import strategies as st

from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.offset_sync_store import SyncPair
from kafka_mirror.migration.tail_match import (
    Ambiguous,
    Evidence,
    MoreSource,
    MoreTail,
    Position,
    RecordDigest,
    choose_tail_start,
    find_position,
)


@dataclass
class World:
    """Both logs. A target record is (offset, index of the source record, or None for somebody else's)."""

    source: list[RecordDigest] = field(default_factory=list)
    target: list[RecordDigest] = field(default_factory=list)
    pairs: list[SyncPair] = field(default_factory=list)
    syncs: list[SyncPair] = field(default_factory=list)
    stored: int | None = None
    source_start: int = 0
    target_start: int = 0
    target_end: int = 0
    next_index: int = 0
    last_index: int = -1
    life: int = 0
    """How many pairs there were when the worker started: it knows of none of them."""
    known: SyncPair | None = None
    compacted: bool = False

    @property
    def source_end(self) -> int:
        return self.source[-1].offset + 1 if self.source else 0

    def produce(self, random: Random, count: int, alike: bool = False, gaps: bool = True) -> None:
        for _ in range(count):
            offset = self.source_end + (random.choice([0, 0, 0, 1, 3]) if gaps else 0)
            self.source.append(RecordDigest(offset, b"same" if alike else b"%d" % random.getrandbits(60), 1000))

    def copy(self, count: int, marker: bool = False) -> None:
        """Copies so many records; the first one of a life is written down as a sync by whoever wants to."""
        for record in self.source[self.next_index : self.next_index + count]:
            self.target.append(record._replace(offset=self.target_end))
            self.pairs.append(SyncPair(record.offset, self.target_end))
            self.target_end += 1
            self.last_index = self.next_index
            self.next_index += 1
        self.target_end += marker

    def flush(self) -> None:
        if len(self.pairs) > self.life:
            self.stored = self.pairs[-1].upstream

    def sync(self) -> None:
        if len(self.pairs) > self.life:
            self.syncs.append(self.pairs[-1])

    def start_again(self) -> None:
        """kill -9: back to the record behind the offset that was kept."""
        self.life = len(self.pairs)
        self.next_index = sum(record.offset <= self.stored for record in self.source) if self.stored is not None else 0

    def foreign(self, content: bytes = b"foreign") -> None:
        self.target.append(RecordDigest(self.target_end, content, 1000))
        self.target_end += 1

    @property
    def watermark(self) -> int:
        return self.source[self.last_index].offset + 1 if self.last_index >= 0 else 0


def found(world: World, window: int = 4) -> Position | Ambiguous:
    """The position as reading step by step finds it."""
    sync = world.syncs[-1] if world.syncs else None
    first = max(0 if world.stored is None else min(world.stored, sync.upstream if sync else world.stored), world.source_start)
    places = [each.downstream for each in (sync, world.known) if each is not None]
    source_read, records = first + window, window
    while True:
        begin = choose_tail_start(places, world.target_start, world.target_end, records)
        evidence = Evidence(
            tp=TopicPartition("orders", 0),
            remote=TopicPartition("east.orders", 0),
            stored=world.stored,
            source=[record for record in world.source if first <= record.offset < source_read and record.offset >= world.source_start],
            source_start=world.source_start,
            source_end=world.source_end,
            source_read=min(source_read, world.source_end),
            tail=[record for record in world.target if record.offset >= begin],
            tail_start=begin,
            target_start=world.target_start,
            target_end=world.target_end,
            syncs=tuple(world.syncs),
            copied=world.known,
            compacted=world.compacted,
        )
        try:
            return find_position(evidence)
        except MoreSource:
            assert source_read < world.source_end
            source_read *= 2
        except MoreTail:
            assert begin > world.target_start
            places, records = [], records * 4


def lived(random: Random, steps: list[str]) -> World:
    """A world in which all of this happened."""
    world = World()
    world.produce(random, 5)
    for step in steps:
        match step:
            case "copy" | "marker":
                world.copy(random.randint(1, 4), step == "marker")
            case "flush":
                world.flush()
            case "sync":
                world.sync()
            case "kill":
                world.start_again()
            case "produce":
                world.produce(random, random.randint(1, 6))
    return world


STEPS = st.lists(st.sampled_from(["copy", "copy", "flush", "sync", "kill", "produce", "marker"]), min_size=1, max_size=40)
WORLDS = st.builds(lived, st.integers(0, 2**32).map(Random), STEPS)
