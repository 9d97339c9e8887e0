"""Pairs of offsets that the ledger's offset map ties together: a source offset, and where the target went on then."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from mirror.offsets.map import Run


class Pair(NamedTuple):
    """A source offset and a target offset: what lies in front of one was written in front of the other."""

    source: int
    target: int


def pair_at(runs: Sequence[Run], source: int) -> Pair | None:
    """The pair of a source offset; None where the map is too coarse to know it."""
    index = bisect_right(runs, source, key=lambda run: run.source) - 1
    if index < 0:
        return Pair(source, runs[0].target) if runs and not runs[0].thinned else None
    run = runs[index]
    if source <= run.source + run.length:
        return Pair(source, run.target + source - run.source)
    if index + 1 < len(runs) and runs[index + 1].thinned:
        return None
    return Pair(source, run.target + run.length)


def pair_before(runs: Sequence[Run], source: int) -> Pair | None:
    """The last known pair at or in front of a source offset."""
    found = pair_at(runs, source)
    index = bisect_right(runs, source, key=lambda run: run.source) - 1
    if found is not None or index < 0:
        return found
    return Pair(runs[index].source + runs[index].length, runs[index].target + runs[index].length)


def pair_behind(runs: Sequence[Run], source: int) -> Pair | None:
    """The first known pair at or behind a source offset; None behind the last run."""
    found = pair_at(runs, source)
    if found is not None:
        return found
    index = bisect_right(runs, source, key=lambda run: run.source)
    return Pair(runs[index].source, runs[index].target) if index < len(runs) else None
