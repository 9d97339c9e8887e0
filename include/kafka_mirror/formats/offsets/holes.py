"""Holes of the offset map, and counting through one: which record of the source stands where in it on the target.

A hole lies between two pairs of offsets that the map knows, a kept run in front and a thinned one after. Both sides hold the same records
in it, in the same order, so the n-th one there is the copy of the n-th one here:

    source   pair │ a b c · d e │ pair      · is a marker, an aborted record, or one that was passed over
    target   pair │ a b · c d e │ pair      the records are counted, never the offsets

That holds only where nothing else stands in the hole: no record of somebody else's, no older copies from before a restart, none that
compaction took on one side alone. So nothing is counted that was not compared: a place is given only where all records of both sides are
equal, one by one. Where retention took the front of a side, the rest is compared backwards from the pair after it (`_count_back`): always
where the target holds no more than the source, else only where nothing was ever decided about the partition.
"""

import re
from array import array
from bisect import bisect_left
from dataclasses import dataclass
from typing import NamedTuple

CONTENT_BYTES = 16
"""How many bytes stand for what a record carries."""


class Hole(NamedTuple):
    """What lies between two pairs of the map: source offsets `[source, source_end)` and target offsets `[target, target_end)`. The pair
    after is that of a record: the one at `source_end` was written to `target_end`."""

    source: int
    target: int
    source_end: int
    target_end: int


class Records:
    """The records of one side of a hole in their order, each as its offset, its timestamp and a digest of the rest."""

    __slots__ = ("contents", "is_stamped", "is_whole", "offsets", "times")

    def __init__(self, is_whole: bool = True) -> None:
        """`is_whole`: the side still holds the hole from its first offset on."""
        self.is_whole = is_whole
        self.is_stamped = False
        """Whether the brokers of this side stamp records when they are appended: then times tell nothing."""
        self.offsets = array("q")
        self.times = array("q")
        self.contents = bytearray()

    def __len__(self) -> int:
        return len(self.offsets)

    def add(self, offset: int, time: int, content: bytes) -> None:
        """Adds the record after the others. `content`: the digest of its key, value and headers, of CONTENT_BYTES."""
        self.offsets.append(offset)
        self.times.append(time)
        self.contents += content

    def ends_as(self, other: "Records", count: int, timed: bool) -> bool:
        """Whether the last `count` records of both are the same."""
        mine, theirs = len(self) - count, len(other) - count
        same = self.contents[mine * CONTENT_BYTES :] == other.contents[theirs * CONTENT_BYTES :]
        return same and (not timed or self.times[mine:] == other.times[theirs:])


@dataclass(frozen=True)
class CountedHole:
    """A hole whose records were read on both sides and are the same: which offset became which."""

    hole: Hole
    _source: Records
    _target: Records
    _whole: bool

    def target_of(self, offset: int) -> int | None:
        """Where the first record at or after a source offset stands on the target; None where the front that is gone may matter."""
        index = bisect_left(self._source.offsets, offset)
        if self._whole:
            return self._target.offsets[index] if index < len(self._target) else self.hole.target_end
        return self._count_back(index)

    def source_of(self, offset: int) -> int | None:
        """The source offset of the first record at or after a target offset; None where one side's front is gone."""
        if not self._whole:
            return None
        index = bisect_left(self._target.offsets, offset)
        return self._source.offsets[index] if index < len(self._source) else self.hole.source_end

    def _count_back(self, index: int) -> int | None:
        """The target offset of a record, where only the ends of both sides are known to be the same.

        The record in front of the answer must be among them: so nothing stands between the two that the source has dropped since.
        """
        if index - 1 < max(len(self._source) - len(self._target), 0):
            return None
        theirs = index - len(self._source) + len(self._target)
        return self._target.offsets[theirs] if theirs < len(self._target) else self.hole.target_end


def count_hole(hole: Hole, source: Records, target: Records, *, only_copies: bool) -> CountedHole | None:
    """The hole with its places; None where the records of both sides are not the same, so that counting would prove nothing.

    `only_copies`: nothing stands on the target but one copy of each record, in the order of the source. Where that is unknown, all that
    the target holds of the hole is to be found on the source: what it has beside that may be older copies, from before a restart, of
    records that the source has lost since or that lie after the hole, and groups have to read those.
    """
    timed = not target.is_stamped
    whole = source.is_whole and target.is_whole
    if whole and len(source) != len(target):
        return None
    if len(target) > len(source) and (source.is_whole or not only_copies):
        return None
    if not source.ends_as(target, min(len(source), len(target)), timed):
        return None
    return CountedHole(hole, source, target, whole)


# ---------------------------------------------------------------- what a checkpoint notes of a place

EXACT_PLACE = "exact"
"""The position is that of the first record at or after the group's offset, and will be as long as the generation lasts."""
UNPLACED = "unplaced"
"""The hole was counted, and the place of this very offset is unknown: what stood in front of it is gone."""
_UNCOUNTED = "uncounted"
_NUMBER = re.compile("[0-9]{1,19}")


class UncountedHole(NamedTuple):
    """That a hole was read in vain. `bytes`: how many were not enough to read it; 0: both sides do not hold the same records."""

    hole: Hole
    bytes: int = 0

    @property
    def text(self) -> str:
        """As a checkpoint's header has it."""
        return " ".join(map(str, (_UNCOUNTED, *self.hole, self.bytes)))


def read_uncounted(text: str) -> UncountedHole | None:
    """Reads the note from a checkpoint's header. None for any other text: the note is for later readings, and nothing depends on it."""
    word, *numbers = text.split(" ")
    if word != _UNCOUNTED or len(numbers) != len(Hole._fields) + 1 or not all(_NUMBER.fullmatch(number) for number in numbers):
        return None
    return UncountedHole(Hole(*map(int, numbers[:-1])), int(numbers[-1]))
