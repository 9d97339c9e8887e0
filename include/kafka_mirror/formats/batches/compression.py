"""Opens and packs the records of a compressed batch, for the batches that must be opened.

A batch of some kilobytes may unpack to gigabytes, and any producer may write one. So an opener stops at a limit that depends on
nothing that the batch says of itself. gzip is Python's own; the other codecs are those of the package `cramjam`, where that is.
"""

import os
import struct
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from typing import Any

LARGEST_UNPACKED = 64 * 1024 * 1024
"""How many bytes the records of a batch have at most, unless somebody allows more."""
_FIRST_BYTES, _RATIO, _GROWTH = 64 * 1024, 8, 4
"""Room for what comes out: how many times what is packed it is at first, and how many times more whenever that is not enough."""
_MARK_BYTES = 16
_GZIP = 16 + zlib.MAX_WBITS
_XERIAL_MAGIC, _XERIAL_HEADER = b"\x82SNAPPY\x00", 16
"""How Java's producers frame Snappy; librdkafka's do not."""
_XERIAL_VERSIONS, _XERIAL_BLOCK = struct.pack(">ii", 1, 1), 32 * 1024
_LZ4_HEADER, _LZ4_END = b"\x04\x22\x4d\x18\x60\x40\x82", bytes(4)
"""A frame of independent blocks of 64 KB without checksums: Kafka's readers refuse blocks that depend on each other."""
_LZ4_BLOCK, _LZ4_STORED = 64 * 1024, 0x80000000
_LZ4_FIRST = len(_LZ4_HEADER) + 4
_LZ4_FRAME = _LZ4_FIRST + len(_LZ4_END)
"""Where the first block begins after its length, and how long a frame of one block is without it."""
_LEVEL = 1
"""Of gzip and zstd. Their defaults take four and ten times as long for a tenth less."""


class UnpacksTooLarge(ValueError):
    """Raised for records that unpack to more bytes than they may."""

    def __init__(self, codec: str, packed: int, limit: int) -> None:
        super().__init__(f"{packed:,} bytes packed by {codec} unpack to more than {limit:,} bytes")
        self.limit = limit


class _Full(Exception):
    """Raised by an opener that has more than it may give."""


def decompress(codec: str, data: memoryview, limit: int = LARGEST_UNPACKED) -> memoryview:
    """The bytes that `codec` (in the words of compression.type) packed, at most `limit` of them, and never more in memory. Raises
    ValueError if they cannot be had, UnpacksTooLarge for more."""
    if codec == "uncompressed":
        return data
    try:
        return memoryview(_OPENERS[codec](data, limit))
    except KeyError as unknown:
        raise ValueError(f"records that are packed by {codec} cannot be opened") from unknown
    except ModuleNotFoundError as missing:
        raise ValueError(f"records that are packed by {codec} are opened only where the package {missing.name} is") from missing
    except (EOFError, OSError, zlib.error) as broken:
        raise ValueError(f"the records are not what {codec} makes: {broken}") from broken
    except _Full:
        raise UnpacksTooLarge(codec, len(data), limit) from None


def _open_gzip(data: memoryview, limit: int) -> Any:
    """All members, one after the other."""
    unpacked, rest = bytearray(), data
    while len(rest):
        member = zlib.decompressobj(_GZIP)
        # One byte more than may come: that tells a whole member from one that goes on.
        unpacked += member.decompress(rest, limit - len(unpacked) + 1)
        if len(unpacked) > limit:
            raise _Full
        if not member.eof:
            raise EOFError("it ends too early")
        rest = memoryview(member.unused_data.lstrip(b"\0"))
    return unpacked


def _cramjam() -> Any:
    """The codecs that Python lacks. A copy that opens no batch does without them."""
    import cramjam

    return cramjam


def _open_lz4(data: memoryview, limit: int) -> Any:
    cramjam = _cramjam()

    # Most batches that are opened are one block in the frame of Java's producers, of which the general reader makes four times the work.
    if bytes(data[: len(_LZ4_HEADER)]) == _LZ4_HEADER and len(data) > _LZ4_FRAME and limit >= _LZ4_BLOCK:
        size = int.from_bytes(data[len(_LZ4_HEADER) : _LZ4_FIRST], "little")
        if len(data) == _LZ4_FRAME + size and data[-len(_LZ4_END) :] == _LZ4_END:
            room = bytearray(_LZ4_BLOCK)
            try:
                written = cramjam.lz4.decompress_block_into(data[_LZ4_FIRST : -len(_LZ4_END)], room)
            except cramjam.DecompressionError as broken:
                raise ValueError(f"the packed records cannot be read: {broken}") from broken
            return memoryview(room)[:written]
    return _open_into_room(cramjam.lz4.decompress_into, data, limit)


