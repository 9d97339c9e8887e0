"""Follows the tail of a remote partition on the source, record by record, in every way that it can be read. Pure."""

from collections.abc import Sequence

from mirror.handover.model import LONGEST, Doubt, Evidence, MoreSource, Position, Seen, index_of
from mirror.offsets.sync_store import Pair


class Readings:
    """All readings of the tail that are possible so far: for each, the index of the source record that has to come next."""

    def __init__(self, evidence: Evidence, restart: int, seed: Seen | None) -> None:
        """`restart`: the source offset at which a worker begins that starts again. `seed`: the record in front of it; where that stands in
        the tail, a reading may begin."""
        self._evidence = evidence
        self._source = evidence.source
        self._restart_offset = restart
        self._restart = index_of(evidence.source, restart)
        self._seed = seed
        self._expected: dict[int, int] = {}
        """Index of the next source record -> with which record of the tail the reading began, or a worker started again last; −1: with
        the first one, which follows what was known before."""
        self._first: tuple[Pair, ...] = ()
        self._offsets: list[int] = []

    def begin(self, index: int, first: tuple[Pair, ...]) -> None:
        """The source record that has to be the first of the tail, and the pair right in front of it."""
        self._expected, self._first = {index: -1}, first

    def follow(self, tail: Sequence[Seen], watermark: int) -> Position | Doubt:
        """Reads the tail to its end. `watermark`: where to go on if it is empty."""
        lost = tail[0].offset if tail else self._evidence.target_end
        for record in tail:
            following = self._following(record)
            if not following and self._expected:
                lost = record.offset
                if self._seed is None:
                    return Doubt(lost, f"the record at {lost} is not the next one of the source.")
            self._expected = following
            self._offsets.append(record.offset)
        if not self._expected:
            return Doubt(lost, f"the record at {lost} is not the next one of the source.")
        if len(self._expected) > 1:
            readings = ", ".join(str(self._source[index - 1].offset) for index in sorted(self._expected)[:5])
            return Doubt(tail[-1].offset, f"its last record may be any of the source's records {readings}, which are alike.")
        ((index, begun),) = self._expected.items()
        if index < self._restart:
            return Doubt(self._evidence.target_end, "it ends in front of the offset that was kept.")
        pairs = self._pairs(index, begun)
        return Position(max(pairs[-1].upstream + 1 if pairs else watermark, self._restart_offset), pairs)

    def _following(self, record: Seen) -> dict[int, int]:
        following = {index + 1: begun for index, begun in self._expected.items() if self._like(index, record)}
        number = len(self._offsets)
        if any(index > self._restart for index in self._expected) and self._like(self._restart, record):
            following.setdefault(self._restart + 1, number)
        if self._seed is not None and self._seed.is_like(record):
            following.setdefault(self._restart, number)
        return following

    def _like(self, index: int, record: Seen) -> bool:
        if index < len(self._source):
            return self._source[index].is_like(record)
        if self._evidence.source_read < self._evidence.source_end and len(self._source) < LONGEST:
            raise MoreSource
        return False

    def _pairs(self, index: int, begun: int) -> tuple[Pair, ...]:
        """The pairs of the reading that ends in front of this source record, back to where it began or a worker started again."""
        offsets = self._offsets[max(begun, 0) :]
        sources = self._source[index - len(offsets) : index]
        pairs = tuple(Pair(record.offset, offset) for record, offset in zip(sources, offsets, strict=True))
        return pairs if begun >= 0 else (*self._first, *pairs)
