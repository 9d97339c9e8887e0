"""Which record of the source each record of a remote partition is a copy of: found from the records and from what people decided.

A mirror holds the source's records in their order. A decision lets the copy go on elsewhere: from the watermark `at` it goes `to` an older
offset, whose records the target then holds twice, or to a newer one, whose predecessors it never holds.

source   0 … 39 │ 40 … 71 │                decided: Jump(at=72, to=40)
target   0 … 39   40 … 71   40 … 71  72 …
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from services.comparison import Account

Seen = tuple[int, int]
"""A record: its offset, and the digest of all that a copy must have in common with it."""
_LOOKED_AT = 16


@dataclass(frozen=True)
class Jump:
    """What a person decided about a partition: the copy that has come to source offset `at` goes on at `to`."""

    at: int
    to: int


class PartitionCopies:
    """One source partition and its mirror, both kept in full: what the source deletes later was there."""

    def __init__(self) -> None:
        self.sources: list[int] = []
        """Offsets of the source's records."""
        self.targets: list[int] = []
        """Offsets of the records on the target, without the planted ones."""
        self.newest: list[int | None] = []
        """For each record of the source, the target offset of its newest copy; None if it has no copy."""
        self._digests: list[int] = []
        self._places: dict[int, list[int]] = defaultdict(list)
        self._jumps: list[Jump] = []
        self._planted: set[int] = set()
        self._target_end = 0
        self._next = self._begun = 0
        self._expected: list[int] = []
        self._held: list[int] = []

    @property
    def source_end(self) -> int:
        """The first source offset that was not read yet."""
        return self.sources[-1] + 1 if self.sources else 0

    @property
    def target_end(self) -> int:
        """The first target offset that was not read yet."""
        return self._target_end

    def note_decision(self, jump: Jump) -> None:
        """A person decided so. What the copy writes shows whether it acts on it."""
        self._jumps.append(jump)

    def note_planted(self, offsets: Iterable[int]) -> None:
        """Another application wrote these records of the target, and a person accepted them."""
        self._planted.update(offsets)

    def read_source(self, records: Iterable[Seen]) -> None:
        """What the source shows from `source_end` on."""
        for offset, digest in records:
            self._places[digest].append(len(self.sources))
            self.sources.append(offset)
            self._digests.append(digest)
            self.newest.append(None)

    def read_target(self, records: Iterable[Seen]) -> None:
        """What the target shows from `target_end` on. Read the source first, at least as far as it is copied."""
        listed = list(records)
        self._target_end = max((offset + 1 for offset, _ in listed), default=self._target_end)
        copies = [record for record in listed if record[0] not in self._planted]
        self.targets += [offset for offset, _ in copies]
        digests = [digest for _, digest in copies]
        for number, (offset, digest) in enumerate(copies):
            self._held.append(digest)
            place = self._original(digests[number : number + _LOOKED_AT])
            if place is not None:
                if place != self._next:
                    self._go_to(place)
                self.newest[place] = offset
                self._next = place + 1

    def account(self, partition: int) -> Account:
        """What is wrong with the records that came to the target since the last call, if it should hold all that the source has now."""
        end = len(self.sources)
        if self._next != end and end in self._ways_on():
            self._go_to(end)  # a decision passed over all the rest
        expected, held = self._expected + self._digests[self._begun : end], self._held
        self._begun = self._next = end
        self._expected, self._held = [], []
        return count_differences(partition, expected, held)

    def _original(self, digests: Sequence[int]) -> int | None:
        """The place of the record whose copy comes first in these digests: the next one, one that a decision leads to, or a later one, if
        those before it are missing. None for a record that is no copy."""
        if not self._jumps and self._fits(self._next, digests[:1]):
            return self._next
        ways = [place for place in self._ways_on() if self._fits(place, digests)]
        if ways:
            return max(ways, key=lambda place: self._fits(place, digests))
        places = self._places.get(digests[0], [])
        ahead = bisect_left(places, self._next)
        return places[ahead] if ahead < len(places) else None

    def _ways_on(self) -> dict[int, tuple[Jump, ...]]:
        """The places where the copy may go on, and by which decisions: the next one first."""
        ways: dict[int, tuple[Jump, ...]] = {self._next: ()}
        waiting = [self._next]
        for way in waiting:
            for jump in self._jumps:
                place = self._place(jump.to)
                if self._place(jump.at) == way and place not in ways:
                    ways[place] = (*ways[way], jump)
                    waiting.append(place)
        return ways

    def _fits(self, place: int, digests: Sequence[int]) -> int:
        """How many copies in a row are those of the records from a place on."""
        originals = self._digests[place : place + len(digests)]
        pairs = enumerate(zip(originals, digests, strict=False))
        return next((count for count, (original, copy) in pairs if original != copy), min(len(originals), len(digests)))

    def _go_to(self, place: int) -> None:
        """Goes on at a place; if by a decision, then what precedes it is not missing, and what follows may come once more."""
        used = self._ways_on().get(place, ())
        if used:
            self._expected += self._digests[self._begun : self._next]
            self._begun = place
            self._jumps = [jump for jump in self._jumps if jump not in used]
        self._next = place

    def _place(self, offset: int) -> int:
        return bisect_left(self.sources, offset)


def count_differences(partition: int, expected: Sequence[int], held: Sequence[int]) -> Account:
    """Compares the digests that a remote partition holds with those that it should hold, in order."""
    waiting: dict[int, list[int]] = defaultdict(list)
    for place in range(len(expected) - 1, -1, -1):
        waiting[expected[place]].append(place)
    missing, places = Counter(expected), []
    doubled = foreign = 0
    for digest in held:
        if waiting[digest]:
            places.append(waiting[digest].pop())
        elif digest in missing:
            doubled += 1
        else:
            foreign += 1
    lost = len(expected) - len(places)
    return Account(partition, len(expected), len(held), lost, doubled, foreign, len(places) - _longest_rising(places))


def _longest_rising(numbers: Iterable[int]) -> int:
    ends: list[int] = []
    for number in numbers:
        at = bisect_left(ends, number)
        ends[at : at + 1] = [number]
    return len(ends)
