"""Record batches of magic 2, as brokers store and send them: their header, and what may be done to a batch without opening it.

    0         8       12      16    17    21     23               57        61
    ├─────────┼───────┼───────┼─────┼─────┼──────┼───── … ────────┼─────────┼── records, perhaps compressed ──┤
    base      length  leader  magic CRC   attri- last offset      number of
    offset            epoch               butes  delta, times,    records
                                          ╰───────── producer ──────────────── the CRC covers this ──────────╯

A producer may set what stands in front of the records again; the records stay the bytes that they were.
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple

import google_crc32c

MAGIC = 2
CODECS = ("uncompressed", "gzip", "snappy", "lz4", "zstd")
"""By their number in a batch, called as the topic's property compression.type calls them."""

_HEADER = struct.Struct(">qiibIhiqqqhii")
_UNCOVERED, _COVERED = struct.Struct(">qiibI"), struct.Struct(">hiqqqhii")
"""The header in front of the first byte that the CRC covers, and from it on."""
_START = struct.Struct(">qi")
_STEP = struct.Struct(">qi4xb6xi")
"""Base offset, length, magic, last offset delta."""
HEADER_BYTES = _HEADER.size
_MAGIC_AT = 16
_CRC_FROM = 21
_LARGEST_SEQUENCE = 0x7FFFFFFF
_NO_PRODUCER = (-1, -1, -1)
NO_TIMESTAMP = -1


class Attribute(IntEnum):
    """The bits of a batch's attributes above its codec."""

    LOG_APPEND_TIME = 0x08
    TRANSACTIONAL = 0x10
    CONTROL = 0x20
    DELETE_HORIZON = 0x40


_CODEC_BITS = 0x07
_KNOWN_BITS = _CODEC_BITS | sum(Attribute)
# Numbers: the operators of an enumeration take as long as all else that is done to a small batch.
_LOG_APPEND_TIME, _TRANSACTIONAL, _CONTROL = (int(bit) for bit in (Attribute.LOG_APPEND_TIME, Attribute.TRANSACTIONAL, Attribute.CONTROL))
_UNOBSTRUCTED = frozenset(codec | bits for codec in range(len(CODECS)) for bits in (0, _TRANSACTIONAL))
"""The attributes of nearly every batch: of one that a producer could send as it is."""


class OldMagic(ValueError):
    """Raised for messages that were written before magic 2, whose first has this offset: they have no header to be set again."""

    def __init__(self, offset: int, magic: int) -> None:
        super().__init__(f"the message at {offset} has the old format of magic {magic}")
        self.offset = offset
        self.magic = magic


