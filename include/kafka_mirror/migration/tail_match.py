"""How far MirrorMaker 2 came with a partition, by what stands at the end of the remote one, and the offset map that follows from it. Pure.

Kafka Connect's offset says which record was certainly mirrored. After a crash more of them are on the target than it knows of, and some may
be there twice, for a worker that starts again goes back to the record after that offset:

    source   … N │ N+1 N+2 N+3 N+4 N+5 …             N: the offset that Connect kept
    target   … N   N+1 N+2 N+3 │ N+1 N+2             a second start, after N; stopped for good after N+2
               └ a place that is known ┘ the tail: read, and followed record by record on the source

The tail is followed in every way that it can be read, from a place that is known on both sides: the newest offset sync, or the record N
itself. Every record of the tail must be the next one of the source, or the one after N where a worker started again. What the last one of
them is says where to go on. If a record is none of these, or if two readings are possible, nothing is guessed.

The offset map tells as much as offset syncs and the tail do: early where they are silent, never late.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_mirror.formats.offsets.map import OffsetMap, Run, runs_of
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.offset_sync_store import SyncPair

LONGEST = 1_000_000
"""How many records of either side are looked at before the end of a partition counts as not understood."""


class RecordDigest(NamedTuple):
    """A record as it is compared: its offset, a digest of key, value and headers, and its timestamp (None: not to be compared)."""

    offset: int
    content: bytes
    timestamp: int | None

    def is_like(self, copy: "RecordDigest") -> bool:
        """Whether the other one may be a copy of it."""
        if self.content != copy.content:
            return False
        return self.timestamp is None or copy.timestamp is None or self.timestamp == copy.timestamp


@dataclass(frozen=True)
class Mm2Partition:
    """A partition as MirrorMaker 2 left it."""

    tp: TopicPartition
    remote: TopicPartition
    stored: int | None
    """The offset that Kafka Connect kept: of the last record that was certainly mirrored. None if it kept none."""
    source_start: int
    """The log start of the source partition."""
    source_end: int
    """Where the source ends for a reader such as MirrorMaker 2's."""
    target_start: int
    """The log start of the remote partition."""
    target_end: int
    compacted: bool = False
    """Whether either side drops records in between."""
    syncs: tuple[SyncPair, ...] = ()
    copied: SyncPair | None = None
    """Where our own copy ended when the flow was handed back: the next source offset, and the next one of the target."""

    @property
    def sync(self) -> SyncPair | None:
        """The newest offset sync: a record that is on both sides."""
        return self.syncs[-1] if self.syncs else None

    @property
    def first(self) -> int:
        """The first source offset that must be read."""
        if self.stored is None:
            return self.source_start
        places = [self.stored, *([self.sync.upstream] if self.sync else []), *([self.copied.upstream] if self.copied else [])]
        return max(min(places), self.source_start)


@dataclass(frozen=True, kw_only=True)
class Evidence(Mm2Partition):
    """A partition with what was read of it. `source` and `tail` are visible records, without a hole from their first to their last."""

    source: Sequence[RecordDigest]
    source_read: int
    """Up to where `source` was read."""
    tail: Sequence[RecordDigest]
    tail_start: int
    """From where on the remote partition was read."""


@dataclass(frozen=True)
class Position:
    """Where to go on, and which target offsets the last source offsets became, as far as the tail shows them."""

    watermark: int
    pairs: tuple[SyncPair, ...] = field(default=())


@dataclass(frozen=True)
class Ambiguous:
    """Nothing is known for certain: from which target offset on, and why."""

    target: int
    why: str


class MoreSource(Exception):
    """Raised when the source must be read further."""


class MoreTail(Exception):
    """Raised when the remote partition must be read from further in front."""


def find_index(records: Sequence[RecordDigest], offset: int) -> int:
    """The index of the first record at an offset or after it."""
    return bisect_left(records, offset, key=lambda record: record.offset)


def find_record(records: Sequence[RecordDigest], offset: int) -> RecordDigest | None:
    """Returns the record with this offset, None if there is none."""
    at = find_index(records, offset)
    return records[at] if at < len(records) and records[at].offset == offset else None


