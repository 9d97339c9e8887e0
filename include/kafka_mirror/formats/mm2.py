"""Checkpoints: where a consumer group of the source would go on on the target, MirrorMaker 2's class Checkpoint byte for byte.

Heartbeats: that a flow was alive at a moment, MirrorMaker 2's class Heartbeat byte for byte.

Offset syncs: which target offset a source offset became, MirrorMaker 2's class OffsetSync byte for byte.

Kafka's own field types (org.apache.kafka.common.protocol.types), as MirrorMaker 2 writes its internal records with them.

Big-endian; a STRING is a signed 16-bit length in bytes and UTF-8. Readers ignore what follows the last field, as MM2's do.
"""

import struct
from typing import NamedTuple

LONGEST_STRING = 2**15 - 1
"""Bytes."""

CHECKPOINT_VERSION = 0

HEARTBEAT_VERSION = 0


def string(text: str) -> bytes:
    """A STRING. Raises ValueError for one that its length field cannot say."""
    data = text.encode()
    if len(data) > LONGEST_STRING:
        raise ValueError(f"a text of {len(data)} bytes is longer than {LONGEST_STRING}")
    return struct.pack(">h", len(data)) + data


def int16(number: int) -> bytes:
    """An INT16."""
    return struct.pack(">h", number)


def int32(number: int) -> bytes:
    """An INT32."""
    return struct.pack(">i", number)


def int64(number: int) -> bytes:
    """An INT64."""
    return struct.pack(">q", number)


class Fields:
    """The fields of a record's bytes, one after the other. Every method raises ValueError where the bytes end too early."""

    def __init__(self, data: bytes | None) -> None:
        if data is None:
            raise ValueError("there is none: a tombstone, which MirrorMaker 2 never writes")
        self._data = data
        self._at = 0

    def string(self) -> str:
        """A STRING."""
        length = self.int16()
        if length < 0:
            raise ValueError(f"a text has the length {length}")
        return self._take(length).decode()

    def int16(self) -> int:
        """An INT16."""
        return int(struct.unpack(">h", self._take(2))[0])

    def int32(self) -> int:
        """An INT32."""
        return int(struct.unpack(">i", self._take(4))[0])

    def int64(self) -> int:
        """An INT64."""
        return int(struct.unpack(">q", self._take(8))[0])

    def _take(self, count: int) -> bytes:
        end = self._at + count
        if end > len(self._data):
            raise ValueError(f"it ends after {len(self._data)} bytes, in the middle of a field")
        taken, self._at = self._data[self._at : end], end
        return taken


class Checkpoint(NamedTuple):
    """The position of a group in one remote partition; `topic` is its name on the target."""

    group: str
    topic: str
    partition: int
    upstream: int
    downstream: int
    metadata: str = ""

    @property
    def key(self) -> bytes:
        """The record's key: group and remote partition."""
        return string(self.group) + string(self.topic) + int32(self.partition)

    @property
    def value(self) -> bytes:
        """The record's value: a version, both offsets, and what the group noted with its commit."""
        return int16(CHECKPOINT_VERSION) + int64(self.upstream) + int64(self.downstream) + string(self.metadata)


def decode_checkpoint(key: bytes | None, value: bytes | None) -> Checkpoint:
    """The checkpoint in a record; any version is read as MM2 does, as if it were 0. Raises ValueError for bytes that are none."""
    keys, values = Fields(key), Fields(value)
    values.int16()
    return Checkpoint(keys.string(), keys.string(), keys.int32(), values.int64(), values.int64(), values.string())


class Heartbeat(NamedTuple):
    """One beat of the flow source → target; `timestamp` in Unix milliseconds."""

    source: str
    target: str
    timestamp: int

    @property
    def key(self) -> bytes:
        """The record's key: both aliases."""
        return string(self.source) + string(self.target)

    @property
    def value(self) -> bytes:
        """The record's value: a version and the time."""
        return int16(HEARTBEAT_VERSION) + int64(self.timestamp)


def decode_heartbeat(key: bytes | None, value: bytes | None) -> Heartbeat:
    """The beat in a record; any version is read as MM2 does, as if it were 0. Raises ValueError for bytes that are none."""
    keys, values = Fields(key), Fields(value)
    values.int16()
    return Heartbeat(keys.string(), keys.string(), values.int64())


class OffsetSync(NamedTuple):
    """One pair of offsets of a source partition."""

    topic: str
    partition: int
    upstream: int
    downstream: int

    @property
    def key(self) -> bytes:
        """The record's key: the partition."""
        return string(self.topic) + int32(self.partition)

    @property
    def value(self) -> bytes:
        """The record's value: the pair. It has no version."""
        return int64(self.upstream) + int64(self.downstream)


def decode_offset_sync(key: bytes | None, value: bytes | None) -> OffsetSync:
    """The pair in a record. Raises ValueError for bytes that are none."""
    keys, values = Fields(key), Fields(value)
    return OffsetSync(keys.string(), keys.int32(), values.int64(), values.int64())
