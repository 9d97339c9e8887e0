"""Wild timestamps: a record that is stamped so far ahead of its neighbours that it takes their place in time.

    offsets      40    41    42     43    44    45
    stamped      d3    d3    2040   d3    d4    d5       o(d4) = o(d5) = o(d6) = 42: the intervals of d4 and d5 are empty

Records are looked at from the interval's end on: the one that stands there is stamped behind the interval, and if most of those that follow
it are not, it jumped over them. If most of them are, the others are merely late, and nothing is said.
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

    One behind an interval with records counts only if it is ahead of those behind it by more than the interval is long: that records are
    a little out of order is nothing special.
    """
    ahead = next((each for each in behind if each.timestamp >= times.end), None)
    if ahead is None:
        return None
    following = [each.timestamp for each in behind if each.offset > ahead.offset]
    late = [timestamp for timestamp in following if timestamp < times.end]
    if not late or 2 * len(late) < len(following):
        return None
    if interval.offsets and ahead.timestamp - max(late) <= times.end - times.start:
        return None
    return ahead