class RecordBatch(NamedTuple):
    """A whole batch: its bytes, and its header's fields in their order."""

    data: memoryview
    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def next_offset(self) -> int:
        """The offset after the batch, which a compacted one covers though its last record is gone."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def size(self) -> int:
        """How many bytes it has in all, also where it was cut off."""
        return _START.size + self.length

    @property
    def is_control(self) -> bool:
        """Whether it is the marker of a transaction's end."""
        return self.attributes & _CONTROL != 0

    @property
    def codec(self) -> str:
        """How its records are compressed, in the words of compression.type."""
        number = self.attributes & _CODEC_BITS
        return CODECS[number] if number < len(CODECS) else f"codec {number}"

    @property
    def is_packed(self) -> bool:
        """Whether its records are compressed."""
        return self.attributes & _CODEC_BITS != 0

    @property
    def is_known(self) -> bool:
        """Whether its attributes are of those that Kafka has."""
        return not self.attributes & ~_KNOWN_BITS and self.attributes & _CODEC_BITS < len(CODECS)

    @property
    def is_intact(self) -> bool:
        """Whether its bytes are those of which the checksum was made."""
        return _read_checksum(self.data[_CRC_FROM:]) == self.crc

    def intact_records(self) -> bytes | None:
        """The bytes after the header; None if they are not those of which the checksum was made."""
        covered = bytes(self.data[_CRC_FROM:])
        return covered[_COVERED.size :] if google_crc32c.value(covered) == self.crc else None

    @property
    def is_stamped(self) -> bool:
        """Whether its broker gave all of its records one time, which is its `max_timestamp`."""
        return self.attributes & _LOG_APPEND_TIME != 0

    def has_records_of(self, other: "RecordBatch") -> bool:
        """Whether it and another batch are intact and hold the same records, as far as closed batches show it: the same bytes
        after the header, to be read in the same way. Not where an offset is missing or the broker stamped the records."""
        if not (
            self.length == other.length
            and self.record_count == other.record_count
            and self.last_offset_delta == other.last_offset_delta
            and self.base_timestamp == other.base_timestamp
            and self.max_timestamp == other.max_timestamp
            and not (self.attributes ^ other.attributes) & ~_TRANSACTIONAL
            and self.find_obstacle() is None
        ):
            return False
        ours, theirs = bytes(self.data[_CRC_FROM:]), bytes(other.data[_CRC_FROM:])
        is_intact = (google_crc32c.value(ours), google_crc32c.value(theirs)) == (self.crc, other.crc)
        # Two views are compared byte by byte in Python; this is one call of the C library.
        return is_intact and ours.endswith(memoryview(theirs)[_COVERED.size :])

    def find_obstacle(self) -> str | None:
        """Why a producer could not send the batch as it is; None: it could."""
        if self.record_count != self.last_offset_delta + 1:
            return "compaction left holes in a batch"
        if self.attributes in _UNOBSTRUCTED:
            return None
        if self.is_stamped:
            return "the source stamped a batch when it was appended (LogAppendTime)"
        if self.attributes & Attribute.DELETE_HORIZON:
            return "compaction has marked a batch with the time at which its tombstones go"
        if not self.is_known:
            return f"a batch has the attributes {self.attributes:#06x}, which are unknown"
        return None

    def stamp_producer(self, producer_id: int, epoch: int, sequence: int, transactional: bool = True) -> tuple[bytes, memoryview]:
        """The batch as an idempotent producer sends it: a header of its own under a new checksum, and the records as they are.

        Raises ValueError for a batch with an obstacle: it would be another batch on the target than it says it is.
        """
        if obstacle := self.find_obstacle():
            raise ValueError(obstacle)
        times = (self.last_offset_delta, self.base_timestamp, self.max_timestamp)
        attributes = self.attributes | _TRANSACTIONAL if transactional else self.attributes & ~_TRANSACTIONAL
        covered = _COVERED.pack(attributes, *times, producer_id, epoch, sequence, self.record_count)
        records = self.data[_HEADER.size :]
        return _UNCOVERED.pack(0, self.length, -1, MAGIC, _read_checksum(records, _read_checksum(covered))) + covered, records


_new = tuple.__new__
"""Makes a batch of its fields: half of what it costs through the class."""


def _read_checksum(data: bytes | memoryview, of_bytes_before: int = 0) -> int:
    """The CRC-32C of the bytes, continued from that of the bytes before them. The library takes bytes alone, so a view is copied."""
    checksum: int = google_crc32c.extend(of_bytes_before, bytes(data))
    return checksum


def batches_in(records: bytes | bytearray | memoryview) -> Iterator[RecordBatch]:
    """The whole batches of what a broker sent, in order; one that is cut off at the end is left out.

    Raises OldMagic where messages of an older format begin, and ValueError for bytes that are no batch.
    """
    view = memoryview(records)
    at, end = 0, len(view)
    while end - at >= _HEADER.size:
        header = _HEADER.unpack_from(view, at)
        _, length, _, magic, *_ = header
        after = at + _START.size + length
        if magic < MAGIC or length < _HEADER.size - _START.size or after > end:
            break
        yield _new(RecordBatch, (view[at:after], *header))
        at = after
    require_batch(view[at:])


class BatchSpan(NamedTuple):
    """Where batches begin and end, and of the last of them where it begins and the offset after it."""

    begin: int
    end: int
    last: int
    next_offset: int


