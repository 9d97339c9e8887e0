"""Compares batches of both sides without opening them, and says which offsets have to be opened.

    source   │ A (5 records) │ B (7) │ C (3) │ D (4) │ E (6) │
    target   │ A (5 records) │ x (4)   │ y (6) │ D (4) │ E (6) │ marker │
               the same bytes└── 10 records ───┘ the same bytes

What is compared                                          what follows
the number of records, and that no offset is missing      both batches hold the same places
codec, type of timestamps (the attributes)                their bytes are read in the same way
the first and the newest timestamp                        deltas of timestamps in the bytes come to the same times
every byte behind the header                              the same keys, values, headers and deltas
the checksum of each                                      the bytes are those that were written

Who wrote a batch, in which transaction, and at which offsets is no part of it. Batches are paired by the number of records in front of
them. Between two places up to where both sides have equally many records, and where the batches are not the same, lies a segment that has
to be opened. It proves nothing by itself, and what differs is never named here.
"""

from dataclasses import dataclass, replace

from mirror.audit.copied_ranges import OffsetPair, pair_at_or_after
from mirror.audit.locate import parts_of
from mirror.audit.range import AuditRange
from mirror.formats.record_batch import RecordBatch
from mirror.kafka.batch_fetch import FetchedPartition
from mirror.kafka.reader import Part

MOST_SEGMENTS = 8
"""Each segment is read by clients of its own, so those that lie nearest to each other are drawn together where there are more."""
MOST_UNEQUAL_BYTES = 16 * 1024 * 1024
"""Where so many bytes of both sides in a row are in no two equal batches, batches are paired again only further on."""
_STEPS = 16
"""In so many steps a range is gone through where nothing is equal."""


class NotComparable(Exception):
    """Raised where closed batches do not tell how many records of the range they hold."""


class BatchSide:
    """The batches of one side of a range that were fetched, in their order: records that are visible and belong to the range."""

    def __init__(self, part: Part, fetched: FetchedPartition) -> None:
        self.fetched = fetched
        self._part = part
        self.position = part.start
        """Behind what was taken."""
        self.size = 0
        """How many bytes were taken."""

    @property
    def has_ended(self) -> bool:
        """Whether nothing of the range is left to be fetched."""
        return self.fetched.position >= self._part.end

    @property
    def needs_more(self) -> bool:
        """Whether nothing can be taken before something is fetched."""
        return not self.fetched.batches and not self.has_ended

    def first(self) -> tuple[RecordBatch, int] | None:
        """The next batch, and how many of its records belong to the range; None: nothing is there."""
        batches = self.fetched.batches
        while batches:
            batch, is_visible = batches[0]
            if batch.base_offset >= self._part.end:
                self._leave_rest()
                return None
            if is_visible and (count := self._count(batch)):
                return batch, count
            self.fetched.pop()
        if self.fetched.old is not None:
            raise NotComparable(str(self.fetched.old))
        return None

    def take(self) -> None:
        """Goes on behind the next batch."""
        batch, _ = self.fetched.batches[0]
        self.fetched.pop()
        self.position = min(batch.next_offset, self._part.end)
        self.size += len(batch.data)

    def _leave_rest(self) -> None:
        self.fetched.batches.clear()
        self.fetched.bytes = 0

    def _count(self, batch: RecordBatch) -> int:
        part = self._part
        start, end = max(batch.base_offset, part.start), min(batch.next_offset, part.end)
        excluded = sum(max(min(end, last) - max(start, first), 0) for first, last in part.excluded)
        offsets = max(end - start, 0) - excluded
        if offsets in (0, batch.last_offset_delta + 1):
            return batch.record_count if offsets else 0
        if batch.obstacle() is not None and batch.record_count != batch.last_offset_delta + 1:
            raise NotComparable(f"the range begins or ends inside the batch at {batch.base_offset}, and offsets of it are missing")
        return offsets


@dataclass(frozen=True)
class _Segment:
    """Offsets of both sides that have to be opened, and how many records in front of it, behind the one before, are equal."""

    start: OffsetPair
    end: OffsetPair
    equal: int


