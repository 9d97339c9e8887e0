"""Batches on their way to a leader: batches of a few records of our own, produce requests (versions 9 to 12), and the answers to them.

A request is sent for every few batches, so what it costs counts a batch. kafka-python's schemas copy the batches into it and make an object
of every level; here the batches stay where they are in memory, and the bytes are the same. An answer that says more than that all was well
is read by those schemas.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from kafka.protocol.producer import ProduceRequest, ProduceResponse

from kafka_mirror.formats.batches.batch_records import content_of
from kafka_mirror.formats.batches.batch_rewrite import sealed_batches
from kafka_mirror.formats.batches.record_batch import CODECS, NO_TIMESTAMP, RecordBatch
from kafka_mirror.formats.batches.varint import read_length, varint

KEY: int = ProduceRequest.API_KEY
ALL_REPLICAS = -1
"""Who acknowledges a batch."""
Batch = tuple[int, bytes, memoryview]
"""A partition's number, and the batch for it: its header and its records."""
Part = bytes | bytearray | memoryview

_NO_TAGS = b"\0"
_NAMES = 4096
"""How many topics' names are remembered. A broker chooses what it answers."""
_ACKS = struct.Struct(">hi")
_INT32 = struct.Struct(">i")
_ACKNOWLEDGED = struct.Struct(">ihqqqBBB")
"""Partition, error code, base offset, append time, log start; no record errors, no message and no tags, if all is well."""


class Outgoing(NamedTuple):
    """A record to write, with a `timestamp` in Unix milliseconds for its readers.

    What only the mirror reads has none: a broker refuses a time that is far from its own clock's, and takes a record without one.
    """

    topic: str
    key: bytes
    value: bytes | None
    timestamp: int = NO_TIMESTAMP
    partition: int = 0
    headers: tuple[tuple[str, bytes], ...] = ()


def batches_of(records: Iterable[Outgoing], max_bytes: int, codec: str = CODECS[0]) -> list[RecordBatch]:
    """Records of one partition, in their order, in batches of at most `max_bytes`; a larger record has one to itself."""
    contents = [(record.timestamp, b"\0", content_of(record.key, record.value, record.headers)) for record in records]
    return sealed_batches([(place, *content) for place, content in enumerate(contents)], max_bytes, codec)


def keyed_batches(entries: Iterable[tuple[bytes, bytes]], max_bytes: int) -> list[RecordBatch]:
    """Keys and values of one partition in batches of at most `max_bytes`, without timestamps."""
    return batches_of((Outgoing("", key, value) for key, value in entries), max_bytes)


class Acknowledgement(NamedTuple):
    """What a broker says of one batch; where `error_code` is 0, it begins at `base_offset`. `records`: the places of those that an error
    means, and why, where the broker says so (KIP-467)."""

    topic: str
    partition: int
    error_code: int
    base_offset: int
    message: str | None = None
    records: tuple[tuple[int, str], ...] = ()


class Produced(NamedTuple):
    """What a broker answers to a request: for how many milliseconds a quota holds us back (KIP-219), and what became of each batch."""

    throttle_time_ms: int
    batches: list[Acknowledgement]


class ProduceRequests:
    """The requests of one transactional id."""

    def __init__(self, transactional_id: str, timeout_ms: int) -> None:
        self._start = _string(transactional_id) + _ACKS.pack(ALL_REPLICAS, timeout_ms)

    def build_parts(self, topics: Mapping[str, Sequence[Batch]]) -> list[Part]:
        """A request's body as the pieces that make it up; the records among them are those that were given."""
        parts: list[Part] = []
        between = bytearray(self._start)
        between += varint(len(topics) + 1)
        for topic, batches in topics.items():
            between += _string(topic)
            between += varint(len(batches) + 1)
            for partition, header, records in batches:
                between += _INT32.pack(partition)
                between += varint(len(header) + len(records) + 1)
                between += header
                parts += (between, records)
                between = bytearray(_NO_TAGS)
            between += _NO_TAGS
        between += _NO_TAGS
        parts.append(between)
        return parts


def read_produced(body: memoryview, version: int) -> Produced:
    """What the body of an answer says. Raises ValueError for one that cannot be read."""
    try:
        return _read_all_well(body)
    except (IndexError, struct.error) as failure:
        raise ValueError(f"an acknowledgement is cut off: {failure}") from failure
    except _SomethingElse:
        try:
            answer = ProduceResponse.decode(body, version=version)
            return Produced(answer.throttle_time_ms, acknowledgements(answer))
        except Exception as failure:
            raise ValueError(f"an acknowledgement cannot be read: {failure}") from failure


class _SomethingElse(Exception):
    """Raised for an answer that says more than that all was well."""


def _read_all_well(body: memoryview) -> Produced:
    batches: list[Acknowledgement] = []
    topics, at = read_length(body, 0)
    for _ in range(topics):
        length, at = read_length(body, at)
        name, at = bytes(body[at : at + max(length, 0)]), at + max(length, 0)
        topic = _text(name)
        partitions, at = read_length(body, at, _ACKNOWLEDGED.size)
        for _ in range(partitions):
            partition, code, offset, _, _, records, message, tags = _ACKNOWLEDGED.unpack_from(body, at)
            if code or records != 1 or message or tags:
                raise _SomethingElse
            batches.append(Acknowledgement(topic, partition, code, offset))
            at += _ACKNOWLEDGED.size
        if body[at]:
            raise _SomethingElse
        at += 1
    return Produced(_INT32.unpack_from(body, at)[0], batches)


def acknowledgements(answered: Any) -> list[Acknowledgement]:
    """What an answer that kafka-python's schema read says of each batch."""
    batches: list[Acknowledgement] = []
    for topic in answered.responses:
        for answer in topic.partition_responses:
            records = tuple((named.batch_index, named.batch_index_error_message or "") for named in answer.record_errors or ())
            batches.append(Acknowledgement(topic.name, answer.index, answer.error_code, answer.base_offset, answer.error_message, records))
    return batches


@lru_cache(_NAMES)
def _text(name: bytes) -> str:
    return name.decode()


@cache
def _string(text: str) -> bytes:
    encoded = text.encode()
    return varint(len(encoded) + 1) + encoded
