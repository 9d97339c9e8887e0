"""Heartbeats: that a flow was alive at a moment, MirrorMaker 2's class Heartbeat byte for byte."""

from typing import NamedTuple

from mirror.formats.binary import Fields, int16, int64, string

VERSION = 0


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
        return int16(VERSION) + int64(self.timestamp)


def decode(key: bytes | None, value: bytes | None) -> Heartbeat:
    """The beat in a record; any version is read as MM2 does, as if it were 0. Raises ValueError for bytes that are none."""
    keys, values = Fields(key), Fields(value)
    values.int16()
    return Heartbeat(keys.string(), keys.string(), values.int64())