class BatchComparison:
    """The comparison of one range, batch by batch. Whoever fetches calls `pair` when there is more."""

    def __init__(self, stretch: AuditRange, source: FetchedPartition, target: FetchedPartition) -> None:
        """The range is no head. Both sides are fetched from the range's beginning on."""
        self.stretch = stretch
        self._parts = parts_of(stretch)
        self.source, self.target = (BatchSide(part, fetched) for part, fetched in zip(self._parts, (source, target), strict=True))
        self.is_done = False
        """Whether nothing more is needed: `equal_records` and `segments` say what came of it."""
        self.equal_records = 0
        """How many records on each side stand in batches that are the same."""
        self.jumps_to: OffsetPair | None = None
        """Where both sides have to be fetched from now on (`go_on`)."""
        self._segments: list[_Segment] = []
        self._equal = 0
        self._start: OffsetPair | None = None
        self._surplus = 0
        self._closed_at = 0

    @property
    def offsets(self) -> int:
        """How many offsets of both sides were gone through so far."""
        stretch = self.stretch
        source, target = (stretch.end, stretch.target_read_end) if self.is_done else (self.source.position, self.target.position)
        return source - stretch.start + max(target - stretch.target_start, 0)

    @property
    def segments(self) -> list[AuditRange]:
        """What has to be opened: both sides of each are compared with each other."""
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
            ours, theirs = self.source.first(), self.target.first()
            source_ended, target_ended = (first is None and side.has_ended for first, side in ((ours, self.source), (theirs, self.target)))
            if source_ended or target_ended:
                if source_ended and target_ended and self._start is None:
                    self.is_done = True
                elif (source_ended or ours) and (target_ended or theirs):
                    self._open()
                    self._close(OffsetPair(self.stretch.end, self.stretch.target_end))
                    self.is_done = True
                else:
                    return
            elif ours is None or theirs is None:
                return
            else:
                self._take(ours, theirs)

    def go_on(self, source: FetchedPartition, target: FetchedPartition) -> None:
        """Both sides are fetched from `jumps_to` on."""
        at = self.jumps_to
        if at is not None:
            self._parts = self._parts[0]._replace(start=at.source), self._parts[1]._replace(start=at.target)
            self.source, self.target = (BatchSide(part, fetched) for part, fetched in zip(self._parts, (source, target), strict=True))
            self._closed_at = 0
            self.jumps_to = None

    # ------------------------------------------------------------ inside

    def _take(self, ours: tuple[RecordBatch, int], theirs: tuple[RecordBatch, int]) -> None:
        (source, source_count), (target, target_count) = ours, theirs
        if not self._surplus and _are_equal(ours, theirs):
            self._close(OffsetPair(source.base_offset, target.base_offset))
            self._equal += source_count
            self.equal_records += source_count
            self.source.take()
            self.target.take()
            self._closed_at = self.source.size + self.target.size
            return
        self._open()
        takes_source, takes_target = self._surplus <= 0, self._surplus >= 0
        if takes_source:
            self._surplus += source_count
            self.source.take()
        if takes_target:
            self._surplus -= target_count
            self.target.take()
        if self.source.size + self.target.size - self._closed_at > MOST_UNEQUAL_BYTES:
            self._jump()

    def _open(self) -> None:
        if self._start is None:
            self._start = OffsetPair(self.source.position, self.target.position)

    def _close(self, end: OffsetPair) -> None:
        """Ends the segment that is open, if one is."""
        if self._start is None:
            return
        self._segments.append(_Segment(self._start, end, self._equal))
        self._start, self._equal, self._surplus = None, 0, 0
        if len(self._segments) > MOST_SEGMENTS:
            at = min(range(1, len(self._segments)), key=lambda number: self._segments[number].equal)
            before, behind = self._segments[at - 1 : at + 1]
            self._segments[at - 1 : at + 1] = [_Segment(before.start, behind.end, before.equal)]
            self.equal_records -= behind.equal

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


def _are_equal(ours: tuple[RecordBatch, int], theirs: tuple[RecordBatch, int]) -> bool:
    (source, source_count), (target, target_count) = ours, theirs
    is_whole = source_count == source.record_count and target_count == target.record_count
    return is_whole and source.has_records_of(target) and source.is_intact and target.is_intact
