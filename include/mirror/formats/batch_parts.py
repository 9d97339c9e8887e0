"""A part of a batch as batches of their own: its records from one offset to another, each as the bytes that it was.

    a batch       ┌ 40 ┬ 41 ┬ 43 ┬ 44 ┬ 47 ┐        41 to 46 of it:   ┌ 41 ┐ ┌ 43 ┬ 44 ┐

Of a record only its place in the batch is written anew, so whatever stands in it arrives: a client would decode key, value and headers,
and there are records of which it does not get all. Where offsets are missing, another batch begins: brokers number a batch's records
without holes.
"""

from mirror.formats.batch_records import BatchRecord, opened
from mirror.formats.compression import LARGEST_UNPACKED
from mirror.formats.record_batch import HEADER_BYTES, Attribute, RecordBatch, unsent_batch
from mirror.formats.varint import signed_varint


def parts_of(batch: RecordBatch, start: int, end: int, max_bytes: int, largest: int = LARGEST_UNPACKED) -> list[RecordBatch]:
    """The records in `[start, end)` in batches of at most `max_bytes`, uncompressed; a larger record has one to itself. They have the
    source's offsets. Raises ValueError if the batch cannot be opened, UnpacksTooLarge if it has more than `largest` bytes unpacked."""
    if batch.is_control or not batch.is_known:
        raise ValueError(f"a batch with the attributes {batch.attributes:#06x} has no records that could be copied")
    is_stamped = bool(batch.attributes & Attribute.LOG_APPEND_TIME)
    base_timestamp = batch.max_timestamp if is_stamped else batch.base_timestamp
    parts: list[RecordBatch] = []
    # Of the part that grows: its records' bytes, its first offset, how many there are, and their latest time. A record is no object here: a
    # batch may have millions.
    body, first, count, latest = bytearray(), 0, 0, 0
    for record in opened(batch, largest):
        if not start <= record.offset < end:
            continue
        delta = 0 if is_stamped else record.timestamp_delta
        encoded = _encoded(record, delta, count)
        if count and (record.offset != first + count or HEADER_BYTES + len(body) + len(encoded) > max_bytes):
            parts.append(_batch(batch, (base_timestamp, latest), first, count, body))
            body, count = bytearray(), 0
            encoded = _encoded(record, delta, 0)
        first, latest = (first, max(latest, delta)) if count else (record.offset, delta)
        body += encoded
        count += 1
    if count:
        parts.append(_batch(batch, (base_timestamp, latest), first, count, body))
    return parts


def _encoded(record: BatchRecord, timestamp_delta: int, place: int) -> bytes:
    body = bytes((record.attributes,)) + signed_varint(timestamp_delta) + signed_varint(place) + record.rest
    return signed_varint(len(body)) + body


def _batch(batch: RecordBatch, times: tuple[int, int], first: int, count: int, body: bytearray) -> RecordBatch:
    base_timestamp, latest = times
    return unsent_batch(first, batch.leader_epoch, (base_timestamp, base_timestamp + latest), count, bytes(body))
