"""Reads holes of offset maps on both clusters, so that positions in them can be counted: within a budget, the small ones first."""

import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field

from kafka_mirror.errors import MirrorError, RecordUnreadable
from kafka_mirror.formats.batches.batch_records import ReadRecord
from kafka_mirror.formats.offsets.holes import CountedHole, Hole, Records, count_hole
from kafka_mirror.formats.offsets.intervals import cut_within, merge_intervals
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.formats.record import UnreadableHeaders, take
from kafka_mirror.groups.context import GroupContext
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.reader import PARTITIONS_AT_ONCE, Part, PartReader, TimeIsUp
from kafka_mirror.ledger.record import LedgerRecord

OVER_BUDGET = "counting its place would cost more than it may (mirror.translation.count.max.bytes, mirror.translation.count.max.seconds)"
NOT_THE_SAME = "its place cannot be counted: between the known offsets around it the clusters do not hold the same records"
SEEN_BEFORE = NOT_THE_SAME + ", as was seen before"
GONE = "its place cannot be counted: the records around it are gone from one of the clusters"
UNSURE = "its place cannot be counted: it is unknown which of the records around it were passed over"
_BESIDE = 70
"""How many bytes a record costs beside what it carries, on the way and here."""
_UNKNOWN_BYTES = 1_000
_ROUNDS = 8


@dataclass(frozen=True)
class PartitionHole:
    """A hole of one partition's map, as the ledger has it: `record` is the ledger's. `is_back`: of the other direction's ledger, whose
    source is the cluster that this flow mirrors to."""

    source: TopicPartition
    record: LedgerRecord = field(compare=False)
    hole: Hole
    is_back: bool = False

    @property
    def remote(self) -> TopicPartition:
        """The partition of the ledger's target."""
        return TopicPartition(self.record.target_topic, self.source.partition)

    @property
    def parts(self) -> tuple[Part, Part]:
        """What is to be read of source and target, without what was passed over and what backfills wrote in between."""
        hole, record = self.hole, self.record
        passed = [(skip.start, skip.end) for skip in record.skipped]
        places = [(place.target_start, place.target_end) for place in record.places_of_history if place.topic == record.target_topic]
        return (
            Part(hole.source, hole.source_end, cut_within(merge_intervals(passed), hole.source, hole.source_end)),
            Part(hole.target, hole.target_end, cut_within(merge_intervals(places), hole.target, hole.target_end)),
        )

    @property
    def has_only_copies(self) -> bool:
        """Whether nothing but one copy of each record can stand in it. Restarts leave older copies, and others' records are accepted, by a
        person's decision alone, and every ledger record notes the newest decision that was acted on, whichever version wrote it."""
        return self.record.decided is None

    @property
    def is_unsure(self) -> bool:
        """Whether records of it were passed over, and it is unknown which."""
        return any(
            skip.count is not None and skip.start < self.hole.source_end and skip.end > self.hole.source for skip in self.record.skipped
        )


@dataclass(frozen=True)
class CountFailure:
    """Why a hole was not counted. `bytes`: that many were not enough; 0: more would not help; None: it may be tried again."""

    reason: str
    bytes: int | None = None
    is_over_budget: bool = False


Answers = dict[PartitionHole, CountedHole | CountFailure]


class HoleCounter:
    """The counting of one step, with its budget."""

    def __init__(self, context: GroupContext, source: Cluster, target: Cluster) -> None:
        self._context = context
        self._clusters = source, target
        self._spending = _ReadBudget(context.count_max_bytes, time.monotonic() + context.count_max_seconds)

    def count(self, holes: Collection[PartitionHole]) -> Answers:
        """Each hole's places, or why there are none. Raises nothing of ours: a position that cannot be counted stays early."""
        answers: Answers = {}
        for is_back in (False, True):
            of_direction = [hole for hole in holes if hole.is_back == is_back]
            if of_direction:
                try:
                    answers |= _Direction(self._context, self._clusters, self._spending, is_back).count(of_direction)
                except MirrorError as error:
                    answers |= {hole: CountFailure(_say(error)) for hole in of_direction if hole not in answers}
        return answers


class _ReadBudget:
    """What is left of the budget. Both sides are read at the same time."""

    def __init__(self, limit: int, ends_at: float) -> None:
        self.limit = self.remaining = limit
        self.ends_at = ends_at
        self._lock = threading.Lock()

    @property
    def is_over(self) -> bool:
        """Whether nothing more may be read."""
        return self.remaining < 0 or time.monotonic() > self.ends_at

    def take(self, size: int) -> None:
        """Counts bytes that were read."""
        with self._lock:
            self.remaining -= size


