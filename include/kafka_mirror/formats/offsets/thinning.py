"""Which runs an offset map forgets when it has grown too long: all but the first record of each cell of the source, wider and wider cells.

A group that stands in a hole goes on at the hole's beginning, so it reads again what the hole is long; what it lags behind is the distance
to the end. So a cell may be as wide as its lag divided by 64, the next power of two below that:

    lag          65,536            32,768            16,384      8,192
    cells of        │    512          │     256         │    128   │ …
    pairs           ├──┬──┬──┬─ … ──┬─┼─┬─┬─┬─┬─ … ─┬─┬─┼┬┬┬┬ … ┬┬┤ …  newest runs

64 cells for each doubling of the lag, whatever the flow: a year has 13 more doublings than an hour. Cells begin at multiples of their
width, so those of a later time are those of today drawn together, and it does not matter when a map was thinned. Markers between a source's
transactions are drawn together with them. A run that is long for its lag stays whole, one that is not is cut to its first record of a cell.

Where even that is too long, the pairs stay whose absence would widen a hole most in proportion to its lag.

Pure.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from kafka_mirror.formats.offsets.intervals import Run
from kafka_mirror.formats.offsets.map_bytes import PAIRS_BESIDE, Pairs, Runs, encode_runs, encoded_length

NEWEST = 64
"""How many of the newest runs are never dropped, unless they need more than a quarter of the bytes."""
CELLS = 64
"""A hole is at most 1/64 (1.6 %) as wide as its distance from the end of the log."""

_LONG = 16
"""How many times its length a run's lag may be while the run stays whole."""
_SLACK = 8
"""A map that is too long gets shorter by this part of its length more, so that it is not thinned for every transaction."""


def thin(runs: Sequence[Run], most: int) -> tuple[Runs, Pairs]:
    """Returns the runs that a map keeps, in at most `most` bytes if more than the first and the last one are left."""
    newest = _choose_newest(runs, most // 4)
    while True:
        long_runs, pairs = _choose_within(most - most // _SLACK, runs[0], runs[1:-newest], runs[-newest:])
        if newest == 1 or long_runs.size + pairs.size <= most:
            return long_runs, pairs
        newest //= 2


def split(runs: Sequence[Run]) -> tuple[Runs, Pairs]:
    """Runs divided into those of the map's own bytes and the pairs in its holes: a run between two holes is one, but for the last of each
    doubling of the lag. So a mirror that does not know of the pairs sends a group back by what it lags behind at most."""
    long_runs, end = list(runs[:1]), runs[-1].source + runs[-1].length
    pairs: list[Run] = []
    for run, after in pairwise(runs[1:]):
        same = (end - run.source).bit_length() == (end - after.source).bit_length()
        (pairs if same and run.thinned and after.thinned else long_runs).append(run)
    return Runs((*long_runs, *runs[1:][-1:])), Pairs(tuple(pairs))


def _choose_within(most: int, first: Run, old: Sequence[Run], newest: Sequence[Run]) -> tuple[Runs, Pairs]:
    """The first and the newest runs and as much of what lies between as the bytes allow."""
    if old:
        newest = (newest[0]._replace(thinned=True), *newest[1:])
    end = newest[-1].source + newest[-1].length
    candidates = chosen = _choose_first_of_cells(first, old, end)
    long_runs, pairs = split((first, *chosen, *newest))
    room = max(most - len(encode_runs((first, *newest))) - PAIRS_BESIDE, 0)
    while chosen and long_runs.size + pairs.size > most:
        taken = long_runs.size + pairs.size - most + room
        chosen = _choose_most_worth(candidates, first, end, min(len(chosen) - 1, room * len(chosen) // taken))
        long_runs, pairs = split((first, *chosen, *newest))
    return long_runs, pairs


def _choose_first_of_cells(first: Run, old: Sequence[Run], end: int) -> list[Run]:
    """The first record of each cell, and runs that are long for their lag."""
    first_runs, last = [], first.source + first.length - 1
    for run in _cut_pieces(old, end):
        until = run.source + run.length - 1
        if CELLS << (last ^ until).bit_length() > end - until:
            first_runs.append(run if run.thinned else run._replace(thinned=True))
        last = until
    return first_runs


def _cut_pieces(runs: Sequence[Run], end: int) -> Iterator[Run]:
    """The runs, those that are short for their lag as single records: the first one, and those at which a cell may begin."""
    for run in runs:
        after = run.source + run.length
        lag = end - after
        if run.length == 1 or lag <= _LONG * run.length:
            yield run
            continue
        yield run._replace(length=1)
        width = 1 << max((lag // CELLS).bit_length() - 2, 0)
        for source in range((run.source // width + 1) * width, after, width):
            yield Run(source, run.target + source - run.source, 1)


def _choose_most_worth(runs: Sequence[Run], first: Run, end: int, number: int) -> list[Run]:
    """As many runs as fit: those without which the cells would be widest in proportion to their lag."""
    worth, last = [], first.source + first.length - 1
    for run in runs:
        until = run.source + run.length - 1
        worth.append((1 << (last ^ until).bit_length()) / (end - until))
        last = until
    least = sorted(worth, reverse=True)[number]
    return [run for run, value in zip(runs, worth, strict=True) if value > least]


def _choose_newest(runs: Sequence[Run], size: int) -> int:
    """How many of the newest runs stay, at least the last one."""
    number = 1
    while number < min(NEWEST, len(runs) - 1):
        size -= encoded_length(runs[-number - 1], runs[-number])
        if size < 0:
            break
        number += 1
    return number
