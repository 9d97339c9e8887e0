"""The digest of a partition's records: of their contents and their order, in blocks, so that the first difference can be found again.

    records   a b c d e f │ g h i │ j k l m n …       the first block that differs is read again on both sides
    digests     block 0   │block 1│   block 2

Where a block ends the records themselves say (about every 4,096th ends one), never offsets: copies have other offsets than their sources.
So a reader that begins anywhere finds the same ends of blocks as one that began in front, and a large partition can be read in pieces
(`Piece`). Blocks without such an end are cut at 16,384 records.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple
from zlib import crc32

from kafka_mirror.formats.batches.batch_records import ReadRecord
from kafka_mirror.formats.batches.record_batch import NO_TIMESTAMP
from kafka_mirror.formats.record import UnreadableHeaders, comparable_bytes

MEAN_RECORDS = 4096
_MOST = 4
"""How many times the mean a block may have at most."""
_DIGEST_BYTES = 16
_LOOKED_AT = 64
"""How many bytes of a record say whether it ends a block: its timestamp, its sizes, and the beginning of its key and value."""


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

    def find_different_block(self, other: "Digest") -> int | None:
        """The number of the first block that is not the same on both sides; None if all are."""
        for number, (ours, theirs) in enumerate(zip(self.blocks, other.blocks, strict=False)):
            if (ours.records, ours.digest) != (theirs.records, theirs.digest):
                return number
        return None if len(self.blocks) == len(other.blocks) else min(len(self.blocks), len(other.blocks))

    def find_block_before(self, block: int, records: int) -> int:
        """The number of a block in front of which, up to `block`, at least this many records stand; the first one if there are fewer."""
        while block > 0 and records > 0:
            block -= 1
            records -= self.blocks[block].records
        return block


class Piece(NamedTuple):
    """A part of what is read: the blocks that begin in it, after the first end of a block that is known in it.

        cuts           │              │
        records  a b c │d e f g h i j │k l m n o p
        blocks    ─────┼──┤ ├─────────┼─┤ ├──────       the piece in the middle has the block g … k, the first one a … f

    Its first record does not count: whether it ends a block depends on the one in front of it. So a piece goes on after its end
    up to where another one begins. `cuts` are the offsets where pieces end, the piece's own `end` among them.
    """

    is_first: bool
    end: int
    cuts: tuple[int, ...]

    def ends_block_at(self, offset: int, before: int) -> bool:
        """Whether another piece begins after the end of a block at `offset`, in front of which the last record is at `before`."""
        return offset >= self.end and not any(before < cut <= offset for cut in self.cuts)


class Digester:
    """Takes the messages of one side of a stretch in their order. It keeps a few bytes a block and no record."""

    def __init__(self, *, timed: bool = True, skip: int = 0, mean_records: int = MEAN_RECORDS, piece: Piece | None = None) -> None:
        """`mean_records`: a power of two. `piece`: the digest has this piece's blocks alone."""
        self._timed = timed
        self._skip = skip
        self._mask = mean_records - 1
        self._most = mean_records * _MOST
        self._piece = piece
        self._in_front = piece is not None and not piece.is_first
        self._mark: int | None = None
        self._last = -1
        self._blocks: list[Block] = []
        self.is_done = False
        """Whether whatever follows belongs to other pieces."""
        self._begin()

    def take(self, messages: Sequence[ReadRecord]) -> None:
        """Adds messages after those that were added before. Raises UnreadableHeaders."""
        if self._skip:
            skipped = min(self._skip, len(messages))
            self._skip -= skipped
            messages = messages[skipped:]
        done = 0
        while done < len(messages) and not self.is_done:
            before = messages[done - 1].offset if done else self._last
            part = messages[done : done + self._most - self._records]
            data, taken, is_end = self._find_block_end(part)
            last = part[taken - 1].offset
            if taken > 1:
                before = part[taken - 2].offset
            if self._in_front:
                self._leave_behind(last, is_end)
            else:
                if not self._records:
                    self._first = part[0].offset
                self._hash.update(data)
                self._records += taken
                if is_end or self._records == self._most:
                    self._end()
                self.is_done = is_end and self._piece is not None and self._piece.ends_block_at(last, before)
            done += taken
        if messages:
            self._last = messages[-1].offset

    def digest(self) -> Digest:
        """What all messages so far come to; nothing can be added then."""
        if self._records:
            self._end()
        return Digest(tuple(self._blocks))

    def _leave_behind(self, last: int, is_end: bool) -> None:
        """What stands in front of the piece's first block belongs to the piece in front; all of it, if no block begins in the piece."""
        if self._piece is not None and last >= self._piece.end:
            self.is_done = True
        elif is_end:
            self._in_front = False

    def _find_block_end(self, messages: Sequence[ReadRecord]) -> tuple[bytes, int, bool]:
        """The bytes of the records up to the first one that ends a block, how many these are, and whether there is one."""
        # This runs for every single record of both sides, so it is kept short.
        parts: list[bytes] = []
        mark, mask, timed = self._mark, self._mask, self._timed
        is_end = False
        try:
            for message in messages:
                kind, timestamp = message.timestamp
                data = comparable_bytes(timestamp if timed and kind else NO_TIMESTAMP, message.key, message.value, message.headers)
                parts.append(data)
                before, mark = mark, crc32(data[:_LOOKED_AT])
                # Of records that look alike only the first one ends a block: all of them would make a block each.
                if not mark & mask and before is not None and mark != before:
                    is_end = True
                    break
        except ValueError:
            raise UnreadableHeaders(message.offset) from None
        self._mark = mark
        return b"".join(parts), len(parts), is_end

    def _begin(self) -> None:
        self._hash = hashlib.sha256()
        self._records = 0
        self._first = 0

    def _end(self) -> None:
        self._blocks.append(Block(self._first, self._records, self._hash.digest()[:_DIGEST_BYTES]))
        self._begin()
