"""The records of a batch, read in Python, for topics of our own and wherever single records are looked at (`ReadRecord`); and as what a
batch is rewritten from, with key, value and headers closed (`Record`).

    length │ attributes │ timestamp less the batch's │ offset less the batch's │ key, value, headers
           │   1 byte   │           signed numbers of variable length

A few kilobytes may unpack to millions of records, so those that are looked at are made one by one.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kafka_mirror.formats.batches.compression import LARGEST_UNPACKED, decompress
from kafka_mirror.formats.batches.record_batch import NO_TIMESTAMP, RecordBatch
from kafka_mirror.formats.batches.varint import read_signed_varint, signed_varint
from kafka_mirror.formats.offsets.partition import TopicPartition

CREATE_TIME, LOG_APPEND_TIME = 1, 2
"""Types of timestamps: by whom a record got its one, its producer or its broker."""

_NO_HEADERS = b"\0"
_NULL = signed_varint(-1)
_OLDEST, _NEWEST = -(1 << 63), (1 << 63) - 1

Stretch = tuple[int, int]
"""Offsets side by side: the first, and how many."""
Record = tuple[int, int, bytes, bytes]
"""Its offset, its timestamp, its attributes, and what stands after its place in the batch."""


class StoredRecord(NamedTuple):
    """A record where it stands."""

    partition: TopicPartition
    offset: int
    key: bytes | None
    value: bytes | None

    def __str__(self) -> str:
        return f"{self.partition}@{self.offset}"


class ReadRecord:
    """A record as it was read. Its headers are read when somebody asks for them."""

    __slots__ = ("_batch", "_headers", "_since", "key", "offset", "partition", "value")

    def __init__(
        self, partition: TopicPartition, batch: RecordBatch, offset: int, since: int, key: bytes | None, value: bytes | None, headers: bytes
    ) -> None:
        """`since`: its timestamp less the batch's; `headers`: its bytes after the value."""
        self.partition = partition
        self.offset = offset
        self.key = key
        self.value = value
        self._batch = batch
        self._since = since
        self._headers = headers

    @property
    def leader_epoch(self) -> int | None:
        """Of the leader that stored it; None: it is older than leader epochs are."""
        return self._batch.leader_epoch if self._batch.leader_epoch >= 0 else None

    @property
    def timestamp(self) -> tuple[int, int]:
        """The type of its timestamp (0: it has none), and the milliseconds."""
        if self._batch.is_stamped:
            return LOG_APPEND_TIME, self._batch.max_timestamp
        stamp = self._batch.base_timestamp + self._since
        return (CREATE_TIME, stamp) if stamp != NO_TIMESTAMP else (0, NO_TIMESTAMP)

    @property
    def headers(self) -> list[tuple[str, bytes | None]] | None:
        """Its headers in their order, None if it has none. Raises UnicodeDecodeError, which is a ValueError, for a name that is not UTF-8,
        and ValueError for what are no headers."""
        if self._headers == _NO_HEADERS:
            return None
        headers: list[tuple[str, bytes | None]] = []
        try:
            number, at = read_signed_varint(self._headers, 0)
            for _ in range(number):
                name, at = _read_bytes(self._headers, at)
                content, at = _read_bytes(self._headers, at)
                headers.append(((name or b"").decode(), content))
        except IndexError as failure:
            raise ValueError("a header is cut off") from failure
        return headers or None


def unpack_records(batch: RecordBatch) -> bytes:
    """The bytes of a batch's records. Raises ValueError for a batch that is not intact or cannot be unpacked."""
    if (data := batch.intact_records()) is None:
        raise ValueError("its checksum is not that of its bytes")
    return bytes(decompress(batch.codec, memoryview(data))) if batch.is_packed else data


