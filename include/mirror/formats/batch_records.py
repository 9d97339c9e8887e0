"""The records of a batch of few, read in Python: key and value of each, of batches that are plain or gzip.

For the mirror's own topics, of which a lane reads some kilobytes: there a consumer costs more to open than its records cost here.
"""

import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from mirror.formats.record_batch import RecordBatch
from mirror.offsets.partition import TopicPartition

_HEADER_BYTES = 61
_GZIP_WINDOW = 31


class StoredRecord(NamedTuple):
    """A record where it stands."""

    partition: TopicPartition
    offset: int
    key: bytes | None
    value: bytes | None

    def __str__(self) -> str:
        return f"{self.partition}@{self.offset}"


def records_in(batch: RecordBatch) -> Iterator[tuple[int, bytes | None, bytes | None]]:
    """Offset, key and value of each record. Raises ValueError for a codec that cannot be read here, and for bytes that are no records."""
    if batch.codec == "uncompressed":
        data = bytes(batch.data[_HEADER_BYTES:])
    elif batch.codec == "gzip":
        try:
            data = zlib.decompress(batch.data[_HEADER_BYTES:], _GZIP_WINDOW)
        except zlib.error as failure:
            raise ValueError(f"its gzip cannot be read: {failure}") from failure
    else:
        raise ValueError(f"{batch.codec} is not read here")
    try:
        yield from _records(data, batch.base_offset, batch.record_count)
    except (IndexError, struct.error) as failure:
        raise ValueError("a record is cut off") from failure


def _records(data: bytes, base_offset: int, count: int) -> Iterator[tuple[int, bytes | None, bytes | None]]:
    at = 0
    for _ in range(count):
        length, at = _number(data, at)
        end = at + length
        _, at = _number(data, at + 1)  # behind the attributes: the timestamp's distance
        delta, at = _number(data, at)
        key, at = _bytes(data, at)
        value, at = _bytes(data, at)
        if not at <= end <= len(data):
            raise ValueError("a record is longer than it says")
        yield base_offset + delta, key, value
        at = end
    if at != len(data):
        raise ValueError("records are followed by bytes that nobody knows")


def _bytes(data: bytes, at: int) -> tuple[bytes | None, int]:
    length, at = _number(data, at)
    return (None, at) if length < 0 else (data[at : at + length], at + length)


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A signed number of variable length, as records have it, and the offset behind it."""
    number = shift = 0
    while (byte := data[at]) & 0x80:
        number |= (byte & 0x7F) << shift
        shift += 7
        at += 1
    number |= byte << shift
    return (number >> 1) ^ -(number & 1), at + 1
