"""What a broker answers to a fetch, in versions 10 to 13, with the batches left where they stand in the answer.

kafka-python's schemas copy them once more, which costs as much as checking them does. Up to version 11 a length has a size of its own; from
12 on lengths are numbers of variable length, and fields with tags may follow. From 13 on a topic is called by its id.
"""

import struct
from collections.abc import Callable, Mapping
from typing import NamedTuple

from kafka_mirror.formats.batches.varint import read_length, read_varint

FLEXIBLE, WITH_IDS = 12, 13
"""The first versions whose lengths are of variable size, and in which topics are called by their ids."""
TOPIC_ID_BYTES = 16

_WITH_REPLICA = 11
_HEAD = struct.Struct(">ihi")
"""For how long a quota holds us back, error code, session."""
_PARTITION = struct.Struct(">ihqqq")
"""Partition, error code, high watermark, last stable offset, log start."""
_ABORTED = struct.Struct(">qq")
_INT16, _INT32 = struct.Struct(">h"), struct.Struct(">i")
_DIVERGING_EPOCH = 0
"""The tag of the field that says where the log went another way (KIP-320)."""
_END_OFFSET = struct.Struct(">iq")


class PartitionData(NamedTuple):
    """What was fetched of a partition: its batches, and of the aborted transactions among them the producer id and the first offset."""

    topic: str
    partition: int
    error_code: int
    high_watermark: int
    """Where the log ends for every reader."""
    aborted: tuple[tuple[int, int], ...]
    records: memoryview
    diverged_at: int | None
    """Where the log went another way than the one that was read before; None: nowhere (KIP-320)."""


class FetchResponse(NamedTuple):
    """A whole answer; for `throttle_time_ms` a quota holds us back (KIP-219)."""

    throttle_time_ms: int
    error_code: int
    partitions: tuple[PartitionData, ...]


def fetch_response(body: memoryview, version: int = FLEXIBLE, names: Mapping[bytes, str] | None = None) -> FetchResponse:
    """Reads the body of an answer; `names` are those of the topics that were asked for by their ids. Raises ValueError for one that is cut
    off, says that it holds more than it does, or is about other topics."""
    try:
        return _fetch_response(body, version, names or {})
    except (IndexError, struct.error) as failure:
        raise ValueError(f"a fetch is cut off: {failure}") from failure


class _Encoding(NamedTuple):
    """How a version says how much follows: of the bytes of a text, of elements (with the least size of each), of the bytes of batches;
    and what reads its tagged fields. Each gives where the next field begins too."""

    text: Callable[[memoryview, int], tuple[int, int]]
    number: Callable[[memoryview, int, int], tuple[int, int]]
    data: Callable[[memoryview, int], tuple[int, int]]
    tagged: Callable[[memoryview, int], tuple[dict[int, memoryview], int]]


def _fetch_response(body: memoryview, version: int, names: Mapping[bytes, str]) -> FetchResponse:
    encoding = _COMPACT if version >= FLEXIBLE else _FIXED
    throttle, error_code, _ = _HEAD.unpack_from(body)
    partitions: list[PartitionData] = []
    topics, at = encoding.number(body, _HEAD.size, 1)
    for _ in range(topics):
        if version >= WITH_IDS:
            topic_id, at = bytes(body[at : at + TOPIC_ID_BYTES]), at + TOPIC_ID_BYTES
            if topic_id not in names:
                raise ValueError("a fetch is about a topic that was not asked for")
            topic = names[topic_id]
        else:
            length, at = encoding.text(body, at)
            topic, at = str(body[at : at + max(length, 0)], "utf-8"), at + max(length, 0)
        number, at = encoding.number(body, at, _PARTITION.size)
        for _ in range(number):
            data, at = _partition_data(body, at, topic, encoding, _INT32.size if version >= _WITH_REPLICA else 0)
            partitions.append(data)
        _, at = encoding.tagged(body, at)
    return FetchResponse(throttle, error_code, tuple(partitions))


def _partition_data(body: memoryview, at: int, topic: str, encoding: _Encoding, replica_bytes: int) -> tuple[PartitionData, int]:
    partition, error_code, high_watermark, _, _ = _PARTITION.unpack_from(body, at)
    number, at = encoding.number(body, at + _PARTITION.size, _ABORTED.size)
    aborted: list[tuple[int, int]] = []
    for _ in range(number):  # -1: the answer to a reader of uncommitted records names none
        aborted.append(_ABORTED.unpack_from(body, at))
        _, at = encoding.tagged(body, at + _ABORTED.size)
    length, at = encoding.data(body, at + replica_bytes)
    end = at + max(length, 0)
    records = body[at:end]
    tagged, at = encoding.tagged(body, end)
    at_offset = _END_OFFSET.unpack_from(tagged[_DIVERGING_EPOCH])[1] if _DIVERGING_EPOCH in tagged else -1
    return PartitionData(topic, partition, error_code, high_watermark, tuple(aborted), records, at_offset if at_offset >= 0 else None), at


def _read_tagged(body: memoryview, at: int) -> tuple[dict[int, memoryview], int]:
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


def _read_count(body: memoryview, at: int, least: int = 1) -> tuple[int, int]:
    return _check_room(_INT32.unpack_from(body, at)[0], body, at + _INT32.size, least)


def _read_text_size(body: memoryview, at: int) -> tuple[int, int]:
    return _check_room(_INT16.unpack_from(body, at)[0], body, at + _INT16.size, 1)


def _check_room(number: int, body: memoryview, at: int, least: int) -> tuple[int, int]:
    if number * least > len(body) - at:
        raise ValueError(f"{number} elements are to follow, and {len(body) - at} bytes do")
    return number, at


_COMPACT = _Encoding(read_length, read_length, read_length, _read_tagged)
_FIXED = _Encoding(_read_text_size, _read_count, _read_count, lambda _, at: ({}, at))
