"""For how long partitions have had something to copy: remembered from one check to the next.

The age of the oldest record that is not copied is no measure by itself: a producer may stamp its records with last year's dates. What
counts is since when the mirror could have copied it.

    end of the source, as seen at four checks      0   40  40  90
    watermark                                      0   0   40  40
                                                       |       `- behind since the 4th check: 90 was seen first then
                                                       `- behind since the 2nd check
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kafka_mirror.formats.offsets.partition import TopicPartition

MARKS = 6
"""How many ends are remembered of a partition. With fewer than the checks that it is behind, the wait is understated by a fraction."""


@dataclass(frozen=True)
class PartitionWork:
    """What a partition has to copy now: from the position on to the end, both offsets of the source, the position below the end."""

    position: int
    end: int


@dataclass(frozen=True)
class WaitingPartition:
    """A partition with something to copy. `since`: when it was first seen at this position, with something to copy (Unix seconds).
    `ends`: when the source was first seen to reach which end, the oldest first, all of them beyond the position."""

    position: int
    since: float
    ends: tuple[tuple[float, int], ...]

    def seconds(self, now: float) -> float:
        """For how long the oldest record that is not copied has been there, at least."""
        return max(now - self.ends[0][0], 0.0)

    def seconds_without_progress(self, now: float) -> float:
        """For how long the position has not moved though there was something to copy."""
        return max(now - self.since, 0.0)


Memory = Mapping[TopicPartition, WaitingPartition]
"""The partitions that had something to copy when it was last looked."""


def update_wait_times(
    memory: Memory | None, work: Mapping[TopicPartition, PartitionWork], unknown: Iterable[TopicPartition], now: float
) -> Memory:
    """Returns the memory after a check that found this work; for `unknown` partitions it stays as it was."""
    before = memory or {}
    unchanged = {tp: before[tp] for tp in unknown if tp in before}
    return unchanged | {tp: _waiting(before.get(tp), partition_work, now) for tp, partition_work in work.items()}


def _waiting(before: WaitingPartition | None, work: PartitionWork, now: float) -> WaitingPartition:
    if before is None or work.position < before.position:
        return WaitingPartition(work.position, now, ((now, work.end),))
    since = before.since if before.position == work.position else now
    ends = tuple((time, end) for time, end in before.ends if end > work.position)
    if not ends or work.end > ends[-1][1]:
        ends = (*ends, (now, work.end))
    return WaitingPartition(work.position, since, _thinned(ends))


def _thinned(ends: tuple[tuple[float, int], ...]) -> tuple[tuple[float, int], ...]:
    """At most MARKS of them: those go whose neighbours are nearest in time; never the first or the last."""
    while len(ends) > MARKS:
        least = min(range(1, len(ends) - 1), key=lambda place: ends[place + 1][0] - ends[place - 1][0])
        ends = ends[:least] + ends[least + 1 :]
    return ends