def span_of(records: memoryview, position: int) -> BatchSpan:
    """The whole batches, up to one that is cut off or what is no batch, but for those at the beginning that are in front of the position;
    `last` is -1 if all are. It goes along them without an object for each: they may be small. A damaged one may say anything of where it
    ends, so that is what the last one says."""
    begin, at, last, size, step = 0, 0, -1, len(records), _STEP.unpack_from
    stop, start, least = size - HEADER_BYTES, _START.size, HEADER_BYTES - _START.size
    while at <= stop:
        base_offset, length, magic, last_delta = step(records, at)
        end = at + start + length
        if magic < MAGIC or length < least or end > size:
            break
        if last >= 0 or base_offset + last_delta >= position:
            position, last = base_offset + last_delta + 1 if last_delta > 0 else base_offset + 1, at
        else:
            begin = end
        at = end
    return BatchSpan(begin, at, last, position)


def require_batch(rest: memoryview) -> None:
    """Raises what `batches_in` does, unless a batch begins there that is cut off, or nothing at all does."""
    if len(rest) <= _MAGIC_AT:
        return
    base_offset, length = _START.unpack_from(rest)
    if rest[_MAGIC_AT] < MAGIC:
        raise OldMagic(base_offset, rest[_MAGIC_AT])
    if length < _HEADER.size - _START.size:
        raise ValueError(f"the batch at {base_offset} says that it has {length} bytes")


def unsent_batch(
    base_offset: int, leader_epoch: int, timestamps: tuple[int, int], record_count: int, records: Sequence[bytes], codec: str = CODECS[0]
) -> RecordBatch:
    """A batch of records without holes, in pieces, packed by `codec`, which no producer has sent yet, nor made a checksum of. `timestamps`:
    the one that those of the records count from, and the latest."""
    size = HEADER_BYTES - _START.size + sum(map(len, records))
    fields = (leader_epoch, MAGIC, 0, CODECS.index(codec), record_count - 1, *timestamps, *_NO_PRODUCER, record_count)
    header = _HEADER.pack(base_offset, size, *fields)
    return RecordBatch(memoryview(b"".join((header, *records))), base_offset, size, *fields)


def seal_batch(batch: RecordBatch) -> RecordBatch:
    """The batch under the checksum of its bytes."""
    checksum = _read_checksum(batch.data[_CRC_FROM:])
    data = bytes(batch.data[: _MAGIC_AT + 1]) + checksum.to_bytes(_CRC_FROM - _MAGIC_AT - 1, "big") + bytes(batch.data[_CRC_FROM:])
    return batch._replace(data=memoryview(data), crc=checksum)


class AbortedTransactions:
    """Tells which batches of one answer of a broker belong to transactions that were aborted; asked of each batch in order.

    A broker names of every aborted transaction that overlaps its answer the producer and the first offset, and that producer's next marker
    is the transaction's end.
    """

    def __init__(self, transactions: Iterable[tuple[int, int]]) -> None:
        """`transactions`: producer id and first offset of each."""
        self._ahead = sorted(((first, producer) for producer, first in transactions), reverse=True)
        self._begun: set[int] = set()

    def hold(self, next_offset: int, producer_id: int, attributes: int) -> bool:
        """Whether the batch with these fields in its header is one of an aborted transaction, or the marker of its end. For a batch with
        records the question may be repeated before the next batch."""
        if not self._ahead and not self._begun:
            return False
        while self._ahead and self._ahead[-1][0] < next_offset:
            self._begun.add(self._ahead.pop()[1])
        if producer_id not in self._begun or not attributes & _TRANSACTIONAL:
            return False
        if attributes & _CONTROL:
            self._begun.discard(producer_id)
        return True


def next_sequence(sequence: int, records: int) -> int:
    """The sequence number after this many records: it begins at 0 again after the largest number of 31 bits."""
    return (sequence + records) & _LARGEST_SEQUENCE
