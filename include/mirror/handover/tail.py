"""How far MirrorMaker 2 came with a partition, by what stands at the end of the remote one. Pure.

Kafka Connect's offset says which record was certainly mirrored. After a crash more of them are on the target than it knows of, and some may
be there twice, for a worker that starts again goes back to the record behind that offset:

    source   … N │ N+1 N+2 N+3 N+4 N+5 …             N: the offset that Connect kept
    target   … N   N+1 N+2 N+3 │ N+1 N+2             a second start, behind N; stopped for good behind N+2
               └ a place that is known ┘ the tail: read, and followed record by record on the source

The tail is followed from a place that is known on both sides: the newest offset sync, or the record N itself. Every record of the tail
has to be the next one of the source, or the one behind N where a worker started again. What the last one of them is says where to go on. If
a record is none of these, or if two readings are possible, nothing is guessed.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from mirror.offsets.sync_store import Pair

LONGEST = 1_000_000
"""How many records of either side are looked at before the end of a partition counts as not understood."""


class Seen(NamedTuple):
    """A record as it is compared: its offset, a digest of key, value and headers, and its timestamp (None: not to be compared)."""

    offset: int
    content: bytes
    timestamp: int | None


@dataclass(frozen=True)
class Evidence:
    """One partition as it was found. `source` and `tail` are visible records, without a hole from their first to their last."""

    stored: int | None
    """The offset that Kafka Connect kept: of the last record that was certainly mirrored. None if it kept none."""
    source: Sequence[Seen]
    source_start: int
    """The log start of the source partition."""
    source_end: int
    """Where the source ends for a reader such as MirrorMaker 2's."""
    source_read: int
    """Up to where `source` was read."""
    tail: Sequence[Seen]
    tail_start: int
    """From where on the remote partition was read."""
    target_start: int
    """The log start of the remote partition."""
    target_end: int
    sync: Pair | None = None
    """The newest offset sync: a record that is on both sides."""
    known: Pair | None = None
    """Where our own copy ended when the flow was handed back: the next source offset, and the next one of the target."""
    compacted: bool = False
    """Whether either side drops records in between."""


@dataclass(frozen=True)
class Position:
    """Where to go on, and which target offsets the last source offsets became, as far as the tail shows them."""

    watermark: int
    pairs: tuple[Pair, ...] = field(default=())


@dataclass(frozen=True)
class Doubt:
    """Nothing is known for certain: from which target offset on, and why."""

    target: int
    why: str


class MoreSource(Exception):
    """Raised when the source has to be read further."""


class MoreTail(Exception):
    """Raised when the remote partition has to be read from further in front."""


def position(evidence: Evidence) -> Position | Doubt:
    """Where to go on with the partition. Raises MoreSource or MoreTail when what was read is not enough to say it."""
    restart = evidence.source_start if evidence.stored is None else evidence.stored + 1
    if not evidence.tail and evidence.tail_start <= evidence.target_start:
        return Position(restart)  # nothing that can be read would be copied a second time
    contradiction = _contradiction(evidence)
    if contradiction is not None:
        return contradiction
    found = _from_sync(evidence, restart)
    if found is None or isinstance(found, Doubt):
        other = _from_stored(evidence, restart)
        found = other if found is None or isinstance(other, Position) else found
    if isinstance(found, Doubt) and evidence.compacted:
        last = _last_record(evidence)
        return last if isinstance(last, Position) else found
    return found


def tail_begin(places: Sequence[int], target_start: int, target_end: int, records: int) -> int:
    """From where on to read the remote partition: the last of the places that are known if it is near enough, else so many offsets in front
    of the end."""
    place = max(places, default=-1)
    if target_start <= place and target_end - place <= LONGEST:
        return place
    return max(target_start, target_end - records)


# ------------------------------------------------------------ from a known place on


def _from_sync(evidence: Evidence, restart: int) -> Position | Doubt | None:
    """Follows the tail from the last place that syncs or our own ledger tell of. None if there is none in what was read."""
    sync, known, tail = evidence.sync, evidence.known, evidence.tail
    if known is not None and (sync is None or sync.downstream < known.downstream):
        if known.downstream < evidence.tail_start or known.upstream < evidence.source_start:
            return None
        track = _Track(evidence, restart, None)
        track.begin(bisect_left(evidence.source, known.upstream, key=_offset), ())
        return track.follow(tail[bisect_left(tail, known.downstream, key=_offset) :], known.upstream)
    if sync is None or sync.downstream < evidence.tail_start or sync.upstream < evidence.source_start - 1:
        return None
    begin = bisect_right(tail, sync.downstream, key=_offset)
    if begin == 0 or tail[begin - 1].offset != sync.downstream:
        return None  # that record is gone from the target
    track = _Track(evidence, restart, None)
    track.begin(bisect_right(evidence.source, sync.upstream, key=_offset), (sync,))
    return track.follow(tail[begin:], sync.upstream + 1)


def _contradiction(evidence: Evidence) -> Doubt | None:
    """Whether the newest sync pairs two records that are not alike: then no sync is worth anything, and a topic may be another one."""
    sync = evidence.sync
    if sync is None:
        return None
    source, target = _record_at(evidence.source, sync.upstream), _record_at(evidence.tail, sync.downstream)
    if source is None or target is None or _same(source, target):
        return None
    return Doubt(sync.downstream, f"the newest offset sync calls its record {sync.downstream} a copy of {sync.upstream}, which it is not.")


def _record_at(records: Sequence[Seen], offset: int) -> Seen | None:
    at = bisect_left(records, offset, key=_offset)
    return records[at] if at < len(records) and records[at].offset == offset else None


