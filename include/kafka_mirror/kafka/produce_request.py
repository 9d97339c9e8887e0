"""Batches on their way to a leader: batches of a few records of our own, produce requests (versions 9 to 12), and the answers to them.

A request is sent for every few batches, so what it costs counts a batch. kafka-python's schemas copy the batches into it and make an object
of every level; here the batches stay where they are in memory, and the bytes are the same. An answer that says more than that all was well
is read by those schemas.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from kafka.protocol.producer import ProduceRequest, ProduceResponse
from kafka.record.default_records import DefaultRecordBatchBuilder

from kafka_mirror.formats.record_batch import MAGIC, RecordBatch, batches_in
from kafka_mirror.formats.varint import read_length, varint

KEY: int = ProduceRequest.API_KEY
Batch = tuple[int, bytes, memoryview]
"""A partition's number, and the batch for it: its header and its records."""
Part = bytes | bytearray | memoryview

_UNCOMPRESSED = 0
_NO_PRODUCER = -1
_ALL_REPLICAS = -1
_NO_TAGS = b"\0"
_NAMES = 4096
"""How many topics' names are remembered. A broker chooses what it answers."""
_ACKS = struct.Struct(">hi")
_INT32 = struct.Struct(">i")
_ACKNOWLEDGED = struct.Struct(">ihqqqBBB")
"""Partition, error code, base offset, append time, log start; no record errors, no message and no tags, if all is well."""


def keyed_batches(entries: Sequence[tuple[bytes, bytes]], max_bytes: int) -> Iterator[RecordBatch]:
    """Keyed records of now, in their order, in batches of at most `max_bytes`; a larger record has one to itself."""
    rest = list(entries)
    while rest:
        builder = DefaultRecordBatchBuilder(MAGIC, _UNCOMPRESSED, False, _NO_PRODUCER, _NO_PRODUCER, _NO_PRODUCER, max_bytes)
        taken = 0
        for key, value in rest:
            if builder.append(taken, None, key, value, []) is None:
                break
            taken += 1
        del rest[:taken]
        yield from batches_in(builder.build())


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
        self._start = _string(transactional_id) + _ACKS.pack(_ALL_REPLICAS, timeout_ms)

    def parts(self, topics: Mapping[str, Sequence[Batch]]) -> list[Part]:
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


def produced(body: memoryview, version: int) -> Produced:
    """What the body of an answer says. Raises ValueError for one that cannot be read."""
    try:
        return _all_well(body)
    except (IndexError, struct.error) as failure:
        raise ValueError(f"an acknowledgement is cut off: {failure}") from failure
    except _SomethingElse:
        try:
            answer = ProduceResponse.decode(body, version=version)
            return Produced(answer.throttle_time_ms, list(_acknowledgements(answer)))
        except Exception as failure:
            raise ValueError(f"an acknowledgement cannot be read: {failure}") from failure


class _SomethingElse(Exception):
    """Raised for an answer that says more than that all was well."""


def _all_well(body: memoryview) -> Produced:
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


def _acknowledgements(answered: Any) -> Iterator[Acknowledgement]:
    for topic in answered.responses:
        for answer in topic.partition_responses:
            records = tuple((named.batch_index, named.batch_index_error_message or "") for named in answer.record_errors or ())
            yield Acknowledgement(topic.name, answer.index, answer.error_code, answer.base_offset, answer.error_message, records)


@lru_cache(_NAMES)
def _text(name: bytes) -> str:
    return name.decode()


@cache
def _string(text: str) -> bytes:
    encoded = text.encode()
    return varint(len(encoded) + 1) + encoded
