"""Which runs an offset map forgets when it has grown too long: those that widen a hole least in proportion to its distance from the end.

A group that stands in a hole goes on at the hole's beginning, so it reads again what the hole is long, and what it lags behind is the
distance to the end. Dropping always the run after which that proportion is smallest keeps it even over all lags:

    lag          100,000          10,000        1,000   100  0
    runs      │   ┊    ┊    ┊   ┊   ┊   ┊  ┊  ┊  ┊ ┊ ┊ ┊┊┊┊┊┊┊│     the first run and the newest ones are never dropped

The markers of a source's transactions part runs by an offset each; they are drawn together by the same rule, for what is short and far off
widens a hole by next to nothing. A run of a newer transaction may lie in a hole: then its mark says so, and an answer is early.

Pure.
"""

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

NEWEST = 64
"""So many of the newest runs are not dropped, or as many as a quarter of the bytes takes."""

_SLACK = 64
"""A map that is too long gets shorter by this part of its length more, so that it is not thinned for every transaction."""
_TRANSACTIONS = 10
"""Distances count from so many transactions behind the end: a hole near the end may have a part of one transaction."""
_MANY = 2048


class Run(NamedTuple):
    """Consecutive source offsets that became consecutive target offsets. `thinned`: runs in front of it were dropped."""

    source: int
    target: int
    length: int
    thinned: bool = False


def encoded_length(before: Run | None, run: Run) -> int:
    """How many bytes a run takes in the map's encoding behind the one before it."""
    source = run.source - (before.source + before.length) if before else run.source
    target = run.target - (before.target + before.length) if before else run.target
    return ((source | 1).bit_length() + 6) // 7 + ((target | 1).bit_length() + 6) // 7 + (run.length.bit_length() + 7) // 7


def thinned(runs: Sequence[Run], size: int, most: int, transaction: int) -> tuple[tuple[Run, ...], int]:
    """The runs that stay, and how many bytes they take, at most `most` if more than two runs are left. `size`: what they take now,
    `transaction`: the number of source offsets that the newest one brought."""
    offset = _TRANSACTIONS * transaction
    if len(runs) > _MANY:
        runs = _swept(runs, offset)
        size = _size(runs)
    if size <= most:
        return tuple(runs), size
    work, newest = _Thinning(runs, size, offset), _newest(runs, most // 4)
    while work.size > most and newest:
        work.drop(most - most // _SLACK, newest)
        newest //= 2
    return work.left(), work.size


class _Thinning:
    def __init__(self, runs: Sequence[Run], size: int, offset: int) -> None:
        self.size = size
        self._runs = list(runs)
        self._before = list(range(-1, len(runs) - 1))
        self._behind = list(range(1, len(runs) + 1))
        self._gone = bytearray(len(runs))
        self._end = runs[-1].source + runs[-1].length + offset + 1

    def left(self) -> tuple[Run, ...]:
        """The runs that were not dropped."""
        return tuple(run for run, gone in zip(self._runs, self._gone, strict=True) if not gone)

    def drop(self, size: int, newest: int) -> None:
        """Drops runs until the rest takes `size` bytes, but not the first and not the newest."""
        candidates = [(self._widened(index), index) for index in range(1, len(self._runs) - newest) if not self._gone[index]]
        heapify(candidates)
        last = len(self._runs) - newest
        while candidates and self.size > size:
            proportion, index = heappop(candidates)
            if self._gone[index] or proportion != self._widened(index):
                continue
            before, behind = self._forget(index)
            for changed in (before, behind):
                if 0 < changed < last:
                    heappush(candidates, (self._widened(changed), changed))

    def _widened(self, index: int) -> float:
        """The hole that is there without a run, in proportion to its distance from the end."""
        before, behind = self._runs[self._before[index]], self._runs[self._behind[index]]
        return (behind.source - before.source - before.length) / (self._end - behind.source)

    def _forget(self, index: int) -> tuple[int, int]:
        before, behind = self._before[index], self._behind[index]
        runs = self._runs
        self.size -= encoded_length(runs[before], runs[index]) + encoded_length(runs[index], runs[behind])
        runs[behind] = runs[behind]._replace(thinned=True)
        self.size += encoded_length(runs[before], runs[behind])
        self._behind[before], self._before[behind], self._gone[index] = behind, before, 1
        return before, behind


def _newest(runs: Sequence[Run], size: int) -> int:
    """How many of the newest runs stay, at least the last one."""
    number = 1
    while number < min(NEWEST, len(runs) - 1):
        size -= encoded_length(runs[-number - 1], runs[-number])
        if size < 0:
            break
        number += 1
    return number


def _swept(runs: Sequence[Run], offset: int) -> list[Run]:
    """About as many of very many runs as are worth a closer look: what one pass drops for holes that are small in proportion."""
    end, proportion, first = runs[-1].source + runs[-1].length + offset, 0.0005, len(runs)
    kept = list(runs)
    while len(kept) > _MANY and proportion < 1:
        first = len(kept) - NEWEST
        left, dropped = kept[:1], False
        for index in range(1, first):
            run, last = kept[index], left[-1]
            behind = kept[index + 1].source
            if behind - last.source - last.length <= proportion * (end - behind):
                dropped = True
            else:
                left.append(run._replace(thinned=True) if dropped else run)
                dropped = False
        if dropped:
            kept[first] = kept[first]._replace(thinned=True)
        kept = left + kept[first:]
        proportion *= 2
    return kept


def _size(runs: Sequence[Run]) -> int:
    return sum(encoded_length(before, run) for before, run in zip((None, *runs), runs, strict=False))
