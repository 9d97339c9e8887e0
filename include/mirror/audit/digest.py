"""The digest of a partition's records: of their contents and their order, in blocks, so that the first difference can be found again.

    records   0 ────────── 4095 │ 4096 ───────── 8191 │ 8192 …
    digests        block 0      │       block 1       │          the first block that differs is read again on both sides

Blocks are cut by the number of records, never by offsets: copies have other offsets than their sources.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mirror.audit.record import NO_TIMESTAMP, Message, UnreadableHeaders, encoded
from mirror.formats.message_headers import UNREADABLE_HEADERS, read_headers

BLOCK_RECORDS = 4096
_DIGEST_BYTES = 16


class Block(NamedTuple):
    """Consecutive records: the offset of the first, how many, and their digest."""

    first: int
    records: int
    digest: bytes


@dataclass(frozen=True)
class Digest:
    """All records of one side of a stretch."""

    blocks: tuple[Block, ...] = ()

    @property
    def records(self) -> int:
        """How many there are."""
        return sum(block.records for block in self.blocks)

    @property
    def text(self) -> str:
        """The digest of all of them, in hexadecimal: equal only for the same records in the same order."""
        return hashlib.blake2b(b"".join(block.digest for block in self.blocks), digest_size=_DIGEST_BYTES).hexdigest()

    def differs_at(self, other: "Digest") -> int | None:
        """The number of the first block that is not the same on both sides; None if all are."""
        for number, (ours, theirs) in enumerate(zip(self.blocks, other.blocks, strict=False)):
            if (ours.records, ours.digest) != (theirs.records, theirs.digest):
                return number
        return None if len(self.blocks) == len(other.blocks) else min(len(self.blocks), len(other.blocks))


class Digester:
    """Takes the messages of one side of a stretch in their order. It keeps a few bytes a block and no record."""

    def __init__(self, *, timed: bool = True, skip: int = 0, block_records: int = BLOCK_RECORDS) -> None:
        self._timed = timed
        self._skip = skip
        self._block_records = block_records
        self._blocks: list[Block] = []
        self._begin()

    def take(self, messages: Sequence[Message]) -> None:
        """Adds messages behind those that were added before. Raises UnreadableHeaders."""
        if self._skip:
            skipped = min(self._skip, len(messages))
            self._skip -= skipped
            messages = messages[skipped:]
        done = 0
        while done < len(messages):
            part = messages[done : done + self._block_records - self._records]
            if not self._records:
                self._first = part[0].offset() or 0
            self._hash.update(_bytes_of(part, self._timed))
            self._records += len(part)
            done += len(part)
            if self._records == self._block_records:
                self._end()

    def digest(self) -> Digest:
        """What all messages so far come to; nothing can be added behind."""
        if self._records:
            self._end()
        return Digest(tuple(self._blocks))

    def _begin(self) -> None:
        self._hash = hashlib.sha256()
        self._records = 0
        self._first = 0

    def _end(self) -> None:
        self._blocks.append(Block(self._first, self._records, self._hash.digest()[:_DIGEST_BYTES]))
        self._begin()


def _bytes_of(messages: Sequence[Message], timed: bool) -> bytes:
    # This runs for every single record of both sides, so it is kept short.
    parts = []
    try:
        for message in messages:
            kind, timestamp = message.timestamp()
            parts.append(encoded(timestamp if timed and kind else NO_TIMESTAMP, message.key(), message.value(), read_headers(message)))
    except UNREADABLE_HEADERS:
        raise UnreadableHeaders(message.offset() or 0) from None
    return b"".join(parts)
