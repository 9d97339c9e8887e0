"""The offset map as bytes that persist in users' clusters: its runs, and apart from them the pairs in its holes.

    offset_map         first run │       run       │       run       │ newest runs          all that older mirrors know: sound, and coarse
    offset_map_pairs             └ pair pair pair ─┴ pair pair pair ─┘                      a second text, for mirrors that know it

All numbers are unsigned LEB128: seven bits a byte, the lowest first, and the eighth bit where more follow. A run is three of them: its
distance in the source and in the target from the end of the run before, and twice its length, plus one if thinned. The first one counts
from 0. In front of the pairs stands a CRC-32 of both, so they are read with the very runs whose holes they are in, or refused. Both texts
are base64.

A pair is one byte where the flow is even. Thinning keeps the first record of each cell of 2^level source offsets, so the next pair is
expected where the next cell begins. And the target falls behind (or runs ahead) by as many offsets from cell to cell as before, for the
copy's markers are that many:

    source               5632   6144   6656   7168   7681      level 9: cells of 512
    target − source       563    614    665    717    768
    written                        0      0     +1     -1, 1   how far this is from what was expected; in which offset of the cell, if not 0

Every pair is one number, whose bit 0 says that a second one follows. The rest of it is the surprise n: how much target − source differs
from the one before plus the change before that (halved as often as the level has fallen), as 2n if n ≥ 0, else as −2n − 1. The second
number is the offset's distance from its cell's beginning, and its bit 0 says that two more follow: the level, and how many records the run
has. The level stays until another is written, the length is 1 without; all begins with zeros.

Bytes become runs when somebody asks for them: a ledger holds thousands of maps, of which a plan or a status looks at none, and as runs each
would take thirty times the space. Pure.
"""

import base64
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence

from kafka_mirror.formats.batches.varint import varint
from kafka_mirror.formats.offsets.intervals import Run

_HIGHEST = 63
PAIRS_BESIDE = 6
"""How many bytes more than their own the pairs take: the CRC, and what base64 of two texts may fill up."""
_CRC_BYTES = 4

_SHORT_OR_LONG = rb"(?:[\x00-\x7f]|[\x80-\xff]++[\x01-\x7f])"
_ENCODED = re.compile(rb"(?:" + _SHORT_OR_LONG + rb"{2}(?:[\x02-\x7f]|[\x80-\xff]++[\x01-\x7f]))*+")
"""Whole runs: three numbers each, none longer than it must be, the third one (twice the length) at least 2."""


def encode_pairs(runs: Sequence[Run]) -> bytes:
    """The bytes of runs, which are all taken for thinned ones. The first one begins after offset 0 of the source."""
    out = bytearray()
    last = level = distance = change = 0
    for source, target, length, _ in runs:
        now = level if source >> level == (last >> level) + 1 else _find_level(last, source)
        ahead = source - (((last >> now) + 1) << now)
        expected = distance + (change >> level - now if now < level else change)
        surprise = target - source - expected
        number = (surprise << 2) if surprise >= 0 else (-surprise << 2) - 2
        others = () if now == level and length == 1 else (now, length)
        if not ahead and not others:
            out += varint(number)
        else:
            for part in (number | 1, ahead << 1 | bool(others), *others):
                out += varint(part)
        change, distance, level, last = target - source - distance, target - source, now, source + length - 1
    return bytes(out)


def decode_pairs(data: bytes) -> tuple[Run, ...]:
    """The runs of bytes, all marked as thinned. Raises ValueError for bytes that are none."""
    decoded = iter(numbers(data))
    runs: list[Run] = []
    last = level = distance = change = target_end = 0
    for number in decoded:
        ahead, now, length = _read_more(decoded, level) if number & 1 else (0, level, 1)
        source = (((last >> now) + 1) << now) + ahead
        surprise = -((number + 2) >> 2) if number & 2 else number >> 2
        before = distance
        distance += (change >> level - now if now < level else change) + surprise
        if source + distance < target_end:
            raise ValueError("the offset map has a pair that goes back on the target")
        runs.append(Run(source, source + distance, length, True))
        change, level, last, target_end = distance - before, now, source + length - 1, source + distance + length
    return tuple(runs)


def _find_level(last: int, source: int) -> int:
    """The lowest level at which an offset is in the cell after that of the one before it."""
    level = (source - last).bit_length() - 1
    return level if (source >> level) - (last >> level) == 1 else level + 1


def _read_more(decoded: Iterator[int], level: int) -> tuple[int, int, int]:
    ahead = _read_next(decoded)
    if not ahead & 1:
        return ahead >> 1, level, 1
    level, length = _read_next(decoded), _read_next(decoded)
    if level > _HIGHEST or length < 1:
        raise ValueError("the offset map has a pair that is none")
    return ahead >> 1, level, length


def _read_next(decoded: Iterator[int]) -> int:
    number = next(decoded, None)
    if number is None:
        raise ValueError("the offset map ends inside a pair")
    return number


def numbers(data: bytes) -> list[int]:
    """All numbers of the bytes. Raises ValueError where one is cut off, or longer than it must be: a number has one way to be written."""
    decoded: list[int] = []
    number = shift = 0
    for byte in data:
        if byte < 0x80 and not shift:
            decoded.append(byte)
            continue
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            if not byte:
                raise ValueError("the offset map has a number that is longer than it must be")
            decoded.append(number)
            number = shift = 0
    if shift:
        raise ValueError("the offset map ends inside a number")
    return decoded


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

    def with_runs(self, more: Iterable[Run], thinned_behind: bool) -> "Runs":
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
        out += varint(run.source - source) + varint(run.target - target) + varint(run.length << 1 | run.thinned)
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
