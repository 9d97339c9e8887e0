"""Kafka Connect's source offsets (`mm2-offsets.<source>.internal`), byte for byte as MirrorMaker 2's workers write them.

Key and value are JSON without a blank. Connect looks its offsets up by the bytes of the key, so another order of the members, or another
way to escape a character, would be another key, which is never asked for.
"""

from typing import Any, NamedTuple

from kafka_mirror.formats.documents import parse_json

PARTITIONS = 25
"""`offset.storage.partitions`, unless it is set."""

SOURCE_CONNECTOR = "MirrorSourceConnector"
"""The connector's name in MirrorMaker 2's dedicated mode. On a Connect cluster the connector's maker chooses it."""

_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_INT_MAX = 2**31 - 1


class SourcePartition(NamedTuple):
    """What a source connector keeps an offset of: a partition of a topic, by its name on the cluster `cluster`."""

    connector: str
    cluster: str
    topic: str
    partition: int

    @property
    def key(self) -> bytes:
        """The record's key."""
        return _build_key(self.connector, f'"cluster":{_quote(self.cluster)},"partition":{self.partition},"topic":{_quote(self.topic)}')


class CheckpointPartition(NamedTuple):
    """What a checkpoint connector keeps: a group's partition of a remote topic. Its offset is always 0 and never read."""

    connector: str
    topic: str
    partition: int
    group: str

    @property
    def key(self) -> bytes:
        """The record's key."""
        return _build_key(self.connector, f'"partition":{self.partition},"topic":{_quote(self.topic)},"group":{_quote(self.group)}')


class HeartbeatPartition(NamedTuple):
    """What a heartbeat connector keeps: a flow. Its offset is always 0 and never read."""

    connector: str
    source: str
    target: str

    @property
    def key(self) -> bytes:
        """The record's key."""
        members = f'"sourceClusterAlias":{_quote(self.source)},"targetClusterAlias":{_quote(self.target)}'
        return _build_key(self.connector, members)


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


def _build_key(connector: str, members: str) -> bytes:
    return f"[{_quote(connector)},{{{members}}}]".encode()


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
