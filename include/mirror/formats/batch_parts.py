"""A part of a batch as batches of their own: its records from one offset to another, each as the bytes that it was.

    a batch       ┌ 40 ┬ 41 ┬ 43 ┬ 44 ┬ 47 ┐        41 to 46 of it:   ┌ 41 ┐ ┌ 43 ┬ 44 ┐

Of a record only its place in the batch is written anew, so whatever stands in it arrives: a client would decode key, value and headers,
and there are records of which it does not get all. Where offsets are missing, another batch begins: brokers number a batch's records
without holes.
"""

from mirror.formats.batch_records import BatchRecord, opened
from mirror.formats.record_batch import HEADER_BYTES, Attribute, RecordBatch, unsent_batch
from mirror.formats.varint import signed_varint


def parts_of(batch: RecordBatch, start: int, end: int, max_bytes: int) -> list[RecordBatch]:
    """The records in `[start, end)` in batches of at most `max_bytes`, uncompressed; a larger record has one to itself. They have the
    source's offsets. Raises ValueError if the batch cannot be opened."""
    if batch.is_control or not batch.is_known:
        raise ValueError(f"a batch with the attributes {batch.attributes:#06x} has no records that could be copied")
    is_stamped = bool(batch.attributes & Attribute.LOG_APPEND_TIME)
    base_timestamp = batch.max_timestamp if is_stamped else batch.base_timestamp
    parts: list[RecordBatch] = []
    body, held = bytearray(), list[BatchRecord]()
    for record in opened(batch):
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


def _encoded(record: BatchRecord, place: int) -> bytes:
    body = bytes((record.attributes,)) + signed_varint(record.timestamp_delta) + signed_varint(place) + record.rest
    return signed_varint(len(body)) + body


def _batch(batch: RecordBatch, base_timestamp: int, records: list[BatchRecord], body: bytearray) -> RecordBatch:
    latest = base_timestamp + max(record.timestamp_delta for record in records)
    return unsent_batch(records[0].offset, batch.leader_epoch, (base_timestamp, latest), len(records), bytes(body))