def records_of(partition: TopicPartition, batch: RecordBatch, data: bytes) -> Iterator[ReadRecord]:
    """The records of a batch that was opened, in order. Raises ValueError where it holds something else than it says."""
    at, base, farthest, size = 0, batch.base_offset, batch.last_offset_delta, len(data)
    for _ in range(batch.record_count):
        try:
            # Nearly every number has one byte. A call for each of them would cost as much as all the rest.
            length, begin = (data[at] >> 1, at + 1) if data[at] < 0x80 and not data[at] & 1 else read_signed_varint(data, at)
            since, place = (0, begin + 2) if not data[begin + 1] else read_signed_varint(data, begin + 1)
            delta, place = (data[place] >> 1, place + 1) if data[place] < 0x80 else read_signed_varint(data, place)
            number, place = (data[place] >> 1, place + 1) if data[place] < 0x80 and not data[place] & 1 else read_signed_varint(data, place)
            end = place + number if number > 0 else place
            key = data[place:end] if number >= 0 else None
            number, place = (data[end] >> 1, end + 1) if data[end] < 0x80 and not data[end] & 1 else read_signed_varint(data, end)
            end = place + number if number > 0 else place
            value = data[place:end] if number >= 0 else None
        except IndexError as failure:
            raise ValueError("a record is cut off") from failure
        at = begin + length
        if not (length > 0 and end <= at <= size and 0 <= delta <= farthest):
            raise ValueError("a record is no part of its batch")
        yield ReadRecord(partition, batch, base + delta, since, key, value, data[end:at])
    if at != size:
        raise ValueError("a batch has more than the records that it counts")


def _read_bytes(data: bytes, at: int) -> tuple[bytes | None, int]:
    length, at = read_signed_varint(data, at)
    if length < 0:
        return None, at
    if at + length > len(data):
        raise ValueError("a header is longer than it says")
    return data[at : at + length], at + length


class NotIntact(ValueError):
    """Raised for a batch, or a message of old, whose bytes are not those of which its checksum was made."""

    def __init__(self, what: str = "batch") -> None:
        super().__init__(f"the checksum of a {what} is not that of its bytes")


def content_of(key: bytes | None, value: bytes | None, headers: Sequence[tuple[str, bytes]] = ()) -> bytes:
    """What stands of a record after its place in the batch."""
    key_bytes, value_bytes, *others = (
        _NULL if part is None else signed_varint(len(part)) + part
        for part in (key, value, *(part for name, header in headers for part in (name.encode(), header)))
    )
    return b"".join((key_bytes, value_bytes, signed_varint(len(headers)), *others))


def has_key(rest: bytes) -> bool:
    """Whether a record has a key, by what stands after its place."""
    return rest[:1] != _NULL


def read_records(batch: RecordBatch, records: list[Record], largest: int = LARGEST_UNPACKED) -> None:
    """Adds the records of a batch to others. Raises NotIntact; ValueError if it cannot be opened, UnpacksTooLarge if it has more than
    `largest` bytes unpacked. Then none was added."""
    if (data := batch.intact_records()) is None:
        raise NotIntact
    if batch.is_control or not batch.is_known:
        raise ValueError(f"a batch with the attributes {batch.attributes:#06x} has no records that could be copied")
    if batch.is_packed:
        data = bytes(decompress(batch.codec, memoryview(data), largest))
    stretch, stamp = (batch.base_offset, batch.record_count), batch.max_timestamp if batch.is_stamped else None
    records += read_opened(data, stretch, batch.last_offset_delta, batch.base_timestamp, stamp)


def read_opened(data: bytes, stretch: Stretch, last: int, base_timestamp: int, stamp: int | None = None) -> list[Record]:
    """The records of a batch that was opened, which are at most `last` offsets away from its first one; `stamp` is their time, if its
    broker gave them one."""
    (base_offset, number), records, at, end, before = stretch, list[Record](), 0, len(data), -1
    try:
        for _ in range(number):
            # Nearly every number has one byte or two.
            length, begin = (data[at] >> 1, at + 1) if data[at] < 0x80 and not data[at] & 1 else number_at(data, at)
            at = begin + length
            since, place = (0, begin + 2) if not data[begin + 1] else number_at(data, begin + 1)
            delta, rest = (0, place + 1) if not data[place] else number_at(data, place)
            timestamp = base_timestamp + since if stamp is None else stamp
            if not (length > 0 and rest <= at <= end and before < delta <= last and _OLDEST <= timestamp <= _NEWEST):
                raise ValueError("a record is no part of its batch")
            records.append((base_offset + delta, timestamp, data[begin : begin + 1], data[rest:at]))
            before = delta
    except IndexError as failure:
        raise ValueError("a record is cut off") from failure
    if at != end:
        raise ValueError("a batch has more than the records that it counts")
    return records


def number_at(data: bytes, at: int) -> tuple[int, int]:
    """A signed number, and where it ends."""
    low = data[at]
    if low < 0x80:
        return low >> 1 ^ -(low & 1), at + 1
    high = data[at + 1]
    if high < 0x80:
        low = low & 0x7F | high << 7
        return low >> 1 ^ -(low & 1), at + 2
    return read_signed_varint(memoryview(data), at)
