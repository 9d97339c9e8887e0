"""What a broker answers to a fetch, in version 12, with the batches left where they stand in the answer.

kafka-python's schemas copy them once more, which costs as much as checking them does.
"""

import struct
from typing import NamedTuple

from mirror.formats.varint import read_length, read_varint

_HEAD = struct.Struct(">ihi")
"""For how long a quota holds us back, error code, session."""
_PARTITION = struct.Struct(">ihqqq")
"""Partition, error code, high watermark, last stable offset, log start."""
_ABORTED = struct.Struct(">qq")
_REPLICA_BYTES = 4
_DIVERGING_EPOCH = 0
"""The tag of the field that says where the log went another way (KIP-320)."""
_END_OFFSET = struct.Struct(">iq")


class PartitionData(NamedTuple):
    """What was fetched of a partition: its batches, and of the aborted transactions among them the producer id and the first offset."""

    topic: str
    partition: int
    error_code: int
    aborted: tuple[tuple[int, int], ...]
    records: memoryview
    diverged_at: int | None
    """Where the log went another way than the one that was read before; None: nowhere (KIP-320)."""


class FetchResponse(NamedTuple):
    """A whole answer; for `throttle_time_ms` a quota holds us back (KIP-219)."""

    throttle_time_ms: int
    error_code: int
    partitions: tuple[PartitionData, ...]


def fetch_response(body: memoryview) -> FetchResponse:
    """Reads the body of an answer. Raises ValueError for one that is cut off, or says that it holds more than it does."""
    try:
        return _fetch_response(body)
    except (IndexError, struct.error) as failure:
        raise ValueError(f"a fetch is cut off: {failure}") from failure


def _fetch_response(body: memoryview) -> FetchResponse:
    throttle, error_code, _ = _HEAD.unpack_from(body)
    partitions: list[PartitionData] = []
    topics, at = read_length(body, _HEAD.size)
    for _ in range(topics):
        name, at = _bytes(body, at)
        topic = str(name, "utf-8")
        number, at = read_length(body, at, _PARTITION.size)
        for _ in range(number):
            data, at = _partition_data(body, at, topic)
            partitions.append(data)
        _, at = _tagged(body, at)
    return FetchResponse(throttle, error_code, tuple(partitions))


def _partition_data(body: memoryview, at: int, topic: str) -> tuple[PartitionData, int]:
    partition, error_code, _, _, _ = _PARTITION.unpack_from(body, at)
    number, at = read_length(body, at + _PARTITION.size, _ABORTED.size)
    aborted: list[tuple[int, int]] = []
    for _ in range(number):  # -1: the answer to a reader of uncommitted records names none
        aborted.append(_ABORTED.unpack_from(body, at))
        _, at = _tagged(body, at + _ABORTED.size)
    records, at = _bytes(body, at + _REPLICA_BYTES)
    tagged, at = _tagged(body, at)
    end = _END_OFFSET.unpack_from(tagged[_DIVERGING_EPOCH])[1] if _DIVERGING_EPOCH in tagged else -1
    return PartitionData(topic, partition, error_code, tuple(aborted), records, end if end >= 0 else None), at


def _bytes(body: memoryview, at: int) -> tuple[memoryview, int]:
    """Bytes that stand after their length, none for null, and where they end."""
    length, at = read_length(body, at)
    end = at + max(length, 0)
    return body[at:end], end


def _tagged(body: memoryview, at: int) -> tuple[dict[int, memoryview], int]:
    """Tagged fields by their tag, and where they end."""
    number, at = read_varint(body, at)
    fields: dict[int, memoryview] = {}
    for _ in range(number):
        tag, at = read_varint(body, at)
        size, at = read_varint(body, at)
        if size > len(body) - at:
            raise ValueError(f"a field of {size} bytes is to follow, and {len(body) - at} bytes do")
        fields[tag] = body[at : at + size]
        at += size
    return fields, at
