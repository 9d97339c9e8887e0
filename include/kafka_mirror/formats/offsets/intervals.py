"""Sets of offsets as sorted, disjoint, half-open intervals."""

from collections.abc import Iterable

Interval = tuple[int, int]


def merged(intervals: Iterable[Interval]) -> tuple[Interval, ...]:
    """Joins touching and overlapping intervals and drops empty ones; the offsets stay the same."""
    result: list[Interval] = []
    for start, end in sorted(interval for interval in intervals if interval[0] < interval[1]):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(result[-1][1], end))
        else:
            result.append((start, end))
    return tuple(result)


def before(intervals: Iterable[Interval], offset: int) -> tuple[Interval, ...]:
    """What of the intervals lies in front of an offset."""
    return tuple((start, min(end, offset)) for start, end in intervals if start < offset)


def within(intervals: Iterable[Interval], start: int, end: int) -> tuple[Interval, ...]:
    """What of the intervals lies in `[start, end)`."""
    parts = ((max(first, start), min(after, end)) for first, after in intervals)
    return tuple(part for part in parts if part[0] < part[1])


def without(intervals: Iterable[Interval], taken: Interval) -> tuple[Interval, ...]:
    """What of the intervals does not lie in another one."""
    first, after = taken
    return merged(part for start, end in intervals for part in ((start, min(end, first)), (max(start, after), end)))


def missing(wanted: Interval, written: Iterable[Interval]) -> tuple[Interval, ...]:
    """Returns the wanted offsets that are not written yet, in order."""
    remaining: list[Interval] = []
    position, end = wanted
    for first, after in merged(written):
        if position < min(first, end):
            remaining.append((position, min(first, end)))
        position = max(position, after)
    if position < end:
        remaining.append((position, end))
    return tuple(remaining)
