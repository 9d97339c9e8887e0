"""A part of a batch as batches of their own: its records from one offset to another, each as the bytes that it was.

    a batch       ┌ 40 ┬ 41 ┬ 43 ┬ 44 ┬ 47 ┐        41 to 46 of it:   ┌ 41 ┐ ┌ 43 ┬ 44 ┐

Of a record only its place in the batch is written anew, so whatever stands in it arrives: a client would decode key, value and headers,
and there are records of which it does not get all. Where offsets are missing, another batch begins: brokers number a batch's records
without holes.
"""

from collections.abc import Iterator
from typing import NamedTuple

from mirror.formats.compression import decompressed
from mirror.formats.record_batch import HEADER_BYTES, Attribute, RecordBatch, unsent_batch

_LARGEST_VARINT = 10
"""Bytes of a number of 64 bits."""


class _Record(NamedTuple):
    """Where it is in the source's log, its timestamp less the batch's, its attributes, and what stands behind its place in the batch."""

    offset: int
    timestamp_delta: int
    attributes: int
    rest: memoryview


def parts_of(batch: RecordBatch, start: int, end: int, max_bytes: int) -> list[RecordBatch]:
    """The records in `[start, end)` in batches of at most `max_bytes`, uncompressed; a larger record has one to itself. They have the
    source's offsets. Raises ValueError if the batch cannot be opened."""
    if batch.is_control or not batch.is_known:
        raise ValueError(f"a batch with the attributes {batch.attributes:#06x} has no records that could be copied")
    is_stamped = bool(batch.attributes & Attribute.LOG_APPEND_TIME)
    base_timestamp = batch.max_timestamp if is_stamped else batch.base_timestamp
    parts: list[RecordBatch] = []
    body, held = bytearray(), list[_Record]()
    for record in _records(batch):
        if not start <= record.offset < end:
            continue
        if is_stamped:
            record = record._replace(timestamp_delta=0)
        encoded = _encoded(record, len(held))
        if held and (record.offset != held[-1].offset + 1 or HEADER_BYTES + len(body) + len(encoded) > max_bytes):
            parts.append(_batch(batch, base_timestamp, held, body))
            body, held = bytearray(), []
            encoded = _encoded(record, 0)
        body += encoded
        held.append(record)
    if held:
        parts.append(_batch(batch, base_timestamp, held, body))
    return parts


def _records(batch: RecordBatch) -> Iterator[_Record]:
    packed = batch.data[HEADER_BYTES:]
    data = decompressed(batch.codec, packed)
    at = 0
    for _ in range(batch.record_count):
        length, begin = _read(data, at)
        at = begin + length
        if length <= 0 or at > len(data):
            raise ValueError("a record ends behind its batch")
        timestamp_delta, place = _read(data, begin + 1)
        offset_delta, rest = _read(data, place)
        if rest > at or not 0 <= offset_delta <= batch.last_offset_delta:
            raise ValueError("a record is no part of its batch")
        yield _Record(batch.base_offset + offset_delta, timestamp_delta, data[begin], data[rest:at])
    if at != len(data):
        raise ValueError("a batch has more than the records that it counts")


def _encoded(record: _Record, place: int) -> bytes:
    body = bytes((record.attributes,)) + _varint(record.timestamp_delta) + _varint(place) + record.rest
    return _varint(len(body)) + body


def _batch(batch: RecordBatch, base_timestamp: int, records: list[_Record], body: bytearray) -> RecordBatch:
    latest = base_timestamp + max(record.timestamp_delta for record in records)
    return unsent_batch(records[0].offset, batch.leader_epoch, (base_timestamp, latest), len(records), bytes(body))


def _varint(number: int) -> bytes:
    """A signed number: the sign is its lowest bit."""
    number = number << 1 if number >= 0 else (-number << 1) - 1
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def _read(data: memoryview, at: int) -> tuple[int, int]:
    """The signed number that begins there, and where the next field does."""
    number = shift = 0
    for place in range(at, min(at + _LARGEST_VARINT, len(data))):
        number |= (data[place] & 0x7F) << shift
        if data[place] < 0x80:
            return number >> 1 ^ -(number & 1), place + 1
        shift += 7
    raise ValueError("a number in a record has no end")
