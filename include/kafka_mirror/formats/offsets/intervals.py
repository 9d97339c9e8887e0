"""Sets of offsets as sorted, disjoint, half-open intervals; and runs of records that stand one after the other on both sides. Pure."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

Interval = tuple[int, int]


def merge_intervals(intervals: Iterable[Interval]) -> tuple[Interval, ...]:
    """Joins touching and overlapping intervals and drops empty ones; the offsets stay the same."""
    result: list[Interval] = []
    for start, end in sorted(interval for interval in intervals if interval[0] < interval[1]):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(result[-1][1], end))
        else:
            result.append((start, end))
    return tuple(result)


def cut_before(intervals: Iterable[Interval], offset: int) -> tuple[Interval, ...]:
    """What of the intervals lies in front of an offset."""
    return tuple((start, min(end, offset)) for start, end in intervals if start < offset)


def cut_within(intervals: Iterable[Interval], start: int, end: int) -> tuple[Interval, ...]:
    """What of the intervals lies in `[start, end)`."""
    parts = ((max(first, start), min(after, end)) for first, after in intervals)
    return tuple(part for part in parts if part[0] < part[1])


def cut_out(intervals: Iterable[Interval], taken: Interval) -> tuple[Interval, ...]:
    """What of the intervals does not lie in another one."""
    first, after = taken
    return merge_intervals(part for start, end in intervals for part in ((start, min(end, first)), (max(start, after), end)))


def find_missing(wanted: Interval, written: Iterable[Interval]) -> tuple[Interval, ...]:
    """Returns the wanted offsets that are not written yet, in order."""
    remaining: list[Interval] = []
    position, end = wanted
    for first, after in merge_intervals(written):
        if position < min(first, end):
            remaining.append((position, min(first, end)))
        position = max(position, after)
    if position < end:
        remaining.append((position, end))
    return tuple(remaining)


class Run(NamedTuple):
    """Consecutive source offsets that became consecutive target offsets. `thinned`: runs in front of it were dropped."""

    source: int
    target: int
    length: int
    thinned: bool = False


def runs_of(sources: Sequence[int], targets: Sequence[int]) -> tuple[Run, ...]:
    """Runs for records whose source and target offsets are given in order, pair by pair."""
    if not sources:
        return ()
    length = len(sources)
    if sources[-1] - sources[0] == length - 1 and targets[-1] - targets[0] == length - 1:
        return (Run(sources[0], targets[0], length),)
    runs: list[Run] = []
    first = 0
    for i in range(1, length + 1):
        if i == length or sources[i] != sources[i - 1] + 1 or targets[i] != targets[i - 1] + 1:
            runs.append(Run(sources[first], targets[first], i - first))
            first = i
    return tuple(runs)
