"""The offset map as bytes that persist in users' clusters: its runs, and apart from them the pairs in its holes.

    offset_map         first run │       run       │       run       │ newest runs          all that older mirrors know: sound, and coarse
    offset_map_pairs             └ pair pair pair ─┴ pair pair pair ─┘                      a second text, for mirrors that know it

A run is three unsigned LEB128 numbers: its distance in the source and in the target from the end of the run before, and twice its length,
plus one if thinned. The first one counts from 0. How pairs are written, `pair_bytes` tells; in front of them stands a
CRC-32 of both, so they are read with the very runs whose holes they are in, or refused. Both texts are base64.

Bytes become runs when somebody asks for them: a ledger holds thousands of maps, of which a plan or a status looks at none, and as runs each
would take thirty times the space. Pure.
"""

import base64
import re
import zlib
from collections.abc import Iterable, Sequence

from kafka_mirror.formats.offsets.numbers import append_number, numbers
from kafka_mirror.formats.offsets.pair_bytes import decode_pairs, encode_pairs
from kafka_mirror.formats.offsets.run import Run

PAIRS_BESIDE = 6
"""How many bytes more than their own the pairs take: the CRC, and what base64 of two texts may fill up."""
_CRC_BYTES = 4

_SHORT_OR_LONG = rb"(?:[\x00-\x7f]|[\x80-\xff]++[\x01-\x7f])"
_ENCODED = re.compile(rb"(?:" + _SHORT_OR_LONG + rb"{2}(?:[\x02-\x7f]|[\x80-\xff]++[\x01-\x7f]))*+")
"""Whole runs: three numbers each, none longer than it must be, the third one (twice the length) at least 2."""


class Runs:
    """Runs of the map's own bytes."""

    __slots__ = ("_data", "_runs")

    def __init__(self, runs: tuple[Run, ...] | None, data: bytes | None = None) -> None:
        """One of runs and bytes is there, or both."""
        self._runs, self._data = runs, data

    @property
    def runs(self) -> tuple[Run, ...]:
        """All of them."""
        if self._runs is None:
            self._runs = decode_runs(self._data or b"")
        return self._runs

    @property
    def data(self) -> bytes:
        """Their bytes."""
        if self._data is None:
            self._data = encode_runs(self._runs or ())
        return self._data

    @property
    def size(self) -> int:
        """How many bytes they take."""
        return len(self.data)

    def extended(self, more: Iterable[Run], thinned_behind: bool) -> "Runs":
        """With newer runs after them, joined where they touch; only those are encoded. `thinned_behind`: the first of them is marked."""
        runs, data = list(self.runs), self.data
        same = max(len(runs) - 1, 0)
        if runs:
            data = data[: -encoded_length(runs[-2] if same else None, runs[-1])]
        for run in more:
            last = runs[-1] if runs else None
            if last and not run.thinned and last.source + last.length == run.source and last.target + last.length == run.target:
                runs[-1] = last._replace(length=last.length + run.length)
            else:
                runs.append(run._replace(thinned=True) if thinned_behind else run)
            thinned_behind = False
        return Runs(tuple(runs), data + encode_runs(runs[same:], runs[same - 1] if same else None))


class Pairs:
    """Thinned runs in the holes of others, nearly all of one record. `size`: how many bytes they take, with what stands beside them."""

    __slots__ = ("_runs", "data")

    def __init__(self, runs: tuple[Run, ...] | None, data: bytes | None = None) -> None:
        """One of runs and bytes is there."""
        self._runs = runs
        self.data = encode_pairs(runs or ()) if data is None else data

    @property
    def runs(self) -> tuple[Run, ...]:
        """All of them."""
        if self._runs is None:
            self._runs = decode_pairs(self.data)
        return self._runs

    @property
    def size(self) -> int:
        """How many bytes they take."""
        return len(self.data) + PAIRS_BESIDE if self.data else 0


NO_PAIRS = Pairs(())


def encoded_length(before: Run | None, run: Run) -> int:
    """How many bytes a run takes after the one before it."""
    source = run.source - (before.source + before.length) if before else run.source
    target = run.target - (before.target + before.length) if before else run.target
    return ((source | 1).bit_length() + 6) // 7 + ((target | 1).bit_length() + 6) // 7 + (run.length.bit_length() + 7) // 7


def encode_runs(runs: Sequence[Run], before: Run | None = None) -> bytes:
    """The bytes of runs, after the one `before` them."""
    out = bytearray()
    source, target = (before.source + before.length, before.target + before.length) if before else (0, 0)
    for run in runs:
        append_number(out, run.source - source)
        append_number(out, run.target - target)
        append_number(out, run.length << 1 | run.thinned)
        source, target = run.source + run.length, run.target + run.length
    return bytes(out)


def decode_runs(data: bytes) -> tuple[Run, ...]:
    """The runs of bytes. Raises ValueError for bytes that are none."""
    decoded = numbers(data)
    if len(decoded) % 3:
        raise ValueError("the offset map ends inside a run")
    runs: list[Run] = []
    source = target = 0
    for ahead, target_ahead, length_and_mark in zip(decoded[0::3], decoded[1::3], decoded[2::3], strict=True):
        run = Run(source + ahead, target + target_ahead, length_and_mark >> 1, bool(length_and_mark & 1))
        if run.length < 1:
            raise ValueError("the offset map has a run without offsets")
        runs.append(run)
        source, target = run.source + run.length, run.target + run.length
    return tuple(runs)


def texts(runs: Runs, pairs: Pairs) -> tuple[str, str | None]:
    """Both as text; the second one is None where there are no pairs."""
    return _write_text(runs.data), _write_text(_compute_crc(runs.data, pairs.data) + pairs.data) if pairs.data else None


def read_texts(text: str, pairs: str | None) -> tuple[Runs, Pairs]:
    """Reads runs and pairs from the two texts of a map. Raises ValueError for texts of two maps, and for what `texts` does not write."""
    data = _read_bytes(text)
    if not _ENCODED.fullmatch(data):
        decode_runs(data)  # says what is wrong
        raise ValueError("the offset map is none")
    if pairs is None:
        return Runs(None, data), NO_PAIRS
    beside = _read_bytes(pairs)
    if len(beside) <= _CRC_BYTES or beside[:_CRC_BYTES] != _compute_crc(data, beside[_CRC_BYTES:]):
        raise ValueError("the pairs beside the offset map are not of this map")
    return Runs(None, data), Pairs(None, beside[_CRC_BYTES:])


def _write_text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _read_bytes(text: str) -> bytes:
    data = base64.b64decode(text, validate=True)
    if _write_text(data) != text:
        raise ValueError("the offset map has bits after its end")
    return data


def _compute_crc(data: bytes, pairs: bytes) -> bytes:
    return zlib.crc32(pairs, zlib.crc32(data)).to_bytes(_CRC_BYTES, "big")
