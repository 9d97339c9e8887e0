"""The offset map of a partition: which source offset became which target offset.

A run `(source, target, length)` says that source offsets source … source+length−1 were written at target … target+length−1. Runs are in
order on both sides. The map is bounded, so old runs are thinned: a dropped run leaves the mark `thinned` on its successor, and a
translation that falls between a kept run and a thinned one answers the position right after the kept run, which is early, never late:

    source   10 11 12 │ 20 21 │ 30 31          kept, dropped, kept (thinned)
    target    5  6  7 │ 10 11 │ 14 15
    translate(21) = 8: right after target 7; the record itself is at 11, so three offsets are seen again and none is missed.

A cut through such a hole takes away the run that carries the mark. So the map itself remembers that it was `thinned_behind`: records of
which it knows nothing stand after its last run, and whichever run comes next is marked.

    cut_before(25)   10 11 12 │ ?? ??        thinned after
    with_runs        10 11 12 │ ?? ?? │ 25 … at 40    marked, so translate(21) = 8 still, and not 40
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kafka_mirror.formats.offsets.intervals import Run, runs_of
from kafka_mirror.formats.offsets.map_bytes import NO_PAIRS, PAIRS_BESIDE, Pairs, Runs, encode_runs, encoded_length, read_texts, texts

__all__ = ["MAX_ENCODED_BYTES", "OffsetMap", "Run", "Translation", "decode_map", "runs_of"]

MAX_ENCODED_BYTES = 1536
"""How long an encoded map may be, before base64; 2,048 characters after it."""


@dataclass(frozen=True)
class Translation:
    """Where a consumer of the remote partition should go on, and whether that is the very record or an earlier one."""

    target: int
    exact: bool


class OffsetMap:
    """The runs of one partition, oldest first. A value: nothing changes it.

    It consists of the runs of its own bytes, which every mirror reads, and of the pairs in their holes (`map_bytes`).
    What was read stays bytes until somebody asks for its runs.

    `thinned_behind`: records stand on the target after the last run of which the map does not know what they are copies of. It is kept
    beside the map's bytes, in the ledger record.
    """

    __slots__ = ("_parts", "_runs", "thinned_behind")

    def __init__(self, runs: tuple[Run, ...] = (), thinned_behind: bool = False) -> None:
        self._runs: tuple[Run, ...] | None = runs
        self._parts: tuple[Runs, Pairs] | None = None
        self.thinned_behind = thinned_behind

    @classmethod
    def of(cls, long_runs: Runs, pairs: Pairs, thinned_behind: bool) -> "OffsetMap":
        """The map of both its parts."""
        offset_map = cls((), thinned_behind)
        offset_map._runs, offset_map._parts = None, (long_runs, pairs)
        return offset_map

    def with_mark(self, thinned_behind: bool) -> "OffsetMap":
        """This map, marked as thinned after its last run or as whole there."""
        offset_map = OffsetMap(self._runs or (), thinned_behind)
        offset_map._runs, offset_map._parts = self._runs, self._parts
        return offset_map

    @property
    def runs(self) -> tuple[Run, ...]:
        """All of them."""
        if self._runs is None:
            long_runs, pairs = self.parts
            self._runs = tuple(sorted((*long_runs.runs, *pairs.runs))) if pairs.data else long_runs.runs
        return self._runs

    @property
    def parts(self) -> tuple[Runs, Pairs]:
        """The runs of its own bytes, and the pairs in its holes if all of them together would be too long."""
        if self._parts is None:
            long_runs = Runs(self.runs)
            self._parts = (long_runs, NO_PAIRS) if long_runs.size <= MAX_ENCODED_BYTES else split(self.runs)
        return self._parts

    @property
    def last(self) -> Run | None:
        """The newest run; None if it knows none."""
        runs = self._runs if self._runs is not None else self.parts[0].runs
        return runs[-1] if runs else None

    @property
    def source_end(self) -> int:
        """The source offset right after the last record that the map knows; 0 if it knows none."""
        last = self.last
        return last.source + last.length if last else 0

    @property
    def target_end(self) -> int:
        """The target offset right after the last record that the map knows; 0 if it knows none."""
        last = self.last
        return last.target + last.length if last else 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OffsetMap):
            return NotImplemented
        return (self.runs, self.thinned_behind) == (other.runs, other.thinned_behind)

    def __hash__(self) -> int:
        return hash((self.runs, self.thinned_behind))

    def __repr__(self) -> str:
        return f"OffsetMap({self.runs}{', thinned_behind=True' if self.thinned_behind else ''})"

    def with_runs(self, runs: Iterable[Run]) -> "OffsetMap":
        """The map with newer runs after it, joined where they touch, thinned until it is small enough to be kept in the ledger."""
        (long_runs, pairs), more = self.parts, tuple(runs)
        if not more:
            return self
        long_runs = long_runs.with_runs(more, self.thinned_behind)
        if long_runs.size + pairs.size > MAX_ENCODED_BYTES:
            long_runs, pairs = thin(sorted((*long_runs.runs, *pairs.runs)), MAX_ENCODED_BYTES)
        return OffsetMap.of(long_runs, pairs, False)

    def translate(self, source: int) -> Translation | None:
        """The target position of the first mirrored record at or after a source offset; None for an empty map.

        After the last run: the position right after its last record, which is not exact where the map is thinned after it. In front of
        the first run: the first record; or, if others were in front of it (a flow that was taken over), the beginning of the remote
        partition.
        """
        if not self.runs:
            return None
        index = bisect_right(self.runs, source, key=lambda run: run.source) - 1
        if index < 0:
            first = self.runs[0]
            return Translation(0, False) if first.thinned else Translation(first.target, True)
        run = self.runs[index]
        if source < run.source + run.length:
            return Translation(run.target + source - run.source, True)
        if index + 1 == len(self.runs):
            return Translation(run.target + run.length, not self.thinned_behind)
        following = self.runs[index + 1]
        if following.thinned:
            return Translation(run.target + run.length, False)
        return Translation(following.target, True)

    def find_around(self, source: int) -> tuple[Run, Run]:
        """The runs before and after a source offset that lies between two runs."""
        index = bisect_right(self.runs, source, key=lambda run: run.source)
        return self.runs[index - 1], self.runs[index]

    def source_of(self, target: int) -> int | None:
        """The source offset of the first mirrored record at or after a target offset: the very one while the map has its run, else an
        earlier one, never a later one. None for an empty map; after the last run: right after its last record."""
        if not self.runs:
            return None
        index = bisect_right(self.runs, target, key=lambda run: run.target) - 1
        if index < 0:
            return 0 if self.runs[0].thinned else self.runs[0].source
        run = self.runs[index]
        if target < run.target + run.length or index + 1 == len(self.runs):
            return run.source + min(target - run.target, run.length)
        following = self.runs[index + 1]
        return run.source + run.length if following.thinned else following.source

    def find_read_end(self, target: int) -> int:
        """The source offset up to which a reader at a target offset has read. Between two runs, where other copies may stand, that is the
        end of the run before."""
        index = bisect_right(self.runs, target, key=lambda run: run.target) - 1
        if index < 0:
            return self.source_of(target) or 0
        run = self.runs[index]
        return run.source + min(target - run.target, run.length)

    def cut_before(self, source: int) -> "OffsetMap":
        """The map of the records with smaller source offsets alone. Through a hole that was thinned the map is thinned after then."""
        cut = tuple(run._replace(length=min(run.length, source - run.source)) for run in self.runs if run.source < source)
        in_front = cut[-1].source + cut[-1].length if cut else 0
        is_marked = self.runs[len(cut)].thinned if len(cut) < len(self.runs) else self.thinned_behind
        return OffsetMap(cut, is_marked and source > in_front)

    def cut_before_target(self, target: int) -> "OffsetMap":
        """The map of the records with smaller target offsets alone. What stands between its last one and the cut may be anything, such as
        copies from before a restart, so the map is thinned after then."""
        cut = tuple(run._replace(length=min(run.length, target - run.target)) for run in self.runs if run.target < target)
        if len(cut) == len(self.runs) and cut == self.runs:
            return self
        return OffsetMap(cut, target > (cut[-1].target + cut[-1].length if cut else 0))

    def cut_since(self, source: int) -> "OffsetMap":
        """The map of the records with source offsets from this one on alone."""
        cut = []
        for run in self.runs:
            ahead = source - run.source
            if ahead < run.length:
                cut.append(run if ahead <= 0 else Run(source, run.target + ahead, run.length - ahead))
        return OffsetMap(tuple(cut), self.thinned_behind)

    def with_unknown_front(self) -> "OffsetMap":
        """This map, marked as one that does not know the records before its first one."""
        if not self.runs:
            return OffsetMap((), True)
        return OffsetMap((self.runs[0]._replace(thinned=True), *self.runs[1:]), self.thinned_behind)

    def encode(self) -> tuple[str, str | None]:
        """The map as two texts: its own bytes, which alone are as sound, and coarser; and the pairs in its holes, None if it has none."""
        return texts(*self.parts)


def decode_map(text: str, pairs: str | None = None, thinned_behind: bool = False) -> OffsetMap:
    """The map in a ledger record, which says beside it whether it is thinned after its end, and may have pairs.

    Raises ValueError for text that is not one; every map has one text only.
    """
    return OffsetMap.of(*read_texts(text, pairs), thinned_behind)


NEWEST = 64
"""How many of the newest runs are never dropped, unless they need more than a quarter of the bytes."""
CELLS = 64
"""A hole is at most 1/64 (1.6 %) as wide as its distance from the end of the log."""

_LONG = 16
"""How many times its length a run's lag may be while the run stays whole."""
_SLACK = 8
"""A map that is too long gets shorter by this part of its length more, so that it is not thinned for every transaction."""


def thin(runs: Sequence[Run], most: int) -> tuple[Runs, Pairs]:
    """Returns the runs that a map keeps, in at most `most` bytes if more than the first and the last one are left.

    Of old runs it drops all but the first record of each cell of the source, and cells get wider with the lag. A group in a hole goes on at
    the hole's beginning and reads again what the hole is long; what it lags is the distance to the end. So a cell may be as wide as its lag
    divided by 64, the next power of two below that:

        lag          65,536            32,768            16,384      8,192
        cells of        │    512          │     256         │    128   │ …
        pairs           ├──┬──┬──┬─ … ──┬─┼─┬─┬─┬─┬─ … ─┬─┬─┼┬┬┬┬ … ┬┬┤ …  newest runs

    Cells begin at multiples of their width, so later cells are earlier ones drawn together, and it does not matter when a map is thinned.
    A run that is long for its lag stays whole. Where even that is too much, the pairs stay whose absence would widen a hole most in
    proportion to its lag.
    """
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
