"""Automata over the characters of topic names, so that it can be told whether patterns have a name in common."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from mirror.policy import name_pattern
from mirror.policy.java_regex import compile_java
from mirror.policy.name_pattern import Alternatives, Letters, Part, Repetition

_MOST_WORK = 1_000_000
"""So many places are looked at, in whatever combinations; beyond them a name in common is taken for granted."""
_MOST_PLACES = 100_000
"""A pattern that needs more, such as ((a{99}){99}){99}, is taken for anything or, where it has to be certain, for nothing."""
_BEGIN, _END = 0, 1


@dataclass
class Automaton:
    """Places, and the steps from each: by one character of a set (a bit each), or by none."""

    steps: list[list[tuple[int, int]]] = field(default_factory=lambda: [[], []])
    free: list[list[int]] = field(default_factory=lambda: [[], []])

    def add(self, part: Part, begin: int) -> int:
        """Lays out a part from the place `begin`; gives the place behind it. Nothing leads back to `begin`."""
        match part:
            case Letters():
                end = self._place()
                self.steps[begin].append((part.bits, end))
                return end
            case Alternatives():
                return self._joined([self.add(inner, begin) for inner in part.parts])
            case Repetition():
                return self._repeat(part, begin)
        for inner in part.parts:
            begin = self.add(inner, begin)
        return begin

    def closure(self, places: Iterable[int]) -> frozenset[int]:
        """Returns the places and all that are reached from them without a character."""
        reached = set(places)
        waiting = list(reached)
        while waiting:
            further = [place for place in self.free[waiting.pop()] if place not in reached]
            reached.update(further)
            waiting.extend(further)
        return frozenset(reached)

    def after(self, places: frozenset[int], letter: int) -> frozenset[int]:
        """Where a character leads; `letter` is its bit."""
        return self.closure(further for place in places for letters, further in self.steps[place] if letters & letter)

    def _place(self) -> int:
        if len(self.steps) >= _MOST_PLACES:
            raise OverflowError("too many places")
        self.steps.append([])
        self.free.append([])
        return len(self.steps) - 1

    def _joined(self, ends: Iterable[int]) -> int:
        behind = self._place()
        for end in ends:
            self.free[end].append(behind)
        return behind

    def _repeat(self, part: Repetition, begin: int) -> int:
        for _ in range(part.least):
            begin = self.add(part.part, begin)
        if part.most is None:
            loop = self._joined([begin])
            self.free[self.add(part.part, loop)].append(loop)
            return self._joined([loop])
        ends = [begin]
        for _ in range(part.most - part.least):
            ends.append(self.add(part.part, ends[-1]))
        return self._joined(ends)


@lru_cache(maxsize=512)
def automaton(pattern: str, wide: bool) -> Automaton:
    """The automaton of a Java pattern, `wide` as in `name_pattern`. Raises ValueError for one that `compile_java` refuses."""
    compile_java(pattern)
    try:
        return _laid_out(name_pattern.parse(pattern, wide))
    except OverflowError:
        return _laid_out(name_pattern.ANYTHING if wide else name_pattern.NOTHING)


def _laid_out(part: Part) -> Automaton:
    automaton = Automaton()
    automaton.free[automaton.add(part, _BEGIN)].append(_END)
    return automaton


def has_common_name(included: Sequence[Automaton], excluded: Sequence[Automaton]) -> bool:
    """Whether there is a topic name that all of `included` accept and none of `excluded`."""
    automata, needed = [*included, *excluded], len(included)
    letters = _representatives(automata)
    start = tuple(automaton.closure([_BEGIN]) for automaton in automata)
    reached, waiting, work = {start}, [start], 0
    while waiting:
        state = waiting.pop()
        for letter in letters:
            following = tuple(automaton.after(places, letter) for automaton, places in zip(automata, state, strict=True))
            work += sum(map(len, following))
            if work > _MOST_WORK:
                return True
            if following in reached or not all(following[:needed]):
                continue
            accepting = [_END in places for places in following]
            if all(accepting[:needed]) and not any(accepting[needed:]):
                return True
            reached.add(following)
            waiting.append(following)
    return False


def _representatives(automata: Iterable[Automaton]) -> list[int]:
    """One character (as its bit) of each set of characters that no automaton tells apart."""
    parts = [name_pattern.ANY.bits]
    for letters in {letters for automaton in automata for steps in automaton.steps for letters, _ in steps}:
        parts = [part for whole in parts for part in (whole & letters, whole & ~letters) if part]
    return [part & -part for part in parts]
