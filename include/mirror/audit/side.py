"""One side of an audit: the digests of many partitions in one reading, and the records of one partition where they have to be seen."""

import math
from collections.abc import Generator, Iterable, Mapping, MutableMapping, Sequence
from contextlib import closing
from typing import Any, NamedTuple

from mirror.audit.digest import Digest, Digester, Piece
from mirror.audit.record import Message, Record, UnreadableHeaders, record_of
from mirror.errors import MirrorError, RecordUnreadable
from mirror.kafka.batches import BatchReader
from mirror.kafka.cluster import Cluster
from mirror.offsets.intervals import Interval
from mirror.offsets.partition import TopicPartition


class Part(NamedTuple):
    """Offsets `[start, end)` of a partition without those in `left`, and how many records at their beginning are not counted."""

    start: int
    end: int
    left: tuple[Interval, ...] = ()
    skip: int = 0
    timed: bool = True


class Side:
    """A cluster whose partitions are read. Every reading has a consumer of its own, and ends with TimeIsUp at `ends_at`
    (time.monotonic)."""

    def __init__(
        self,
        alias: str,
        settings: Mapping[str, Any],
        committed: bool,
        seconds: float,
        admin: Mapping[str, Any],
        ends_at: float = math.inf,
    ) -> None:
        self.alias = alias
        self._committed = committed
        self._seconds = seconds
        self._admin = admin
        self._reader = BatchReader(alias, settings, committed, seconds, ends_at)

    def digests(
        self, parts: Mapping[TopicPartition, Part], errors: MutableMapping[TopicPartition, MirrorError]
    ) -> dict[TopicPartition, Digest]:
        """The digest of each partition; one that cannot be read is in `errors`. Raises what concerns the cluster."""
        digesters = {tp: Digester(timed=part.timed, skip=part.skip) for tp, part in parts.items()}
        for tp, messages in self.batches(parts, errors):
            if tp not in errors:
                try:
                    digesters[tp].take(messages)
                except UnreadableHeaders as unreadable:
                    errors[tp] = RecordUnreadable(self.alias, *tp, unreadable.offset)
        return {tp: digester.digest() for tp, digester in digesters.items() if tp not in errors}

    def piece(self, tp: TopicPartition, part: Part, piece: Piece) -> Digest:
        """The blocks of a piece of what begins with `part`; reads no further than it has to. Raises what keeps it from being read."""
        errors: dict[TopicPartition, MirrorError] = {}
        digester = Digester(timed=part.timed, piece=piece)
        with closing(self.batches({tp: part}, errors)) as batches:
            for _, messages in batches:
                try:
                    digester.take(messages)
                except UnreadableHeaders as unreadable:
                    raise RecordUnreadable(self.alias, *tp, unreadable.offset) from None
                if digester.is_done:
                    break
        if errors:
            raise errors[tp]
        return digester.digest()

    def counts(
        self, parts: Mapping[TopicPartition, Part], errors: MutableMapping[TopicPartition, MirrorError]
    ) -> dict[TopicPartition, int]:
        """How many records each partition has; as `digests` in the rest."""
        counted = dict.fromkeys(parts, 0)
        for tp, messages in self.batches(parts, errors):
            counted[tp] += len(messages)
        return {tp: number for tp, number in counted.items() if tp not in errors}

    def records(self, tp: TopicPartition, part: Part) -> Generator[Record, None, None]:
        """The records of one partition. Raises what keeps it from being read."""
        errors: dict[TopicPartition, MirrorError] = {}
        skip = part.skip
        with closing(self.batches({tp: part}, errors)) as batches:
            for _, messages in batches:
                try:
                    yield from (record_of(message) for message in messages[skip:])
                except UnreadableHeaders as unreadable:
                    raise RecordUnreadable(self.alias, *tp, unreadable.offset) from None
                skip -= min(skip, len(messages))
        if errors:
            raise errors[tp]

    def end(self, tp: TopicPartition) -> int:
        """How far a partition can be read now; 0 if no leader says it."""
        with Cluster(self.alias, self._admin, self._seconds) as cluster:
            return cluster.offsets([tp], "latest", committed=self._committed).get(tp, 0)

    def batches(
        self, parts: Mapping[TopicPartition, Part], errors: MutableMapping[TopicPartition, MirrorError]
    ) -> Generator[tuple[TopicPartition, Sequence[Message]], None, None]:
        """The messages of each partition in their order, some of one partition at a time; one that cannot be read is in `errors`. `skip`
        is not heeded. Raises what concerns the cluster."""
        ranges = {tp: (part.start, part.end) for tp, part in parts.items()}
        with closing(self._reader.batches(ranges, errors)) as batches:
            for tp, messages in batches:
                left = parts[tp].left
                kept = [each for each in messages if not _lies_in(each.offset() or 0, left)] if left else messages
                if kept:
                    yield tp, kept


def _lies_in(offset: int, intervals: Iterable[Interval]) -> bool:
    return any(start <= offset < end for start, end in intervals)
