"""What MirrorMaker 2 stores on clusters, byte for byte: checkpoints, heartbeats and offset syncs in its internal topics, and its workers'
source offsets in Kafka Connect's (`mm2-offsets.<source>.internal`).

A checkpoint says where a consumer group of the source would go on on the target, a heartbeat that a flow was alive at a moment, an offset
sync which target offset a source offset became. They are written with Kafka's own field types (org.apache.kafka.common.protocol.types):
big-endian; a STRING is a signed 16-bit length in bytes and UTF-8. Readers ignore what follows the last field, as MirrorMaker 2's do.
"""

import struct
from typing import Any, NamedTuple

from kafka_mirror.formats.documents import parse_json

_LONGEST_STRING = 2**15 - 1
"""Bytes."""

_VERSION = 0
"""Of checkpoints and heartbeats."""


def string(text: str) -> bytes:
    """A STRING. Raises ValueError for one that its length field cannot say."""
    data = text.encode()
    if len(data) > _LONGEST_STRING:
        raise ValueError(f"a text of {len(data)} bytes is longer than {_LONGEST_STRING}")
    return struct.pack(">h", len(data)) + data


class Fields:
    """The fields of a record's bytes, one after the other. Every method raises ValueError where the bytes end too early."""

    def __init__(self, data: bytes | None) -> None:
        if data is None:
            raise ValueError("there is none: a tombstone, which MirrorMaker 2 never writes")
        self._data = data
        self._at = 0

    def string(self) -> str:
        """A STRING."""
        length = self.number("h")
        if length < 0:
            raise ValueError(f"a text has the length {length}")
        return self._take(length).decode()

    def number(self, form: str) -> int:
        """An INT16 (`form` is `h`), INT32 (`i`) or INT64 (`q`)."""
        return int(struct.unpack(f">{form}", self._take(struct.calcsize(f">{form}")))[0])

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
        return string(self.group) + string(self.topic) + struct.pack(">i", self.partition)

    @property
    def value(self) -> bytes:
        """The record's value: a version, both offsets, and what the group noted with its commit."""
        return struct.pack(">hqq", _VERSION, self.upstream, self.downstream) + string(self.metadata)


def decode_checkpoint(key: bytes | None, value: bytes | None) -> Checkpoint:
    """The checkpoint in a record; any version is read as MM2 does, as if it were 0. Raises ValueError for bytes that are none."""
    keys, values = Fields(key), Fields(value)
    values.number("h")
    return Checkpoint(keys.string(), keys.string(), keys.number("i"), values.number("q"), values.number("q"), values.string())


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
        return struct.pack(">hq", _VERSION, self.timestamp)


def decode_heartbeat(key: bytes | None, value: bytes | None) -> Heartbeat:
    """The beat in a record; any version is read as MM2 does, as if it were 0. Raises ValueError for bytes that are none."""
    keys, values = Fields(key), Fields(value)
    values.number("h")
    return Heartbeat(keys.string(), keys.string(), values.number("q"))


class OffsetSync(NamedTuple):
    """One pair of offsets of a source partition."""

    topic: str
    partition: int
    upstream: int
    downstream: int

    @property
    def key(self) -> bytes:
        """The record's key: the partition."""
        return string(self.topic) + struct.pack(">i", self.partition)

    @property
    def value(self) -> bytes:
        """The record's value: the pair. It has no version."""
        return struct.pack(">qq", self.upstream, self.downstream)


def decode_offset_sync(key: bytes | None, value: bytes | None) -> OffsetSync:
    """The pair in a record. Raises ValueError for bytes that are none."""
    keys, values = Fields(key), Fields(value)
    return OffsetSync(keys.string(), keys.number("i"), values.number("q"), values.number("q"))


# ------------------------------------------------------------ Kafka Connect's source offsets

PARTITIONS = 25
"""`offset.storage.partitions`, unless it is set."""

SOURCE_CONNECTOR = "MirrorSourceConnector"
"""The connector's name in MirrorMaker 2's dedicated mode. On a Connect cluster the connector's maker chooses it."""

_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_INT_MAX = 2**31 - 1


