"""Compares both sides batch by batch, and says which offsets must be read record by record.

    source   │ A (5 records) │ B (7) │ C (3) │ D (4) │ E (6) │
    target   │ A (5 records) │ x (4)   │ y (6) │ D (4) │ E (6) │ marker │
               the same bytes└── 10 records ───┘ the same bytes

Batches that are the same stay closed:

What is compared                                          what follows
the number of records, and that no offset is missing      both batches hold the same places
codec, type of timestamps (the attributes)                their bytes are read in the same way
the first and the newest timestamp                        deltas of timestamps in the bytes come to the same times
every byte after the header                               the same keys, values, headers and deltas
the checksum of each                                      the bytes are those that were written

Who wrote a batch, in which transaction, and at which offsets is no part of it. Batches are paired by the number of records in front of
them. Where they are not the same, because the copy joined or rewrote them, their records are compared at once (`OpenedBatches`). From the
first that differs, or that cannot be opened, up to where batches are the same again lies a segment that must be read record by record. What
differs is never named here.
"""

from dataclasses import dataclass, replace
from itertools import islice
from operator import eq, itemgetter

from kafka_mirror.audit.copied_ranges import AuditRange, OffsetPair, pair_at_or_after
from kafka_mirror.audit.reader import parts_of
from kafka_mirror.formats.batches.batch_records import Record, read_records
from kafka_mirror.formats.batches.record_batch import RecordBatch
from kafka_mirror.kafka.fetched_partition import FetchedPartition
from kafka_mirror.kafka.reader import Part

SOURCE, TARGET = 0, 1
MOST_RECORDS = 200_000
_LARGEST = 16 * 1024 * 1024
"""A batch with more records, or more bytes, is read record by record. A few kilobytes may unpack to millions of records, and here each
takes fifty times its bytes."""
_TIMED, _UNTIMED = itemgetter(1, 2, 3), itemgetter(2, 3)


class OpenedBatches:
    """The records of both sides after a place up to which both are equal."""

    def __init__(self, parts: tuple[Part, Part]) -> None:
        self._parts = parts
        self._compared = _TIMED if all(part.timed for part in parts) else _UNTIMED
        self._waiting: tuple[list[Record], list[Record]] = ([], [])

    def add(self, side: int, batch: RecordBatch) -> None:
        """Adds the records of a side's next batch that belong to the range. Raises ValueError if it cannot be opened here."""
        if batch.record_count > MOST_RECORDS:
            raise ValueError(f"a batch has {batch.record_count} records")
        part, waiting = self._parts[side], self._waiting[side]
        had = len(waiting)
        read_records(batch, waiting, _LARGEST)
        if batch.base_offset < part.start or batch.next_offset > part.end or part.excluded:
            waiting[had:] = [
                record
                for record in waiting[had:]
                if part.start <= record[0] < part.end and not any(start <= record[0] < end for start, end in part.excluded)
            ]

    def match(self) -> int | None:
        """Drops what both sides have, and gives how many records that are on each; None if they are not equal."""
        ours, theirs = self._waiting
        count, compared = min(len(ours), len(theirs)), self._compared
        is_equal = all(map(eq, map(compared, islice(ours, count)), map(compared, theirs)))
        del ours[:count], theirs[:count]
        return count if is_equal else None

    def first_offset(self, side: int) -> int | None:
        """The offset of the first record of a side that waits for the other side; None if none does."""
        waiting = self._waiting[side]
        return waiting[0][0] if waiting else None


MOST_SEGMENTS = 8
"""Each segment is read by clients of its own, so those that lie nearest to each other are drawn together where there are more."""
MOST_UNEQUAL_BYTES = 16 * 1024 * 1024
"""How many bytes of both sides in a row may be in no two equal batches; batches are then paired again only further on."""
_STEPS = 16
"""How many steps it takes to go through a range where nothing is equal."""


class NotComparable(Exception):
    """Raised where closed batches do not tell how many records of the range they hold."""


