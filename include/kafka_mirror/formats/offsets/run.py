"""Runs of records that stand one after the other on both sides. Pure."""

from collections.abc import Sequence
from typing import NamedTuple


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
