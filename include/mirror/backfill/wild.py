"""Wild timestamps: a record that is stamped so far ahead of its neighbours that it takes their place in time.

    offsets      40    41    42     43    44    45
    stamped      d3    d3    2040   d3    d4    d5       o(d4) = o(d5) = o(d6) = 42: the intervals of d4 and d5 are empty

Records are looked at from the interval's end on: the one that stands there is stamped behind the interval, and if one that follows is
stamped inside or in front of the interval's end, the first one jumped over it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from mirror.backfill.tiling import OffsetInterval, TimeInterval

SAMPLE = 16
"""How many offsets behind the end of an interval are looked at."""


@dataclass(frozen=True)
class Stamped:
    """A record's offset and its timestamp in Unix milliseconds."""

    offset: int
    timestamp: int


def jumped_over(interval: OffsetInterval, times: TimeInterval, behind: Sequence[Stamped]) -> Stamped | None:
    """The record at the interval's end whose timestamp jumps over it, if there is one. `behind` are the visible records from the interval's
    end on, in order.

    One of an interval that has records counts only if it is ahead of those behind it by more than the interval is long: records that come a
    little late are nothing special.
    """
    ahead = next((each for each in behind if each.timestamp >= times.end), None)
    if ahead is None:
        return None
    late = [each.timestamp for each in behind if each.offset > ahead.offset and each.timestamp < times.end]
    if not late:
        return None
    if interval.offsets and ahead.timestamp - max(late) <= times.end - times.start:
        return None
    return ahead