def _from_stored(evidence: Evidence, restart: int) -> Position | Doubt:
    """Follows the tail from where the record stands whose offset Connect kept; from the source's beginning if it kept none."""
    tail = evidence.tail
    if evidence.stored is None:
        if evidence.tail_start > evidence.target_start:
            return _further(evidence, "too much stands in it, and nothing says where it begins.")
        track = _Track(evidence, restart, None)
        track.begin(0, ())
        return track.follow(tail, restart)
    stored = _record_at(evidence.source, evidence.stored)
    if stored is None:
        if evidence.source_read < min(restart, evidence.source_end):
            raise MoreSource
        if evidence.source_end <= restart:
            return Position(restart)  # the source has nothing behind it, so nothing else can have been mirrored
        return Doubt(evidence.tail_start, f"the source does not have the record {evidence.stored} any more.")
    if not any(_same(stored, record) for record in tail):
        return _further(evidence, f"the source's record {evidence.stored} is not in it.")
    return _Track(evidence, restart, stored).follow(tail, restart)


def _further(evidence: Evidence, otherwise: str) -> Doubt:
    """Asks for more of the tail, as long as there is more that may be asked for."""
    if evidence.tail_start > evidence.target_start and len(evidence.tail) < LONGEST:
        raise MoreTail
    return Doubt(evidence.tail_start, otherwise)


def _last_record(evidence: Evidence) -> Position | Doubt:
    """Where records are dropped in between, the last one alone tells; a log keeps its last record."""
    last, stored = evidence.tail[-1], -1 if evidence.stored is None else evidence.stored
    if evidence.sync is not None and evidence.sync.downstream == last.offset:
        return Position(max(evidence.sync.upstream, stored) + 1, (evidence.sync,))
    if evidence.source_read < evidence.source_end:
        if len(evidence.source) >= LONGEST:
            return Doubt(last.offset, "too much stands on the source behind the offset that was kept.")
        raise MoreSource
    found = [record for record in evidence.source if record.offset >= stored and _same(record, last)]
    if len(found) != 1:
        return Doubt(last.offset, f"{len(found)} records of the source are like its last one.")
    return Position(found[0].offset + 1, (Pair(found[0].offset, last.offset),))


class _Track:
    """All readings of the tail that are possible so far: for each, the index of the source record that has to come next."""

    def __init__(self, evidence: Evidence, restart: int, seed: Seen | None) -> None:
        """`restart`: the source offset at which a worker begins that starts again. `seed`: the record in front of it; where that stands in
        the tail, a reading may begin."""
        self._evidence = evidence
        self._source = evidence.source
        self._restart_offset = restart
        self._restart = bisect_left(evidence.source, restart, key=_offset)
        self._seed = seed
        self._expected: dict[int, int] = {}
        """Index of the next source record -> with which record of the tail the reading began, or a worker started again last; −1: with
        the first one, which follows what was known before."""
        self._first: tuple[Pair, ...] = ()
        self._offsets: list[int] = []

    def begin(self, index: int, first: tuple[Pair, ...]) -> None:
        """The source record that has to be the first of the tail, and the pair right in front of it."""
        self._expected, self._first = {index: -1}, first

    def follow(self, tail: Sequence[Seen], watermark: int) -> Position | Doubt:
        """Reads the tail to its end. `watermark`: where to go on if it is empty."""
        lost = tail[0].offset if tail else self._evidence.target_end
        for record in tail:
            following = self._following(record)
            if not following and self._expected:
                lost = record.offset
                if self._seed is None:
                    return Doubt(lost, f"the record at {lost} is not the next one of the source.")
            self._expected = following
            self._offsets.append(record.offset)
        if not self._expected:
            return Doubt(lost, f"the record at {lost} is not the next one of the source.")
        if len(self._expected) > 1:
            readings = ", ".join(str(self._source[index - 1].offset) for index in sorted(self._expected)[:5])
            return Doubt(tail[-1].offset, f"its last record may be any of the source's records {readings}, which are alike.")
        ((index, begun),) = self._expected.items()
        if index < self._restart:
            return Doubt(self._evidence.target_end, "it ends in front of the offset that was kept.")
        pairs = self._pairs(index, begun)
        return Position(max(pairs[-1].upstream + 1 if pairs else watermark, self._restart_offset), pairs)

    def _following(self, record: Seen) -> dict[int, int]:
        following = {index + 1: begun for index, begun in self._expected.items() if self._like(index, record)}
        number = len(self._offsets)
        if any(index > self._restart for index in self._expected) and self._like(self._restart, record):
            following.setdefault(self._restart + 1, number)
        if self._seed is not None and _same(self._seed, record):
            following.setdefault(self._restart, number)
        return following

    def _like(self, index: int, record: Seen) -> bool:
        if index < len(self._source):
            return _same(self._source[index], record)
        if self._evidence.source_read < self._evidence.source_end and len(self._source) < LONGEST:
            raise MoreSource
        return False

    def _pairs(self, index: int, begun: int) -> tuple[Pair, ...]:
        """The pairs of the reading that ends in front of this source record, back to where it began or a worker started again."""
        offsets = self._offsets[max(begun, 0) :]
        sources = self._source[index - len(offsets) : index]
        pairs = tuple(Pair(record.offset, offset) for record, offset in zip(sources, offsets, strict=True))
        return pairs if begun >= 0 else (*self._first, *pairs)


def _same(source: Seen, target: Seen) -> bool:
    if source.content != target.content:
        return False
    return source.timestamp is None or target.timestamp is None or source.timestamp == target.timestamp


def _offset(record: Seen) -> int:
    return record.offset