class BatchSide:
    """The batches of one side of a range that were fetched, in their order: records that are visible and belong to the range."""

    def __init__(self, part: Part, fetched: FetchedPartition) -> None:
        self.fetched = fetched
        self._part = part
        self.position = part.start
        """The offset after what was taken."""
        self.size = 0
        """How many bytes were taken."""

    @property
    def has_ended(self) -> bool:
        """Whether nothing of the range is left to be fetched."""
        return self.fetched.position >= self._part.end

    def peek_first(self) -> tuple[RecordBatch, int] | None:
        """The next batch, and how many of its records belong to the range; None: nothing is there."""
        batches = self.fetched.batches
        while batches:
            batch, is_visible = batches[0]
            if batch.base_offset >= self._part.end:
                batches.clear()
                self.fetched.bytes = 0
                return None
            if is_visible and (count := self._count(batch)):
                return batch, count
            self.fetched.pop()
        if self.fetched.old is not None:
            raise NotComparable(str(self.fetched.old))
        return None

    def take(self) -> None:
        """Goes on after the next batch."""
        batch, _ = self.fetched.batches[0]
        self.fetched.pop()
        self.position = min(batch.next_offset, self._part.end)
        self.size += len(batch.data)

    def _count(self, batch: RecordBatch) -> int:
        part = self._part
        start, end = max(batch.base_offset, part.start), min(batch.next_offset, part.end)
        excluded = sum(max(min(end, last) - max(start, first), 0) for first, last in part.excluded)
        offsets = max(end - start, 0) - excluded
        if offsets in (0, batch.last_offset_delta + 1):
            return batch.record_count if offsets else 0
        if batch.find_obstacle() is not None and batch.record_count != batch.last_offset_delta + 1:
            raise NotComparable(f"the range begins or ends inside the batch at {batch.base_offset}, and offsets of it are missing")
        return offsets


@dataclass(frozen=True)
class _Segment:
    """Offsets of both sides that must be opened, and how many records in front of it, after the one before, are equal."""

    start: OffsetPair
    end: OffsetPair
    equal: int


