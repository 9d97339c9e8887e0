"""Offset syncs: which target offset a source offset became, MirrorMaker 2's class OffsetSync byte for byte."""

from typing import NamedTuple

from mirror.formats.binary import Fields, int32, int64, string


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


def decode(key: bytes | None, value: bytes | None) -> OffsetSync:
    """The pair in a record. Raises ValueError for bytes that are none."""
    keys, values = Fields(key), Fields(value)
    return OffsetSync(keys.string(), keys.int32(), values.int64(), values.int64())
