"""The offset map of a partition: which source offset became which target offset.

A run `(source, target, length)` says that source offsets source … source+length−1 were written at target … target+length−1. Runs are in
order on both sides. The map is bounded, so old runs are thinned: a dropped run leaves the mark `thinned` on its successor, and a
translation that falls between a kept run and a thinned one answers the position right behind the kept run, which is early, never late:

    source   10 11 12 │ 20 21 │ 30 31          kept, dropped, kept (thinned)
    target    5  6  7 │ 10 11 │ 14 15
    translate(21) = 8: right behind target 7; the record itself is at 11, so three offsets are seen again and none is missed.

A cut through such a hole takes away the run that carries the mark. So the map itself remembers that it was `thinned_behind`: records of
which it knows nothing stand behind its last run, and whichever run comes next is marked.

    before(25)   10 11 12 │ ?? ??        thinned behind
    extended     10 11 12 │ ?? ?? │ 25 … at 40    marked, so translate(21) = 8 still, and not 40
"""

import base64
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mirror.offsets.thinning import Run, encoded_length, thinned

__all__ = ["MAX_ENCODED_BYTES", "OffsetMap", "Run", "Translation", "decoded", "runs_of"]

MAX_ENCODED_BYTES = 1536
"""How long an encoded map may be, before base64; 2,048 characters after it."""


_SHORT_OR_LONG = rb"(?:[\x00-\x7f]|[\x80-\xff]++[\x01-\x7f])"
_ENCODED = re.compile(rb"(?:" + _SHORT_OR_LONG + rb"{2}(?:[\x02-\x7f]|[\x80-\xff]++[\x01-\x7f]))*+")
"""Whole runs: three numbers each, none longer than it must be, the third one (twice the length) at least 2."""


@dataclass(frozen=True)
class Translation:
    """Where a consumer of the remote partition should go on, and whether that is the very record or an earlier one."""

    target: int
    exact: bool


class OffsetMap:
    """The runs of one partition, oldest first. A value: nothing changes it.

    One that was read stays as it was written until somebody asks for its runs: a ledger holds thousands of maps, of which a plan or a
    status looks at none, and as runs each would take thirty times the space.

    `thinned_behind`: records stand on the target behind the last run of which the map does not know what they are copies of. It is kept
    beside the map's bytes, in the ledger record.
    """

    __slots__ = ("_data", "_runs", "_size", "thinned_behind")

    def __init__(self, runs: tuple[Run, ...] = (), thinned_behind: bool = False) -> None:
        self._runs: tuple[Run, ...] | None = runs
        self._data: bytes | None = None
        self._size: int | None = None
        self.thinned_behind = thinned_behind

    @classmethod
    def _of(cls, data: bytes, thinned_behind: bool) -> "OffsetMap":
        """The map that these bytes stand for, which are one."""
        made = cls((), thinned_behind)
        made._runs, made._data, made._size = None, data, len(data)
        return made

    @property
    def runs(self) -> tuple[Run, ...]:
        """All of them."""
        if self._runs is None:
            self._runs = _runs(self._data or b"")
        return self._runs

    @property
    def source_end(self) -> int:
        """The source offset right behind the last record that the map knows; 0 if it knows none."""
        return self.runs[-1].source + self.runs[-1].length if self.runs else 0

    @property
    def target_end(self) -> int:
        """The target offset right behind the last record that the map knows; 0 if it knows none."""
        return self.runs[-1].target + self.runs[-1].length if self.runs else 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OffsetMap):
            return NotImplemented
        return (self.runs, self.thinned_behind) == (other.runs, other.thinned_behind)

    def __hash__(self) -> int:
        return hash((self.runs, self.thinned_behind))

    def __repr__(self) -> str:
        return f"OffsetMap({self.runs}{', thinned_behind=True' if self.thinned_behind else ''})"

    def extended(self, runs: Iterable[Run]) -> "OffsetMap":
        """The map with newer runs behind it, joined where they touch, thinned until it is small enough to be kept in the ledger."""
        joined, unknown, end, size = list(self.runs), self.thinned_behind, self.source_end, self._encoded_length()
        for run in runs:
            last = joined[-1] if joined else None
            if last and not run.thinned and last.source + last.length == run.source and last.target + last.length == run.target:
                joined[-1] = last._replace(length=last.length + run.length)
                before = joined[-2] if len(joined) > 1 else None
                size += encoded_length(before, joined[-1]) - encoded_length(before, last)
            else:
                joined.append(run._replace(thinned=True) if unknown else run)
                size += encoded_length(last, run)
            unknown = False
        kept = tuple(joined)
        if size > MAX_ENCODED_BYTES:
            kept, size = thinned(joined, size, MAX_ENCODED_BYTES, joined[-1].source + joined[-1].length - end)
        made = OffsetMap(kept, unknown)
        made._size = size
        return made

    def _encoded_length(self) -> int:
        if self._size is None:
            self._size = len(_encode(self.runs))
        return self._size

    def translate(self, source: int) -> Translation | None:
        """The target position of the first mirrored record at or behind a source offset; None for an empty map.

        Behind the last run: the position right behind its last record, which is not exact where the map is thinned behind it. In front of
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

    def around(self, source: int) -> tuple[Run, Run]:
        """The runs in front of and behind a source offset that lies between two runs."""
        index = bisect_right(self.runs, source, key=lambda run: run.source)
        return self.runs[index - 1], self.runs[index]

    def source_of(self, target: int) -> int | None:
        """The source offset of the first mirrored record at or behind a target offset: the very one while the map has its run, else an
        earlier one, never a later one. None for an empty map; behind the last run: right behind its last record."""
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

    def read_until(self, target: int) -> int:
        """The same as `source_of`, where other copies may stand between any two runs: there, right behind the run in front."""
        index = bisect_right(self.runs, target, key=lambda run: run.target) - 1
        if index < 0:
            return self.source_of(target) or 0
        run = self.runs[index]
        return run.source + min(target - run.target, run.length)

    def before(self, source: int) -> "OffsetMap":
        """The map of the records with smaller source offsets alone. Through a hole that was thinned the map is thinned behind then."""
        kept = tuple(run._replace(length=min(run.length, source - run.source)) for run in self.runs if run.source < source)
        in_front = kept[-1].source + kept[-1].length if kept else 0
        return OffsetMap(kept, self._mark_of(len(kept)) and source > in_front)

    def before_target(self, target: int) -> "OffsetMap":
        """The map of the records with smaller target offsets alone. What stands between its last one and the cut may be anything, such as
        copies from before a restart, so the map is thinned behind then."""
        kept = tuple(run._replace(length=min(run.length, target - run.target)) for run in self.runs if run.target < target)
        if len(kept) == len(self.runs) and kept == self.runs:
            return self
        return OffsetMap(kept, target > (kept[-1].target + kept[-1].length if kept else 0))

    def since(self, source: int) -> "OffsetMap":
        """The map of the records with source offsets from this one on alone."""
        kept = []
        for run in self.runs:
            ahead = source - run.source
            if ahead < run.length:
                kept.append(run if ahead <= 0 else Run(source, run.target + ahead, run.length - ahead))
        return OffsetMap(tuple(kept), self.thinned_behind)

    def behind_others(self) -> "OffsetMap":
        """The same map, marked as one in front of whose first record others stand that it does not know."""
        if not self.runs:
            return OffsetMap((), True)
        return OffsetMap((self.runs[0]._replace(thinned=True), *self.runs[1:]), self.thinned_behind)

    def _mark_of(self, index: int) -> bool:
        """Whether records that the map does not know stand in front of a run, or behind the last one."""
        return self.runs[index].thinned if index < len(self.runs) else self.thinned_behind

    def encoded(self) -> str:
        """The map as base64 of unsigned LEB128 numbers, three a run: distance in the source and in the target from the end of the run
        before, and twice the length, plus one if thinned. The first run counts from 0. These bytes persist in users' clusters."""
        return base64.b64encode(_encode(self.runs) if self._data is None else self._data).decode("ascii")


