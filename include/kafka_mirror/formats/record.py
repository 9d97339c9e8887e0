"""A record as both sides are compared by: what it carries, bytes that no other record has, and the schema that it tells.

A schema registry's serializers (Confluent's wire format) put a zero byte and the schema's id as four bytes, the highest first, in front of
the value. Or, since 2025, into a header `__value_schema_id`: a byte 1 and a GUID. The ids are those of the producers' registry.
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from struct import Struct
from typing import Any, NamedTuple

from kafka_mirror.formats.batches.batch_records import CREATE_TIME, LOG_APPEND_TIME, ReadRecord
from kafka_mirror.formats.batches.record_batch import NO_TIMESTAMP
from kafka_mirror.formats.offsets.holes import CONTENT_BYTES, Records

TIMESTAMP_TYPES = {0: "none", CREATE_TIME: "CreateTime", LOG_APPEND_TIME: "LogAppendTime"}

_SIZES = Struct(">qiii").pack
_HEADER = Struct(">ii").pack

Headers = tuple[tuple[str, bytes | None], ...]
VALUE_HEADER = "__value_schema_id"
_MAGIC, _MAGIC_OF_HEADER = 0, 1
_FRAME_BYTES = 5
_GUID_BYTES = 16
_LONG_BYTES = 8
_LARGEST_ID = 10_000_000
"""Registries count from 1; what is larger is hardly an id."""


class Record(NamedTuple):
    """One record of a partition. `timestamp` is -1 where there is none."""

    offset: int
    timestamp_type: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers

    def carries(self, timed: bool = True) -> tuple[int, bytes | None, bytes | None, Headers]:
        """What a copy of it must be equal in; not `timed`: without the timestamp.

        The type of the timestamp is no part of it: a topic that stamps at append is mirrored with these times as its copies' own.
        """
        return self.timestamp if timed else NO_TIMESTAMP, self.key, self.value, self.headers


class UnreadableHeaders(Exception):
    """Raised for a record with a header key that is not UTF-8."""

    def __init__(self, offset: int) -> None:
        super().__init__(offset)
        self.offset = offset


def read_headers(message: ReadRecord) -> list[tuple[str, bytes | None]] | None:
    """The headers, none if the message has none; None for one with a name that is not UTF-8."""
    try:
        return list(message.headers or ())
    except ValueError:
        return None


def record_of(message: ReadRecord) -> Record:
    """The record of a message. Raises UnreadableHeaders."""
    kind, timestamp = message.timestamp
    try:
        headers = tuple((name, value) for name, value in message.headers or ())
    except ValueError:
        raise UnreadableHeaders(message.offset) from None
    return Record(message.offset, kind, timestamp if kind else NO_TIMESTAMP, message.key, message.value, headers)


def comparable_bytes(timestamp: int, key: bytes | None, value: bytes | None, headers: Any) -> bytes:
    """Bytes that two records share only if they are equal in all that a copy must be equal in, and that are the beginning of no other's:
    each part has its length in front of it (-1: null), and the headers their number, in their order."""
    key_bytes, value_bytes = -1 if key is None else len(key), -1 if value is None else len(value)
    if not headers:
        return _SIZES(timestamp, key_bytes, value_bytes, 0) + (key or b"") + (value or b"")
    parts = [_SIZES(timestamp, key_bytes, value_bytes, len(headers)), key or b"", value or b""]
    for name, content in headers:
        name_bytes = name.encode()
        parts += (_HEADER(len(name_bytes), -1 if content is None else len(content)), name_bytes, content or b"")
    return b"".join(parts)


def take(records: Records, messages: Sequence[ReadRecord]) -> int:
    """Adds messages after the others; how many bytes they carry. Raises UnreadableHeaders."""
    size = 0
    for message in messages:
        kind, timestamp = message.timestamp
        try:
            data = comparable_bytes(NO_TIMESTAMP, message.key, message.value, message.headers)
        except ValueError:
            raise UnreadableHeaders(message.offset) from None
        records.is_stamped |= kind == LOG_APPEND_TIME
        records.add(message.offset, timestamp if kind else NO_TIMESTAMP, blake2b(data, digest_size=CONTENT_BYTES).digest())
        size += len(data)
    return size


def schema_id(value: bytes | None) -> int | None:
    """The id in front of a value; None if it does not look as if there was one.

    A number that Kafka's LongSerializer wrote may look the same, so a value of exactly its eight bytes is not taken for one.
    """
    if value is None or len(value) <= _FRAME_BYTES or len(value) == _LONG_BYTES or value[0] != _MAGIC:
        return None
    number = int.from_bytes(value[1:_FRAME_BYTES], "big")
    return number if 0 < number <= _LARGEST_ID else None


def has_id_in_header(headers: Iterable[tuple[str, bytes | None]]) -> bool:
    """Whether a header carries the GUID of the value's schema."""
    return any(
        name == VALUE_HEADER and content is not None and len(content) == 1 + _GUID_BYTES and content[0] == _MAGIC_OF_HEADER
        for name, content in headers
    )
