"""Which fault comes next: each kill point of a trial as often as any other, and those again that hit nothing."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence

from tests.trial.cutovers import STEPS, CutoverOutcome, Fault

_MOST = 2
"""At most so many times the planned waves are played: a point that nothing hits would be dealt for ever."""


class FaultDeck:
    """Deals every kind of fault in every step, in an order by chance, again and again.

    A fault may come too late for its step. After the planned waves the points come again that were hit less often than their share.
    """

    def __init__(self, kinds: Sequence[str], waves: int, dice: random.Random) -> None:
        self._points = [Fault(kind, step) for kind in kinds for step in STEPS]
        self._waves = waves
        self._dice = dice
        self._hits: Counter[Fault] = Counter()

    def __iter__(self) -> Iterator[Fault]:
        cycle: list[Fault] = []
        for number in range(_MOST * self._waves):
            if number == self._waves:
                cycle = []
            if not cycle:
                cycle = self._points.copy() if number < self._waves else self._short()
                self._dice.shuffle(cycle)
            if not cycle:
                return
            yield cycle.pop()

    def count(self, outcome: CutoverOutcome) -> None:
        """Takes note of a wave that was played."""
        self._hits[outcome.fault] += outcome.is_hit

    def _short(self) -> list[Fault]:
        share = self._waves // len(self._points)
        return [point for point in self._points if self._hits[point] < share]
