"""The pairs of offsets that a thinned map keeps of its past, as bytes: one byte a pair where the flow is even.

Thinning keeps the first record of each cell of 2^level source offsets, so the next pair is expected where the next cell begins. And the
target falls behind (or runs ahead) by as many offsets from cell to cell as before, for the copy's markers are that many:

    source               5632   6144   6656   7168   7681      level 9: cells of 512
    target − source       563    614    665    717    768
    written                        0      0     +1     -1, 1   how far this is from what was expected; in which offset of the cell, if not 0

Every pair is one unsigned LEB128 number, whose bit 0 says that a second one follows. The rest of it is the surprise n: how much target −
source differs from the one before plus the change before that (halved as often as the level has fallen), as 2n if n ≥ 0, else as −2n − 1.
The second number is the offset's distance from its cell's beginning, and its bit 0 says that two more follow: the level, and how many
records the run has. The level stays until another is written, the length is 1 without; all begins with zeros. Pure.
"""

from collections.abc import Iterator, Sequence

from kafka_mirror.formats.offsets.numbers import append_number, numbers
from kafka_mirror.formats.offsets.run import Run

_HIGHEST = 63


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
        if not ahead and now == level and length == 1:
            append_number(out, number)
        else:
            append_number(out, number | 1)
            _append_more(out, ahead, () if now == level and length == 1 else (now, length))
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


def _append_more(out: bytearray, ahead: int, level_and_length: tuple[int, ...]) -> None:
    append_number(out, ahead << 1 | bool(level_and_length))
    for number in level_and_length:
        append_number(out, number)


def _read_more(decoded: Iterator[int], level: int) -> tuple[int, int, int]:
    ahead = _compute_next(decoded)
    if not ahead & 1:
        return ahead >> 1, level, 1
    level, length = _compute_next(decoded), _compute_next(decoded)
    if level > _HIGHEST or length < 1:
        raise ValueError("the offset map has a pair that is none")
    return ahead >> 1, level, length


def _compute_next(decoded: Iterator[int]) -> int:
    number = next(decoded, None)
    if number is None:
        raise ValueError("the offset map ends inside a pair")
    return number