class Readings:
    """All readings of the tail that are possible so far: for each, the index of the source record that has to come next."""

    def __init__(
        self,
        evidence: Evidence,
        restart: int,
        *,
        seed: RecordDigest | None = None,
        start: int | None = None,
        first: tuple[SyncPair, ...] = (),
    ) -> None:
        """`restart`: the source offset at which a worker begins that starts again. `seed`: the record in front of it; where that stands in
        the tail, a reading may begin. `start`: the index of the source record that must be the first of the tail; `first`: the pair
        right in front of it."""
        self._evidence = evidence
        self._source = evidence.source
        self._restart_offset = restart
        self._restart = find_index(evidence.source, restart)
        self._seed = seed
        self._expected: dict[int, int] = {} if start is None else {start: -1}
        """Index of the next source record -> with which record of the tail the reading began, or a worker started again last; −1: with
        the first one, which follows what was known before."""
        self._first = first
        self._offsets: list[int] = []

    def follow(self, tail: Sequence[RecordDigest], watermark: int) -> Position | Ambiguous:
        """Reads the tail to its end. `watermark`: where to go on if it is empty."""
        lost = tail[0].offset if tail else self._evidence.target_end
        for record in tail:
            following = self._find_following(record)
            if not following and self._expected:
                lost = record.offset
                if self._seed is None:
                    return Ambiguous(lost, f"the record at {lost} is not the next one of the source.")
            self._expected = following
            self._offsets.append(record.offset)
        if not self._expected:
            return Ambiguous(lost, f"the record at {lost} is not the next one of the source.")
        if len(self._expected) > 1:
            readings = ", ".join(str(self._source[index - 1].offset) for index in sorted(self._expected)[:5])
            return Ambiguous(tail[-1].offset, f"its last record may be any of the source's records {readings}, which are alike.")
        ((index, begun),) = self._expected.items()
        if index < self._restart:
            return Ambiguous(self._evidence.target_end, "it ends in front of the offset that was kept.")
        pairs = self._make_pairs(index, begun)
        return Position(max(pairs[-1].upstream + 1 if pairs else watermark, self._restart_offset), pairs)

    def _find_following(self, record: RecordDigest) -> dict[int, int]:
        following = {index + 1: begun for index, begun in self._expected.items() if self._is_alike(index, record)}
        number = len(self._offsets)
        if any(index > self._restart for index in self._expected) and self._is_alike(self._restart, record):
            following.setdefault(self._restart + 1, number)
        if self._seed is not None and self._seed.is_like(record):
            following.setdefault(self._restart, number)
        return following

    def _is_alike(self, index: int, record: RecordDigest) -> bool:
        if index < len(self._source):
            return self._source[index].is_like(record)
        if self._evidence.source_read < self._evidence.source_end and len(self._source) < LONGEST:
            raise MoreSource
        return False

    def _make_pairs(self, index: int, begun: int) -> tuple[SyncPair, ...]:
        """The pairs of the reading that ends in front of this source record, back to where it began or a worker started again."""
        offsets = self._offsets[max(begun, 0) :]
        sources = self._source[index - len(offsets) : index]
        pairs = tuple(SyncPair(record.offset, offset) for record, offset in zip(sources, offsets, strict=True))
        return pairs if begun >= 0 else (*self._first, *pairs)


def find_position(evidence: Evidence) -> Position | Ambiguous:
    """Where to go on with the partition. Raises MoreSource or MoreTail when what was read is not enough to say it."""
    restart = evidence.source_start if evidence.stored is None else evidence.stored + 1
    if not evidence.tail and evidence.tail_start <= evidence.target_start:
        # Nothing that can be read would be copied a second time; nor is what we copied, where Connect does not know of it.
        return Position(max(restart, evidence.copied.upstream if evidence.copied else 0))
    contradiction = _find_contradiction(evidence)
    if contradiction is not None:
        return contradiction
    answer = _place_by_sync(evidence, restart)
    if answer is None or isinstance(answer, Ambiguous):
        other = _place_by_stored(evidence, restart)
        answer = other if answer is None or isinstance(other, Position) else answer
    if isinstance(answer, Ambiguous) and evidence.compacted:
        last = _find_last_record(evidence)
        return last if isinstance(last, Position) else answer
    return answer


def choose_tail_start(places: Sequence[int], target_start: int, target_end: int, records: int) -> int:
    """From where on to read the remote partition: the last of the places that are known if it is near enough, else a fixed number of
    offsets in front of the end."""
    place = max(places, default=-1)
    if target_start <= place and target_end - place <= LONGEST:
        return place
    return max(target_start, target_end - records)


# ------------------------------------------------------------ from a known place on


def _place_by_sync(evidence: Evidence, restart: int) -> Position | Ambiguous | None:
    """Follows the tail from the last place that syncs or our own ledger tell of. None if there is none in what was read."""
    sync, copied, tail = evidence.sync, evidence.copied, evidence.tail
    if copied is not None and (sync is None or sync.downstream < copied.downstream):
        if copied.downstream < evidence.tail_start or copied.upstream < evidence.source_start:
            return None
        readings = Readings(evidence, restart, start=find_index(evidence.source, copied.upstream))
        return readings.follow(tail[find_index(tail, copied.downstream) :], copied.upstream)
    if sync is None or sync.downstream < evidence.tail_start or sync.upstream < evidence.source_start - 1:
        return None
    if find_record(tail, sync.downstream) is None:
        return None  # it is gone from the target
    readings = Readings(evidence, restart, start=find_index(evidence.source, sync.upstream + 1), first=(sync,))
    return readings.follow(tail[find_index(tail, sync.downstream + 1) :], sync.upstream + 1)


