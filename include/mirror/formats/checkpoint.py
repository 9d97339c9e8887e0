"""Checkpoints: where a consumer group of the source would go on on the target, MirrorMaker 2's class Checkpoint byte for byte."""

from typing import NamedTuple

from mirror.formats.binary import Fields, int16, int32, int64, string

VERSION = 0


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
        return int16(VERSION) + int64(self.upstream) + int64(self.downstream) + string(self.metadata)


def decode(key: bytes | None, value: bytes | None) -> Checkpoint:
    """The checkpoint in a record; any version is read as MM2 does, as if it were 0. Raises ValueError for bytes that are none."""
    keys, values = Fields(key), Fields(value)
    values.int16()
    return Checkpoint(keys.string(), keys.string(), keys.int32(), values.int64(), values.int64(), values.string())
