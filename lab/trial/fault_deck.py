"""Which fault comes next: each kill point of a trial as often as any other, and again where a fault came too late."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence

from lab.trial.cutovers import STEPS, STEPS_OF, CutoverOutcome, Fault

_MOST = 2
"""How many times the planned waves are played at most: a point that no fault hits would be dealt for ever."""


class FaultDeck:
    """Deals every kind of fault in each step in which it can come, in an order by chance, again and again: to each wave a hand of them.

    A fault may come too late for its step. After the planned waves the points come again that were hit less often than their share.
    """

    def __init__(self, kinds: Sequence[str], waves: int, dice: random.Random, hand: int = 1) -> None:
        """`hand`: how many faults come in one wave, each in a step of its own."""
        self._points = [Fault(kind, step) for kind in kinds for step in STEPS_OF.get(kind, STEPS)]
        self._waves = waves
        self._dice = dice
        self._hand = hand
        self._hits: Counter[Fault] = Counter()

    def __iter__(self) -> Iterator[tuple[Fault, ...]]:
        cycle: list[Fault] = []
        for number in range(_MOST * self._waves):
            if number == self._waves:
                cycle = []
            if not cycle:
                cycle = self._points.copy() if number < self._waves else self._find_rarely_hit()
                self._dice.shuffle(cycle)
            if not cycle:
                return
            yield self._deal(cycle)

    def count(self, outcome: CutoverOutcome) -> None:
        """Takes note of a wave that was played."""
        self._hits.update(struck.fault for struck in outcome.faults if struck.is_hit)

    def _deal(self, cycle: list[Fault]) -> tuple[Fault, ...]:
        """A hand from the end of the cycle, which goes on without it."""
        hand: dict[str | None, Fault] = {}
        for fault in reversed(cycle):
            if len(hand) < self._hand:
                hand.setdefault(fault.step, fault)
        for fault in hand.values():
            cycle.remove(fault)
        return tuple(hand.values())

    def _find_rarely_hit(self) -> list[Fault]:
        share = self._waves * self._hand // len(self._points)
        return [point for point in self._points if self._hits[point] < share]
