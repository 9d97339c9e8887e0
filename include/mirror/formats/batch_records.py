"""The records of a batch, read in Python: for the few batches that have to be opened.

    length │ attributes │ timestamp less the batch's │ offset less the batch's │ key, value, headers │
           │   1 byte   │           signed numbers of variable length          ╰─────── rest ───────╯

A part of a batch is made of records whose rest stays the bytes that it was. Of the mirror's own topics key and value are read: a lane reads
some kilobytes of them, for which a consumer costs more to open than the records cost here.
"""

from collections.abc import Iterator
from typing import NamedTuple

from mirror.formats.compression import LARGEST_UNPACKED, decompressed
from mirror.formats.record_batch import HEADER_BYTES, RecordBatch
from mirror.formats.varint import read_signed_varint
from mirror.offsets.partition import TopicPartition


class StoredRecord(NamedTuple):
    """A record where it stands."""

    partition: TopicPartition
    offset: int
    key: bytes | None
    value: bytes | None

    def __str__(self) -> str:
        return f"{self.partition}@{self.offset}"


class BatchRecord(NamedTuple):
    """Where a record is in its log, its timestamp less the batch's, its attributes, and what stands behind its place in the batch."""

    offset: int
    timestamp_delta: int
    attributes: int
    rest: memoryview


def opened(batch: RecordBatch, limit: int = LARGEST_UNPACKED) -> Iterator[BatchRecord]:
    """The records of a batch in order. Raises ValueError where it cannot be unpacked, or holds something else than it says, and
    UnpacksTooLarge for more than `limit` bytes. Look first whether it is intact."""
    data = decompressed(batch.codec, batch.data[HEADER_BYTES:], limit)
    at = 0
    for _ in range(batch.record_count):
        try:
            length, begin = read_signed_varint(data, at)
            at = begin + length
            timestamp_delta, place = read_signed_varint(data, begin + 1)
            offset_delta, rest = read_signed_varint(data, place)
        except IndexError as failure:
            raise ValueError("a record is cut off") from failure
        if length <= 0 or at > len(data):
            raise ValueError("a record ends behind its batch")
        if rest > at or not 0 <= offset_delta <= batch.last_offset_delta:
            raise ValueError("a record is no part of its batch")
        yield BatchRecord(batch.base_offset + offset_delta, timestamp_delta, data[begin], data[rest:at])
    if at != len(data):
        raise ValueError("a batch has more than the records that it counts")


def records_in(batch: RecordBatch) -> Iterator[tuple[int, bytes | None, bytes | None]]:
    """Offset, key and value of each record. Raises as `opened`."""
    for record in opened(batch):
        try:
            key, at = _bytes(record.rest, 0)
            value, _ = _bytes(record.rest, at)
        except IndexError as failure:
            raise ValueError("a record is cut off") from failure
        yield record.offset, key, value


def _bytes(data: memoryview, at: int) -> tuple[bytes | None, int]:
    length, at = read_signed_varint(data, at)
    if at + max(length, 0) > len(data):
        raise ValueError("a record is longer than it says")
    return (None, at) if length < 0 else (bytes(data[at : at + length]), at + length)