class BatchComparison:
    """The comparison of one range, batch by batch. The fetching side calls `pair` when there is more."""

    def __init__(self, stretch: AuditRange, source: FetchedPartition, target: FetchedPartition) -> None:
        """The range is no head. Both sides are fetched from the range's beginning on."""
        self.stretch = stretch
        self._parts = parts_of(stretch)
        self.source, self.target = (BatchSide(part, fetched) for part, fetched in zip(self._parts, (source, target), strict=True))
        self.is_done = False
        """Whether nothing more is needed: `equal_records` and `segments` say what came of it."""
        self.equal_records = 0
        """How many records on each side were compared and are equal."""
        self.jumps_to: OffsetPair | None = None
        """Where both sides must be fetched from now on (`go_on`)."""
        self._segments: list[_Segment] = []
        self._equal = 0
        self._start: OffsetPair | None = None
        """Where the records begin that are not known to be equal; None: all that was taken are."""
        self._opened: OpenedBatches | None = None
        """What was opened from `_start` on; None if nothing was, or if something differs."""
        self._surplus = 0
        """How many more records of the source than of the target were taken from `_start` on."""
        self._closed_at = 0

    @property
    def offsets(self) -> int:
        """How many offsets of both sides were gone through so far."""
        stretch = self.stretch
        source, target = (stretch.end, stretch.target_read_end) if self.is_done else (self.source.position, self.target.position)
        return source - stretch.start + max(target - stretch.target_start, 0)

    @property
    def segments(self) -> list[AuditRange]:
        """What must be read record by record: both sides of each are compared with each other."""
        return [
            replace(
                self.stretch,
                start=segment.start.source,
                end=segment.end.source,
                target_start=segment.start.target,
                target_end=segment.end.target,
            )
            for segment in self._segments
        ]

    def pair(self) -> None:
        """Takes what is there of both sides. Raises NotComparable."""
        while not self.is_done and self.jumps_to is None:
            lacking = self._take_same() if not self._surplus else self._take_missing()
            if lacking is None:
                continue
            if not all(side.has_ended for side in lacking):
                return
            if len(lacking) == 1:
                self._open()
            self._close(OffsetPair(self.stretch.end, self.stretch.target_end))
            self.is_done = True

    def go_on(self, source: FetchedPartition, target: FetchedPartition) -> None:
        """Both sides are fetched from `jumps_to` on."""
        at = self.jumps_to
        if at is not None:
            self._parts = self._parts[0]._replace(start=at.source), self._parts[1]._replace(start=at.target)
            self.source, self.target = (BatchSide(part, fetched) for part, fetched in zip(self._parts, (source, target), strict=True))
            self._closed_at = 0
            self.jumps_to = None

    # ------------------------------------------------------------ inside

    def _take_same(self) -> list[BatchSide] | None:
        """Takes the next batch of both sides, up to which both have equally many records; gives the sides that have none."""
        ours, theirs = self.source.peek_first(), self.target.peek_first()
        if ours is None or theirs is None:
            return [side for side, first in ((self.source, ours), (self.target, theirs)) if first is None]
        (our_batch, our_count), (their_batch, their_count) = ours, theirs
        is_whole = our_count == our_batch.record_count and their_count == their_batch.record_count
        if is_whole and our_batch.has_records_of(their_batch):
            self._close(OffsetPair(our_batch.base_offset, their_batch.base_offset))
            self._equal += our_count
            self.equal_records += our_count
            self.source.take()
            self.target.take()
            self._closed_at = self.source.size + self.target.size
        else:
            self._open()
            self._open_batch(SOURCE, our_batch, our_count)
            self._open_batch(TARGET, their_batch, their_count)
            self._match()
        return None

    def _take_missing(self) -> list[BatchSide] | None:
        """Takes batches of the side that has fewer records, until it has as many; gives the side if it has no batch."""
        number, side, sign = (SOURCE, self.source, 1) if self._surplus < 0 else (TARGET, self.target, -1)
        had = side.size
        while self._surplus * sign < 0 and (first := side.peek_first()) is not None:
            self._open_batch(number, *first)
        if side.size == had:
            return [side]
        self._match()
        return None

    def _open(self) -> None:
        if self._start is None:
            self._start = OffsetPair(self.source.position, self.target.position)
            self._opened = OpenedBatches(self._parts)

    def _open_batch(self, number: int, batch: RecordBatch, count: int) -> None:
        if self._opened is not None:
            try:
                self._opened.add(number, batch)
            except ValueError:
                self._opened = None  # reading record by record says what is wrong with it
        self._surplus += count if number == SOURCE else -count
        (self.source if number == SOURCE else self.target).take()

    def _match(self) -> None:
        """Goes on after the opened records that are equal."""
        size = self.source.size + self.target.size
        count = self._opened.match() if self._opened is not None else None
        if self._opened is None or count is None:
            self._opened = None
            if size - self._closed_at > MOST_UNEQUAL_BYTES:
                self._jump()
            return
        self._equal += count
        self.equal_records += count
        self._closed_at = size
        firsts = self._opened.first_offset(SOURCE), self._opened.first_offset(TARGET)
        at = (side.position if first is None else first for side, first in zip((self.source, self.target), firsts, strict=True))
        self._start = OffsetPair(*at) if self._surplus else None

    def _close(self, end: OffsetPair) -> None:
        """Ends the segment that is open, if one is."""
        if self._start is None:
            return
        self._segments.append(_Segment(self._start, end, self._equal))
        self._start, self._opened, self._equal, self._surplus = None, None, 0, 0
        if len(self._segments) > MOST_SEGMENTS:
            at = min(range(1, len(self._segments)), key=lambda number: self._segments[number].equal)
            before, after = self._segments[at - 1 : at + 1]
            self._segments[at - 1 : at + 1] = [_Segment(before.start, after.end, before.equal)]
            self.equal_records -= after.equal

    def _jump(self) -> None:
        """Leaves what follows, up to a pair of offsets that the offset map knows, to be opened."""
        stretch, source, target = self.stretch, self.source.position, self.target.position
        pair = pair_at_or_after(stretch.runs, source + max(stretch.offsets // _STEPS, 1))
        if pair is None or pair.source >= stretch.end or not target <= pair.target < self._parts[1].end:
            self._close(OffsetPair(stretch.end, stretch.target_end))
            self.is_done = True
        else:
            self._close(pair)
            self.jumps_to = pair