def _find_contradiction(evidence: Evidence) -> Ambiguous | None:
    """Whether the newest sync pairs two records that are not alike: then no sync is worth anything, and a topic may be another one."""
    sync = evidence.sync
    if sync is None:
        return None
    source, target = find_record(evidence.source, sync.upstream), find_record(evidence.tail, sync.downstream)
    if source is None or target is None or source.is_like(target):
        return None
    return Ambiguous(
        sync.downstream, f"the newest offset sync calls its record {sync.downstream} a copy of {sync.upstream}, which it is not."
    )


def _place_by_stored(evidence: Evidence, restart: int) -> Position | Ambiguous:
    """Follows the tail from where the record stands whose offset Connect kept; from the source's beginning if it kept none."""
    tail = evidence.tail
    if evidence.stored is None:
        if evidence.tail_start > evidence.target_start:
            return _read_further(evidence, "too much stands in it, and nothing says where it begins.")
        return Readings(evidence, restart, start=0).follow(tail, restart)
    stored = find_record(evidence.source, evidence.stored)
    if stored is None:
        if evidence.source_read < min(restart, evidence.source_end):
            raise MoreSource
        if evidence.source_end <= restart:
            return Position(restart)  # the source has nothing after it, so nothing else can have been mirrored
        return Ambiguous(evidence.tail_start, f"the source does not have the record {evidence.stored} any more.")
    if not any(stored.is_like(record) for record in tail):
        return _read_further(evidence, f"the source's record {evidence.stored} is not in it.")
    return Readings(evidence, restart, seed=stored).follow(tail, restart)


def _read_further(evidence: Evidence, otherwise: str) -> Ambiguous:
    """Asks for more of the tail, as long as there is more that may be asked for."""
    if evidence.tail_start > evidence.target_start and len(evidence.tail) < LONGEST:
        raise MoreTail
    return Ambiguous(evidence.tail_start, otherwise)


def _find_last_record(evidence: Evidence) -> Position | Ambiguous:
    """Where records are dropped in between, the last one alone tells; a log keeps its last record."""
    last, stored = evidence.tail[-1], -1 if evidence.stored is None else evidence.stored
    if evidence.sync is not None and evidence.sync.downstream == last.offset:
        return Position(max(evidence.sync.upstream, stored) + 1, (evidence.sync,))
    if evidence.source_read < evidence.source_end:
        if len(evidence.source) >= LONGEST:
            return Ambiguous(last.offset, "too much stands on the source after the offset that was kept.")
        raise MoreSource
    alike = [record for record in evidence.source if record.offset >= stored and record.is_like(last)]
    if len(alike) != 1:
        return Ambiguous(last.offset, f"{len(alike)} records of the source are like its last one.")
    return Position(alike[0].offset + 1, (SyncPair(alike[0].offset, last.offset),))


def make_taken_map(former_map: OffsetMap, syncs: Sequence[SyncPair], pairs: Sequence[SyncPair], end: SyncPair) -> OffsetMap:
    """The map from what our own ledger had (empty on the first take-over), the syncs in the order in which they were written, and the pairs
    of the tail; `end` is where the copy goes on, on both sides.

    MirrorMaker 2 may have mirrored a range twice. The newest copy of it counts: a reader that goes on there misses nothing. What lies
    between two syncs is not known, so every run of a sync is marked as one that others were dropped in front of, and the map is
    thinned after its last run where the end of the remote partition lies after all that is known.
    """
    runs = list(runs_of([pair.upstream for pair in pairs], [pair.downstream for pair in pairs]))
    runs[:1] = [run._replace(thinned=True) for run in runs[:1]]
    first = SyncPair(runs[0].source, runs[0].target) if runs else end
    sync_runs: list[Run] = []
    for sync in reversed(syncs):
        is_new = not former_map.runs or (sync.upstream >= former_map.source_end and sync.downstream >= former_map.target_end)
        if is_new and sync.upstream < first.upstream and sync.downstream < first.downstream:
            sync_runs.append(Run(sync.upstream, sync.downstream, 1, True))
            first = sync
    offset_map = former_map.cut_before(first.upstream).cut_before_target(first.downstream).with_runs([*reversed(sync_runs), *runs])
    return offset_map.with_mark(end.downstream > offset_map.target_end)