class SourcePartition(NamedTuple):
    """What a source connector keeps an offset of: a partition of a topic, by its name on the cluster `cluster`.

    Key and value are JSON without a blank. Connect looks its offsets up by the bytes of the key, so another order of the members, or
    another way to escape a character, would be another key, which is never asked for.
    """

    connector: str
    cluster: str
    topic: str
    partition: int

    @property
    def key(self) -> bytes:
        """The record's key."""
        members = f'"cluster":{_quote(self.cluster)},"partition":{self.partition},"topic":{_quote(self.topic)}'
        return f"[{_quote(self.connector)},{{{members}}}]".encode()


class OtherConnector(ValueError):
    """Raised for a key that is in order and none of a source connector of MirrorMaker 2's."""


def decode_source(key: bytes | None) -> SourcePartition:
    """The partition in the key of a source connector. Raises OtherConnector for a key of another kind, ValueError for what is no key, also
    for one that says the same in other bytes: MirrorMaker 2 would not find it."""
    array = parse_json(key or b"")
    if type(array) is not list or len(array) != 2 or type(array[1]) is not dict:
        raise ValueError("it is not an array of a connector's name and a partition")
    connector, members = array
    if set(members) != {"cluster", "partition", "topic"}:
        raise OtherConnector("it is no partition of a source connector")
    cluster, topic, partition = members["cluster"], members["topic"], members["partition"]
    if any(type(text) is not str for text in (connector, cluster, topic)):
        raise ValueError("the names of connector, cluster and topic must be strings")
    if type(partition) is not int or not 0 <= partition <= _INT_MAX:
        raise ValueError(f"{partition!r} is no number of a partition")
    source = SourcePartition(connector, cluster, topic, partition)
    if source.key != key:
        raise ValueError("it is not written as Kafka Connect writes it, which would never find it")
    return source


def encode_offset(offset: int) -> bytes:
    """The record's value. Of a source partition: the offset of the last record that was mirrored, not of the next."""
    return b'{"offset":%d}' % offset


def decode_offset(value: bytes | None) -> int | None:
    """The offset in a record's value; None where it was removed: there is none, or it is negative, which MirrorMaker 2 takes for none.
    Raises ValueError for what is no offset."""
    if value is None:
        return None
    members: Any = parse_json(value)
    if members is None:
        return None
    if type(members) is not dict or type(members.get("offset")) is not int:
        raise ValueError("it is not an object with a whole number as its offset")
    offset: int = members["offset"]
    return offset if offset >= 0 else None


def partition_of(key: bytes, partitions: int = PARTITIONS) -> int:
    """The partition of a key, as the default partitioner of Java's producer chooses it."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions


def murmur2(data: bytes) -> int:
    """Kafka's 32-bit hash of a key (org.apache.kafka.common.utils.Utils), with its sign."""
    hashed = 0x9747B28C ^ len(data)
    whole = len(data) & ~3
    for at in range(0, whole, 4):
        word = _multiply(int.from_bytes(data[at : at + 4], "little"))
        hashed = _multiply(hashed) ^ _multiply(word ^ word >> 24)
    if whole < len(data):
        hashed = _multiply(hashed ^ int.from_bytes(data[whole:], "little"))
    hashed = _multiply(hashed ^ hashed >> 13)
    hashed ^= hashed >> 15
    return hashed - 2**32 if hashed >= 2**31 else hashed


def _multiply(word: int) -> int:
    return word * 0x5BD1E995 & 0xFFFFFFFF


def _quote(text: str) -> str:
    """A JSON string as Jackson writes it to bytes: control characters in capital hexadecimal, characters beyond U+FFFF as two escaped
    surrogates, everything else as it is. Raises UnicodeEncodeError, a ValueError, when a lone surrogate is encoded."""
    return f'"{"".join(_SHORT.get(character) or _escape(character) for character in text)}"'


def _escape(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return f"\\u{code:04X}"
    if code > 0xFFFF:
        return "".join(f"\\u{half:04X}" for half in (0xD800 + (code - 0x10000 >> 10), 0xDC00 + (code - 0x10000 & 0x3FF)))
    return character
