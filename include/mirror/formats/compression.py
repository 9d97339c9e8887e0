"""Opens the records of a compressed batch, for the few batches that have to be opened.

gzip is Python's own. LZ4 and Snappy are read here: their formats are small, and no package that reads them is needed otherwise. zstd is
read where the package `zstandard` is.
"""

import gzip
import zlib

_LZ4_MAGIC, _LZ4_START = 0x184D2204, 6
_LZ4_DICTIONARY, _LZ4_CONTENT_CHECKSUM, _LZ4_CONTENT_SIZE, _LZ4_BLOCK_CHECKSUM = 0x01, 0x04, 0x08, 0x10
_LZ4_PLAIN = 0x80000000
_LZ4_LEAST_MATCH = 4
_XERIAL_MAGIC, _XERIAL_HEADER = b"\x82SNAPPY\x00", 16
"""How Java's producers frame Snappy; librdkafka's do not."""


def decompressed(codec: str, data: memoryview) -> memoryview:
    """The bytes that `codec` (in the words of compression.type) packed. Raises ValueError if they cannot be had."""
    try:
        return memoryview(_OPENERS[codec](data))
    except KeyError as unknown:
        raise ValueError(f"records that are packed by {codec} cannot be opened") from unknown
    except (IndexError, EOFError, OSError, zlib.error) as broken:
        raise ValueError(f"the records are not what {codec} makes: {broken}") from broken


def _lz4(data: memoryview) -> bytearray:
    """LZ4's frames: of blocks that may refer to those before."""
    out = bytearray()
    at = 0
    while at < len(data):
        if _little(data, at, 4) != _LZ4_MAGIC or data[at + 4] & _LZ4_DICTIONARY:
            raise ValueError("no LZ4 frame, or one with a dictionary")
        flags = data[at + 4]
        at += _LZ4_START + (8 if flags & _LZ4_CONTENT_SIZE else 0) + 1
        while size := _little(data, at, 4):
            behind = at + 4 + (size & ~_LZ4_PLAIN)
            block = data[at + 4 : behind]
            if size & _LZ4_PLAIN:
                out += block
            else:
                _lz4_block(block, out)
            at = behind + (4 if flags & _LZ4_BLOCK_CHECKSUM else 0)
        at += 4 + (4 if flags & _LZ4_CONTENT_CHECKSUM else 0)
    return out


def _lz4_block(block: memoryview, out: bytearray) -> None:
    at = 0
    while True:
        token = block[at]
        literals, at = _lz4_length(block, at + 1, token >> 4)
        _require(at + literals <= len(block))
        out += block[at : at + literals]
        at += literals
        if at == len(block):  # the last sequence is of literals alone
            return
        distance = _little(block, at, 2)
        length, at = _lz4_length(block, at + 2, token & 0x0F)
        _repeat(out, distance, length + _LZ4_LEAST_MATCH)


def _lz4_length(block: memoryview, at: int, length: int) -> tuple[int, int]:
    if length == 0x0F:
        while (more := block[at]) == 0xFF:
            length, at = length + more, at + 1
        length, at = length + more, at + 1
    return length, at


def _snappy(data: memoryview) -> bytearray:
    out = bytearray()
    if bytes(data[: len(_XERIAL_MAGIC)]) != _XERIAL_MAGIC:
        _snappy_block(data, out)
        return out
    at = _XERIAL_HEADER
    while at < len(data):
        behind = at + 4 + int.from_bytes(data[at : at + 4], "big")
        _require(behind <= len(data))
        _snappy_block(data[at + 4 : behind], out)
        at = behind
    return out


def _snappy_block(block: memoryview, out: bytearray) -> None:
    size = shift = at = 0
    while True:
        size |= (block[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if block[at - 1] < 0x80:
            break
    start = len(out)
    while at < len(block):
        kind, upper = block[at] & 0x03, block[at] >> 2
        if kind == 0:
            extra = max(0, upper - 59)
            length = (_little(block, at + 1, extra) if extra else upper) + 1
            at += 1 + extra
            _require(at + length <= len(block))
            out += block[at : at + length]
            at += length
        elif kind == 1:
            _repeat(out, (upper >> 3) << 8 | block[at + 1], (upper & 0x07) + 4)
            at += 2
        else:
            width = 2 if kind == 2 else 4
            _repeat(out, _little(block, at + 1, width), upper + 1)
            at += 1 + width
    _require(len(out) - start == size)


def _zstd(data: memoryview) -> bytes:
    try:
        import zstandard
    except ModuleNotFoundError as missing:
        raise ValueError("records that are packed by zstd are opened only where the package zstandard is") from missing
    try:
        with zstandard.ZstdDecompressor().stream_reader(bytes(data), read_across_frames=True) as reader:
            return reader.read()
    except zstandard.ZstdError as broken:
        raise ValueError(f"the records are not what zstd makes: {broken}") from broken


def _repeat(out: bytearray, distance: int, length: int) -> None:
    """Adds what stands `distance` bytes back, which may run into itself."""
    start = len(out) - distance
    _require(0 <= start < len(out))
    piece = bytes(out[start : start + length])
    out += (piece * (length // len(piece) + 1))[:length]


def _little(data: memoryview, at: int, width: int) -> int:
    _require(at + width <= len(data))
    return int.from_bytes(data[at : at + width], "little")


def _require(holds: bool) -> None:
    if not holds:
        raise ValueError("the packed records end too early, or refer to what is not there")


_OPENERS = {
    "uncompressed": lambda data: data,
    "gzip": gzip.decompress,
    "lz4": _lz4,
    "snappy": _snappy,
    "zstd": _zstd,
}
