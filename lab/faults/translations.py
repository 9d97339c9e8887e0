"""The judge of translated offsets: if nothing more ever came from the source, would a group that goes on at the translated position read
every record that the target holds and that it has not read? And is what is called exact exact?

It knows both sides record by record (PartitionCopies), and nothing of the mirror's maps.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from lab.faults.copies import PartitionCopies

EXACT = "exact"


@dataclass(frozen=True)
class Answer:
    """What the mirror says of a group's offset in one partition. `told_by`: translate, checkpoint or group offset; `kind`: how good it
    says the position is."""

    told_by: str
    group: str
    partition: int
    offset: int
    position: int
    kind: str = ""


@dataclass(frozen=True)
class Judged:
    """An answer, and what it would lead to: records that the group would never read, and records that it would read without need."""

    answer: Answer
    missed: int
    again: int

    @property
    def late(self) -> bool:
        """Whether the group would miss a record that the target holds."""
        return self.missed > 0

    @property
    def falsely_exact(self) -> bool:
        """Whether the answer calls itself exact and is not."""
        return self.answer.kind == EXACT and (self.late or self.again > 0)

    def __str__(self) -> str:
        answer = self.answer
        said = f"{answer.kind} " if answer.kind else ""
        told = f"{answer.told_by} of {answer.group} in partition {answer.partition}@{answer.offset}: {said}{answer.position}"
        return f"{told}, {self.missed} records late" if self.late else f"{told}, {self.again} records early"


def judged(answers: Iterable[Answer], copies: Mapping[int, PartitionCopies]) -> Iterator[Judged]:
    """Each answer, held against what the target holds now."""
    last = {partition: _last_places(each) for partition, each in copies.items()}
    for answer in answers:
        yield _judged(answer, copies[answer.partition], last[answer.partition])


def _judged(answer: Answer, copies: PartitionCopies, last: list[int | None]) -> Judged:
    first = bisect_left(copies.sources, answer.offset)
    missed = 0
    place = last[first]
    if place is not None and answer.position > place:
        missed = sum(1 for target in copies.newest[first:] if target is not None and target < answer.position)
    until = len(copies.targets) if place is None else bisect_left(copies.targets, place)
    return Judged(answer, missed, max(until - bisect_left(copies.targets, answer.position), 0))


def _last_places(copies: PartitionCopies) -> list[int | None]:
    """Of each record of the source, and of its end: the last position from which it and all that follow it, as far as the target holds
    them, are read. None where the target holds none of them."""
    places: list[int | None] = [None] * (len(copies.sources) + 1)
    for index in range(len(copies.sources) - 1, -1, -1):
        later, own = places[index + 1], copies.newest[index]
        places[index] = later if own is None else own if later is None else min(own, later)
    return places


@dataclass(frozen=True)
class Tally:
    """How many answers were judged, and which of them were wrong."""

    answers: int = 0
    late: tuple[Judged, ...] = ()
    falsely_exact: tuple[Judged, ...] = ()

    @classmethod
    def of(cls, found: Iterable[Judged]) -> "Tally":
        """A late answer that calls itself exact is late."""
        each = list(found)
        late = tuple(one for one in each if one.late)
        return cls(len(each), late, tuple(one for one in each if one.falsely_exact and not one.late))

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(self.answers + other.answers, self.late + other.late, self.falsely_exact + other.falsely_exact)
