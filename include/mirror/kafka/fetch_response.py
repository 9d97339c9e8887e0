"""What a broker answers to a fetch, in version 12, with the batches left where they stand in the answer.

kafka-python's schemas copy them once more, which costs as much as checking them does.
"""

import struct
from typing import NamedTuple

from mirror.formats.varint import read_varint

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
    """Reads the body of an answer."""
    throttle, error_code, _ = _HEAD.unpack_from(body)
    partitions: list[PartitionData] = []
    topics, at = read_varint(body, _HEAD.size)
    for _ in range(topics - 1):
        length, at = read_varint(body, at)
        topic, at = str(body[at : at + length - 1], "utf-8"), at + length - 1
        number, at = read_varint(body, at)
        for _ in range(number - 1):
            data, at = _partition_data(body, at, topic)
            partitions.append(data)
        _, at = _tagged(body, at)
    return FetchResponse(throttle, error_code, tuple(partitions))


def _partition_data(body: memoryview, at: int, topic: str) -> tuple[PartitionData, int]:
    partition, error_code, _, _, _ = _PARTITION.unpack_from(body, at)
    number, at = read_varint(body, at + _PARTITION.size)
    aborted: list[tuple[int, int]] = []
    for _ in range(number - 1):  # -1: the answer to a reader of uncommitted records names none
        aborted.append(_ABORTED.unpack_from(body, at))
        _, at = _tagged(body, at + _ABORTED.size)
    size, at = read_varint(body, at + _REPLICA_BYTES)
    records, at = body[at : at + max(size - 1, 0)], at + max(size - 1, 0)
    tagged, at = _tagged(body, at)
    end = _END_OFFSET.unpack_from(tagged[_DIVERGING_EPOCH])[1] if _DIVERGING_EPOCH in tagged else -1
    return PartitionData(topic, partition, error_code, tuple(aborted), records, end if end >= 0 else None), at


def _tagged(body: memoryview, at: int) -> tuple[dict[int, memoryview], int]:
    """Tagged fields by their tag, and where they end."""
    number, at = read_varint(body, at)
    fields: dict[int, memoryview] = {}
    for _ in range(number):
        tag, at = read_varint(body, at)
        size, at = read_varint(body, at)
        fields[tag] = body[at : at + size]
        at += size
    return fields, at
