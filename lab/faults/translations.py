"""Judges translated offsets. If nothing more came from the source, would a group that continues at the translated position read every
record of the target that it has not read? And is a position exact that is called exact?

It knows both sides record by record (PartitionCopies), and nothing of the mirror's maps.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from lab.faults.copies import PartitionCopies

EXACT = "exact"


@dataclass(frozen=True)
class Answer:
    """What the mirror says of a group's offset in one partition. `origin`: translate, checkpoint or group offset; `kind`: how good it
    says the position is."""

    origin: str
    group: str
    partition: int
    offset: int
    position: int
    kind: str = ""


@dataclass(frozen=True)
class JudgedAnswer:
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
        text = f"{answer.origin} of {answer.group} in partition {answer.partition}@{answer.offset}: {said}{answer.position}"
        return f"{text}, {self.missed} records late" if self.late else f"{text}, {self.again} records early"


def judge_answers(answers: Iterable[Answer], copies: Mapping[int, PartitionCopies]) -> Iterator[JudgedAnswer]:
    """Judges each answer by what the target holds now."""
    last = {partition: _last_places(of_partition) for partition, of_partition in copies.items()}
    for answer in answers:
        yield _judge(answer, copies[answer.partition], last[answer.partition])


def _judge(answer: Answer, copies: PartitionCopies, last: list[int | None]) -> JudgedAnswer:
    first = bisect_left(copies.sources, answer.offset)
    missed = 0
    place = last[first]
    if place is not None and answer.position > place:
        missed = sum(1 for target in copies.newest[first:] if target is not None and target < answer.position)
    until = len(copies.targets) if place is None else bisect_left(copies.targets, place)
    return JudgedAnswer(answer, missed, max(until - bisect_left(copies.targets, answer.position), 0))


def _last_places(copies: PartitionCopies) -> list[int | None]:
    """For each record of the source, and for its end: the last position from which a reader gets it and all after it, as far as the target
    holds them. None where the target holds none of them."""
    places: list[int | None] = [None] * (len(copies.sources) + 1)
    for index in range(len(copies.sources) - 1, -1, -1):
        later, own = places[index + 1], copies.newest[index]
        places[index] = later if own is None else own if later is None else min(own, later)
    return places


@dataclass(frozen=True)
class Tally:
    """How many answers were judged, and which of them were wrong."""

    answers: int = 0
    late: tuple[JudgedAnswer, ...] = ()
    falsely_exact: tuple[JudgedAnswer, ...] = ()

    @classmethod
    def of(cls, answers: Iterable[JudgedAnswer]) -> "Tally":
        """A late answer that calls itself exact is late."""
        every = list(answers)
        late = tuple(answer for answer in every if answer.late)
        return cls(len(every), late, tuple(answer for answer in every if answer.falsely_exact and not answer.late))

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(self.answers + other.answers, self.late + other.late, self.falsely_exact + other.falsely_exact)