def _open_zstd(data: memoryview, limit: int) -> Any:
    cramjam = _cramjam()

    return _open_into_room(cramjam.zstd.decompress_into, data, limit)


def _open_into_room(decompress_into: Callable[[Any, Any], int], data: memoryview, limit: int) -> Any:
    """What comes out, in as much room as it needs. A decoder fails alike where the room is full and where the bytes are spoilt; a mark at
    the end of the room, which only one that filled it has written over, tells which."""
    cramjam = _cramjam()

    size = min(limit, max(_FIRST_BYTES, _RATIO * len(data)))
    while True:
        mark = os.urandom(_MARK_BYTES)
        room = bytearray(size + _MARK_BYTES)
        room[-_MARK_BYTES:] = mark
        try:
            written = decompress_into(data, room)
        except cramjam.DecompressionError as broken:
            if room.endswith(mark):
                raise ValueError(f"the packed records cannot be read: {broken}") from broken
            written = len(room)
        if written <= size:
            return memoryview(room)[:written]
        if size == limit:
            raise _Full
        size = min(limit, _GROWTH * size)


def _open_snappy(data: memoryview, limit: int) -> Any:
    if bytes(data[: len(_XERIAL_MAGIC)]) != _XERIAL_MAGIC:
        return _open_snappy_block(data, limit)
    unpacked = bytearray()
    for block in _split_xerial(data):
        unpacked += _open_snappy_block(block, limit - len(unpacked))
    return unpacked


def _open_snappy_block(data: memoryview, limit: int) -> Any:
    """A block says first how long it is unpacked: the decoder takes as much memory before it looks at anything else."""
    cramjam = _cramjam()

    try:
        if cramjam.snappy.decompress_raw_len(data) > limit:
            raise _Full
        return cramjam.snappy.decompress_raw(data)
    except cramjam.DecompressionError as broken:
        raise ValueError(f"the packed records cannot be read: {broken}") from broken


def _split_xerial(data: memoryview) -> Iterator[memoryview]:
    at = _XERIAL_HEADER
    while at < len(data):
        after = at + 4 + int.from_bytes(data[at : at + 4], "big")
        if after > len(data):
            raise ValueError("the packed records end too early")
        yield data[at + 4 : after]
        at = after


_OPENERS = {"gzip": _open_gzip, "lz4": _open_lz4, "snappy": _open_snappy, "zstd": _open_zstd}


@cache
def has_packer(codec: str) -> bool:
    """Whether records can be packed and opened by this codec here: not where its package is missing."""
    return codec in _PACKERS and (codec in ("uncompressed", "gzip") or find_spec("cramjam") is not None)


def compress(codec: str, data: bytes) -> bytes:
    """The bytes packed by `codec`, as Kafka's own producers frame them."""
    return _PACKERS[codec](data)


def _pack_gzip(data: bytes) -> bytes:
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    return packer.compress(data) + packer.flush()


def _pack_lz4(data: bytes) -> bytes:
    cramjam = _cramjam()

    parts = [_LZ4_HEADER]
    for at in range(0, len(data), _LZ4_BLOCK):
        block = data[at : at + _LZ4_BLOCK]
        packed = bytes(cramjam.lz4.compress_block(block, store_size=False))
        if len(packed) < len(block):
            parts += (len(packed).to_bytes(4, "little"), packed)
        else:
            parts += ((len(block) | _LZ4_STORED).to_bytes(4, "little"), block)
    return b"".join((*parts, _LZ4_END))


def _pack_snappy(data: bytes) -> bytes:
    cramjam = _cramjam()

    parts = [_XERIAL_MAGIC, _XERIAL_VERSIONS]
    for at in range(0, len(data), _XERIAL_BLOCK):
        packed = bytes(cramjam.snappy.compress_raw(data[at : at + _XERIAL_BLOCK]))
        parts += (len(packed).to_bytes(4, "big"), packed)
    return b"".join(parts)


def _pack_zstd(data: bytes) -> bytes:
    cramjam = _cramjam()

    return bytes(cramjam.zstd.compress(data, level=_LEVEL))


_PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "uncompressed": bytes,
    "gzip": _pack_gzip,
    "snappy": _pack_snappy,
    "lz4": _pack_lz4,
    "zstd": _pack_zstd,
}
