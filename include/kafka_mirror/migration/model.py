"""One partition as MirrorMaker 2 left it, record by record, and what can be said of it: where to go on, or what is in doubt. Pure."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_mirror.groups.offset_sync_store import SyncPair

LONGEST = 1_000_000
"""How many records of either side are looked at before the end of a partition counts as not understood."""


class RecordDigest(NamedTuple):
    """A record as it is compared: its offset, a digest of key, value and headers, and its timestamp (None: not to be compared)."""

    offset: int
    content: bytes
    timestamp: int | None

    def is_like(self, copy: "RecordDigest") -> bool:
        """Whether the other one may be a copy of it."""
        if self.content != copy.content:
            return False
        return self.timestamp is None or copy.timestamp is None or self.timestamp == copy.timestamp


@dataclass(frozen=True)
class Evidence:
    """One partition as it was found. `source` and `tail` are visible records, without a hole from their first to their last."""

    stored: int | None
    """The offset that Kafka Connect kept: of the last record that was certainly mirrored. None if it kept none."""
    source: Sequence[RecordDigest]
    source_start: int
    """The log start of the source partition."""
    source_end: int
    """Where the source ends for a reader such as MirrorMaker 2's."""
    source_read: int
    """Up to where `source` was read."""
    tail: Sequence[RecordDigest]
    tail_start: int
    """From where on the remote partition was read."""
    target_start: int
    """The log start of the remote partition."""
    target_end: int
    sync: SyncPair | None = None
    """The newest offset sync: a record that is on both sides."""
    copied: SyncPair | None = None
    """Where our own copy ended when the flow was handed back: the next source offset, and the next one of the target."""
    compacted: bool = False
    """Whether either side drops records in between."""


@dataclass(frozen=True)
class Position:
    """Where to go on, and which target offsets the last source offsets became, as far as the tail shows them."""

    watermark: int
    pairs: tuple[SyncPair, ...] = field(default=())


@dataclass(frozen=True)
class Ambiguous:
    """Nothing is known for certain: from which target offset on, and why."""

    target: int
    why: str


class MoreSource(Exception):
    """Raised when the source must be read further."""


class MoreTail(Exception):
    """Raised when the remote partition must be read from further in front."""


def index_of(records: Sequence[RecordDigest], offset: int) -> int:
    """The index of the first record at an offset or after it."""
    return bisect_left(records, offset, key=lambda record: record.offset)


def record_at(records: Sequence[RecordDigest], offset: int) -> RecordDigest | None:
    """Returns the record with this offset, None if there is none."""
    at = index_of(records, offset)
    return records[at] if at < len(records) and records[at].offset == offset else None
