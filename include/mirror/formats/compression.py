"""Opens the records of a compressed batch, for the few batches that have to be opened.

gzip is Python's own; the other codecs are those of the package `cramjam`, where that is.
"""

import gzip
import zlib
from collections.abc import Callable, Iterator
from typing import Any

_XERIAL_MAGIC, _XERIAL_HEADER = b"\x82SNAPPY\x00", 16
"""How Java's producers frame Snappy; librdkafka's do not."""


def decompressed(codec: str, data: memoryview) -> memoryview:
    """The bytes that `codec` (in the words of compression.type) packed. Raises ValueError if they cannot be had."""
    try:
        return memoryview(_OPENERS[codec](data))
    except KeyError as unknown:
        raise ValueError(f"records that are packed by {codec} cannot be opened") from unknown
    except ModuleNotFoundError as missing:
        raise ValueError(f"records that are packed by {codec} are opened only where the package {missing.name} is") from missing
    except (EOFError, OSError, zlib.error) as broken:
        raise ValueError(f"the records are not what {codec} makes: {broken}") from broken


def _lz4(data: memoryview) -> Any:
    import cramjam

    return _opened(cramjam.lz4.decompress, data)


def _snappy(data: memoryview) -> Any:
    import cramjam

    if bytes(data[: len(_XERIAL_MAGIC)]) != _XERIAL_MAGIC:
        return _opened(cramjam.snappy.decompress_raw, data)
    return b"".join(bytes(_opened(cramjam.snappy.decompress_raw, block)) for block in _xerial_blocks(data))


def _zstd(data: memoryview) -> Any:
    import cramjam

    return _opened(cramjam.zstd.decompress, data)


def _opened(decompress: Callable[[Any], Any], data: memoryview) -> Any:
    import cramjam

    try:
        return decompress(data)
    except cramjam.DecompressionError as broken:
        raise ValueError(f"the packed records cannot be read: {broken}") from broken


def _xerial_blocks(data: memoryview) -> Iterator[memoryview]:
    at = _XERIAL_HEADER
    while at < len(data):
        behind = at + 4 + int.from_bytes(data[at : at + 4], "big")
        if behind > len(data):
            raise ValueError("the packed records end too early")
        yield data[at + 4 : behind]
        at = behind


_OPENERS = {
    "uncompressed": lambda data: data,
    "gzip": gzip.decompress,
    "lz4": _lz4,
    "snappy": _snappy,
    "zstd": _zstd,
}