def decoded(text: str, thinned_behind: bool = False) -> OffsetMap:
    """The map in a ledger record, which says beside it whether it is thinned behind its end.

    Raises ValueError for text that is not one; every map has one text only.
    """
    data = base64.b64decode(text, validate=True)
    if base64.b64encode(data).decode("ascii") != text:
        raise ValueError("the offset map has bits behind its end")
    if not _ENCODED.fullmatch(data):
        _runs(data)  # says what is wrong
        raise ValueError("the offset map is none")
    return OffsetMap._of(data, thinned_behind)


def _runs(data: bytes) -> tuple[Run, ...]:
    numbers = _numbers(data)
    if len(numbers) % 3:
        raise ValueError("the offset map ends inside a run")
    runs: list[Run] = []
    source = target = 0
    for ahead, target_ahead, length_and_mark in zip(numbers[0::3], numbers[1::3], numbers[2::3], strict=True):
        run = Run(source + ahead, target + target_ahead, length_and_mark >> 1, bool(length_and_mark & 1))
        if run.length < 1:
            raise ValueError("the offset map has a run without offsets")
        runs.append(run)
        source, target = run.source + run.length, run.target + run.length
    return tuple(runs)


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


def _encode(runs: Sequence[Run]) -> bytes:
    out = bytearray()
    source = target = 0
    for run in runs:
        for number in (run.source - source, run.target - target, run.length << 1 | run.thinned):
            _append(out, number)
        source, target = run.source + run.length, run.target + run.length
    return bytes(out)


def _append(out: bytearray, number: int) -> None:
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)


def _numbers(data: bytes) -> list[int]:
    numbers: list[int] = []
    number = shift = 0
    for byte in data:
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            if not byte and shift > 7:
                raise ValueError("the offset map has a number that is longer than it must be")
            numbers.append(number)
            number = shift = 0
    if shift:
        raise ValueError("the offset map ends inside a number")
    return numbers