class _Direction:
    """Counts by the ledger of one direction."""

    def __init__(self, context: GroupContext, clusters: tuple[Cluster, Cluster], spending: _ReadBudget, is_back: bool) -> None:
        clients, seconds, committed = context.clients, context.request_seconds, context.read_committed or is_back
        here = PartReader(context.source, clients.source_consumer, committed, seconds, spending.ends_at)
        there = PartReader(context.target, clients.target_consumer, True, seconds, spending.ends_at)
        # The ledger of the other direction lies on our source, and its own source is our target.
        self._sides = (there, here) if is_back else (here, there)
        self._clusters = clusters[::-1] if is_back else clusters
        self._committed = (True if is_back else context.read_committed), True
        self._spending = spending

    def count(self, holes: Sequence[PartitionHole]) -> Answers:
        """Each hole's places, or why there are none. Raises what concerns a cluster."""
        answers: Answers = {hole: CountFailure(UNSURE) for hole in holes if hole.is_unsure}
        uncounted = [hole for hole in holes if hole not in answers]
        starts, ends = self._read_logs(uncounted)
        for hole in uncounted:
            held = [(tp in starts[at] and tp in ends[at], tp) for at, tp in enumerate((hole.source, hole.remote))]
            ended = (hole.hole.source_end, hole.hole.target_end)
            is_there = all(there and ends[at][tp] >= ended[at] > starts[at][tp] for at, (there, tp) in enumerate(held))
            if not is_there:
                answers[hole] = CountFailure(GONE)
        parts = {
            hole: (
                source._replace(start=max(source.start, starts[0][hole.source])),
                target._replace(start=max(target.start, starts[1][hole.remote])),
            )
            for hole in uncounted
            if hole not in answers
            for source, target in [hole.parts]
        }
        cost = {hole: _count_bytes(hole, parts[hole]) for hole in parts}
        over = CountFailure(OVER_BUDGET, is_over_budget=True)
        for group in _plan_rounds(sorted(parts, key=lambda hole: cost[hole]), cost, self._spending.limit // _ROUNDS):
            planned = sum(cost[hole] for hole in group)
            if self._spending.is_over or planned > self._spending.remaining:
                answers |= dict.fromkeys(group, over)
            else:
                answers |= self._count_round({hole: parts[hole] for hole in group}, cost)
        return answers

    def _read_logs(self, holes: Sequence[PartitionHole]) -> tuple[list[dict[TopicPartition, int]], list[dict[TopicPartition, int]]]:
        """Log starts and ends of source and target."""
        starts, ends = [], []
        partitions = sorted({hole.source for hole in holes}), sorted({hole.remote for hole in holes})
        for cluster, committed, tps in zip(self._clusters, self._committed, partitions, strict=True):
            starts.append(cluster.offsets(tps, "earliest"))
            ends.append(cluster.offsets(tps, "latest", committed=committed))
        return starts, ends

    def _count_round(self, parts: Mapping[PartitionHole, tuple[Part, Part]], cost: Mapping[PartitionHole, int]) -> Answers:
        """Holes of partitions that are all different, both sides at once."""
        source = _SidePass(
            self._sides[0], {hole.source: part for hole, (part, _) in parts.items()}, {e.source: e.hole.source for e in parts}
        )
        target = _SidePass(
            self._sides[1], {hole.remote: part for hole, (_, part) in parts.items()}, {e.remote: e.hole.target for e in parts}
        )
        with ThreadPoolExecutor(2) as threads:
            reading = [threads.submit(side.run, self._spending) for side in (source, target)]
            ended = [future.result() for future in reading]
        answers: Answers = {}
        for hole in parts:
            error = source.errors.get(hole.source) or target.errors.get(hole.remote)
            if error is not None:
                answers[hole] = CountFailure(_say(error), 0 if isinstance(error, RecordUnreadable) else None)
            elif not all(ended):
                # Rounds are planned to last; so at least one hole was larger than it looked, and would spoil the next round as well.
                is_larger = source.spent[hole.source] + target.spent[hole.remote] > 2 * cost[hole]
                answers[hole] = CountFailure(OVER_BUDGET, self._spending.limit if is_larger else None, is_over_budget=True)
            else:
                both = source.records[hole.source], target.records[hole.remote]
                counted = count_hole(hole.hole, *both, only_copies=hole.has_only_copies)
                answers[hole] = counted or CountFailure(NOT_THE_SAME, 0)
        return answers


class _SidePass:
    """One side of a round."""

    def __init__(self, side: PartReader, parts: Mapping[TopicPartition, Part], begins: Mapping[TopicPartition, int]) -> None:
        self._side = side
        self._parts = parts
        self.records = {tp: Records(is_whole=part.start == begins[tp]) for tp, part in parts.items()}
        self.spent = dict.fromkeys(parts, 0)
        self.errors: dict[TopicPartition, MirrorError] = {}

    def run(self, spending: _ReadBudget) -> bool:
        """Whether all was read; else the budget ended first."""
        try:
            with closing(self._side.read_batches(self._parts, self.errors)) as batches:
                for tp, messages in batches:
                    if tp not in self.errors:
                        self._add(tp, messages, spending)
                    if spending.is_over:
                        return False
        except TimeIsUp:
            return False
        return True

    def _add(self, tp: TopicPartition, messages: Sequence[ReadRecord], spending: _ReadBudget) -> None:
        try:
            size = take(self.records[tp], messages) + _BESIDE * len(messages)
        except UnreadableHeaders as unreadable:
            self.errors[tp] = RecordUnreadable(self._side.alias, *tp, unreadable.offset)
        else:
            self.spent[tp] += size
            spending.take(size)


def _plan_rounds(holes: Sequence[PartitionHole], cost: Mapping[PartitionHole, int], capacity: int) -> Iterator[list[PartitionHole]]:
    """In a round each partition is read at one place only, and no more of them than a consumer reads at once. A round costs no more than
    `capacity`, if it has more than one hole: so what has been read is counted when the budget ends."""
    waiting = list(holes)
    while waiting:
        taken: set[TopicPartition] = set()
        group: list[PartitionHole] = []
        later, planned = [], 0
        for hole in waiting:
            if hole.source in taken or len(group) == PARTITIONS_AT_ONCE or (group and planned + cost[hole] > capacity):
                later.append(hole)
            else:
                taken.add(hole.source)
                group.append(hole)
                planned += cost[hole]
        yield group
        waiting = later


def _count_bytes(hole: PartitionHole, parts: tuple[Part, Part]) -> int:
    """About how much there is to read, by the mean size of what was copied of the partition."""
    record = hole.record
    mean = record.bytes // record.records if record.records else _UNKNOWN_BYTES
    return (mean + _BESIDE) * sum(part.end - part.start for part in parts)


def _say(error: MirrorError) -> str:
    return f"its place could not be counted: {error.code}: {error.message}"
