"""Messages as Kafka stored them before 0.11 (magic 0 and 1), as batches of the format that it has had since.

kafka-python reads them. What its reader takes on trust is looked at before: a message set inside a message that is packed may say of itself
whatever its producer liked.
"""

import struct
from itertools import pairwise

from kafka.record.legacy_records import LegacyRecordBatch

from kafka_mirror.formats.batches.batch_records import NotIntact, Record, content_of
from kafka_mirror.formats.batches.batch_rewrite import sealed_batches
from kafka_mirror.formats.batches.compression import LARGEST_UNPACKED, decompress
from kafka_mirror.formats.batches.record_batch import CODECS, NO_TIMESTAMP, RecordBatch

_START = struct.Struct(">qi")
_MAGIC_AT, _LEAST_BYTES = 16, 14
"""Where the magic stands, and how many bytes follow the length at least."""
_LARGE = 1 << 31


class ClosedMessage(ValueError):
    """Raised for a message that cannot be read; `end` is the offset after it, `why` says why."""

    def __init__(self, end: int, why: ValueError) -> None:
        super().__init__(str(why))
        self.end = end
        self.why = why


def first_message(data: memoryview, largest: int = LARGEST_UNPACKED, start: int = 0) -> tuple[list[RecordBatch], memoryview]:
    """What the first message holds, which may be many packed ones, as batches without holes, and the bytes that follow it; no batches if it
    is cut off, or lies before the offset `start`. Raises ClosedMessage."""
    if len(data) <= _MAGIC_AT:
        return [], data[:0]
    offset, length = _START.unpack_from(data)  # of packed ones that of the last
    size = _START.size + max(length, _LEAST_BYTES)
    if size > len(data):
        return [], data[:0]
    if offset < start:
        return [], data[size:]
    try:
        records = _records(_Message(bytes(data[:size]), data[_MAGIC_AT], largest))
        offsets = [record[0] for record in records]
        # They ascend up to the message's own, as brokers store them: others would move the reader past records.
        if any(later <= earlier for earlier, later in pairwise((-1, *offsets))) or max(offsets, default=offset) > offset:
            raise ValueError("a message holds messages at other offsets than its own")
        return _batches(records), data[size:]
    except ValueError as why:
        raise ClosedMessage(offset + 1, why) from why


def _records(message: "_Message") -> list[Record]:
    if not message.validate_crc():
        raise NotIntact("message")
    try:
        return [
            (old.offset, NO_TIMESTAMP if old.timestamp is None else old.timestamp, b"\0", content_of(old.key, old.value)) for old in message
        ]
    except (AssertionError, IndexError, OverflowError, struct.error) as failure:
        raise ValueError(f"a message cannot be read: {failure}") from failure


class _Message(LegacyRecordBatch):  # type: ignore[misc]
    """A message, the packed ones of which our own openers open, up to a limit."""

    __slots__ = ("_largest",)

    def __init__(self, data: bytes, magic: int, largest: int) -> None:
        try:
            super().__init__(data, magic)
        except AssertionError as failure:
            raise ValueError("a message has another length than it says") from failure
        self._largest = largest

    def _decompress(self, key_offset: int) -> memoryview:
        at = key_offset + 4 + max(0, *struct.unpack_from(">i", self._buffer, key_offset))
        (size,) = struct.unpack_from(">i", self._buffer, at)
        packed = self._buffer[at + 4 : at + 4 + max(size, 0)]
        unpacked = decompress(CODECS[self.compression_type % len(CODECS)], packed, self._largest)
        at = 0
        while at < len(unpacked):
            length = _START.unpack_from(unpacked, at)[1]
            if length < _LEAST_BYTES:
                raise ValueError("a message in a message has no length")
            at += _START.size + length
        if not at or at > len(unpacked):
            raise ValueError("a message in a message is cut off")
        return unpacked


def _batches(records: list[Record]) -> list[RecordBatch]:
    """Each of a stretch of offsets without holes: a batch says where its records are by counting them."""
    batches: list[RecordBatch] = []
    start = 0
    for place in range(1, len(records) + 1):
        if place == len(records) or records[place][0] != records[place - 1][0] + 1:
            batches += sealed_batches(records[start:place], _LARGE)
            start = place
    return batches
