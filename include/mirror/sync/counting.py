"""Reads holes of offset maps on both clusters, so that positions in them can be counted: within a budget, the small ones first."""

import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field

from mirror.audit.carried import take
from mirror.audit.record import Message, UnreadableHeaders
from mirror.audit.side import Part, Side
from mirror.errors import MirrorError, RecordUnreadable
from mirror.formats.ledger import LedgerRecord
from mirror.kafka.batches import PARTITIONS_AT_ONCE, TimeIsUp
from mirror.kafka.cluster import Cluster
from mirror.offsets.holes import CountedHole, Hole, Records, counted
from mirror.offsets.intervals import merged, within
from mirror.offsets.partition import TopicPartition
from mirror.sync.group_work import GroupWork

OVER_BUDGET = "counting its place would cost more than it may (mirror.translation.count.max.bytes, mirror.translation.count.max.seconds)"
NOT_THE_SAME = "its place cannot be counted: between the known offsets around it the clusters do not hold the same records"
SEEN_BEFORE = NOT_THE_SAME + ", as was seen before"
GONE = "its place cannot be counted: the records around it are gone from one of the clusters"
UNSURE = "its place cannot be counted: nobody knows which of the records around it were passed over"
_BESIDE = 70
"""So many bytes a record costs beside what it carries, on the way and here."""
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
        passed = [(each.start, each.end) for each in record.skipped]
        places = [(each.target_start, each.target_end) for each in record.places_of_history if each.topic == record.target_topic]
        return (
            Part(hole.source, hole.source_end, within(merged(passed), hole.source, hole.source_end)),
            Part(hole.target, hole.target_end, within(merged(places), hole.target, hole.target_end)),
        )

    @property
    def has_only_copies(self) -> bool:
        """Whether nothing but one copy of each record can stand in it. Restarts leave older copies, and others' records are accepted, by a
        person's decision alone, and every ledger record notes the newest decision that was acted on, whichever version wrote it."""
        return self.record.decided is None

    @property
    def is_unsure(self) -> bool:
        """Whether records of it were passed over, and nobody knows which."""
        return any(
            each.count is not None and each.start < self.hole.source_end and each.end > self.hole.source for each in self.record.skipped
        )


@dataclass(frozen=True)
class Failed:
    """Why a hole was not counted. `bytes`: that many were not enough; 0: more would not help; None: it may be tried again."""

    reason: str
    bytes: int | None = None
    is_over_budget: bool = False


Answers = dict[PartitionHole, CountedHole | Failed]


class Counting:
    """The counting of one step, with its budget."""

    def __init__(self, work: GroupWork, source: Cluster, target: Cluster) -> None:
        self._work = work
        self._clusters = source, target
        self._spending = _Spending(work.count_max_bytes, time.monotonic() + work.count_max_seconds)

    def count(self, holes: Collection[PartitionHole]) -> Answers:
        """Each hole's places, or why there are none. Raises nothing of ours: whoever cannot be counted stays early."""
        answers: Answers = {}
        for is_back in (False, True):
            asked = [each for each in holes if each.is_back == is_back]
            if asked:
                try:
                    answers |= _Direction(self._work, self._clusters, self._spending, is_back).count(asked)
                except MirrorError as error:
                    answers |= {each: Failed(_said(error)) for each in asked if each not in answers}
        return answers


class _Spending:
    """What is left of the budget. Both sides are read at the same time."""

    def __init__(self, limit: int, ends_at: float) -> None:
        self.limit = self.left = limit
        self.ends_at = ends_at
        self._lock = threading.Lock()

    @property
    def is_over(self) -> bool:
        """Whether nothing more may be read."""
        return self.left < 0 or time.monotonic() > self.ends_at

    def take(self, size: int) -> None:
        """Counts bytes that were read."""
        with self._lock:
            self.left -= size


class _Direction:
    """Counts by the ledger of one direction."""

    def __init__(self, work: GroupWork, clusters: tuple[Cluster, Cluster], spending: _Spending, is_back: bool) -> None:
        here = Side(work.source, work.source_consumer, work.committed or is_back, work.seconds, work.source_admin, spending.ends_at)
        there = Side(work.target, work.target_consumer, True, work.seconds, work.target_admin, spending.ends_at)
        # The ledger of the other direction lies on our source, and its own source is our target.
        self._sides = (there, here) if is_back else (here, there)
        self._clusters = clusters[::-1] if is_back else clusters
        self._committed = (True if is_back else work.committed), True
        self._spending = spending

    def count(self, holes: Sequence[PartitionHole]) -> Answers:
        """Each hole's places, or why there are none. Raises what concerns a cluster."""
        answers: Answers = {each: Failed(UNSURE) for each in holes if each.is_unsure}
        left = [each for each in holes if each not in answers]
        starts, ends = self._logs(left)
        for each in left:
            held = [(tp in starts[at] and tp in ends[at], tp) for at, tp in enumerate((each.source, each.remote))]
            ended = (each.hole.source_end, each.hole.target_end)
            is_there = all(there and ends[at][tp] >= ended[at] > starts[at][tp] for at, (there, tp) in enumerate(held))
            if not is_there:
                answers[each] = Failed(GONE)
        parts = {each: self._held_parts(each, starts) for each in left if each not in answers}
        cost = {each: _bytes(each, parts[each]) for each in parts}
        over = Failed(OVER_BUDGET, is_over_budget=True)
        for group in _rounds(sorted(parts, key=lambda each: cost[each]), cost, self._spending.limit // _ROUNDS):
            planned = sum(cost[each] for each in group)
            if self._spending.is_over or planned > self._spending.left:
                answers |= dict.fromkeys(group, over)
            else:
                answers |= self._round({each: parts[each] for each in group}, cost)
        return answers

    def _logs(self, holes: Sequence[PartitionHole]) -> tuple[list[dict[TopicPartition, int]], list[dict[TopicPartition, int]]]:
        """Log starts and ends of source and target."""
        starts, ends = [], []
        for cluster, committed, tps in zip(self._clusters, self._committed, _partitions(holes), strict=True):
            starts.append(cluster.offsets(tps, "earliest"))
            ends.append(cluster.offsets(tps, "latest", committed=committed))
        return starts, ends

    def _held_parts(self, each: PartitionHole, starts: Sequence[Mapping[TopicPartition, int]]) -> tuple[Part, Part]:
        source, target = each.parts
        return (
            source._replace(start=max(source.start, starts[0][each.source])),
            target._replace(start=max(target.start, starts[1][each.remote])),
        )

    def _round(self, parts: Mapping[PartitionHole, tuple[Part, Part]], cost: Mapping[PartitionHole, int]) -> Answers:
        """Holes of partitions that are all different, both sides at once."""
        source = _Reading(
            self._sides[0], {each.source: part for each, (part, _) in parts.items()}, {e.source: e.hole.source for e in parts}
        )
        target = _Reading(
            self._sides[1], {each.remote: part for each, (_, part) in parts.items()}, {e.remote: e.hole.target for e in parts}
        )
        with ThreadPoolExecutor(2) as threads:
            reading = [threads.submit(each.run, self._spending) for each in (source, target)]
            ended = [each.result() for each in reading]
        answers: Answers = {}
        for each in parts:
            error = source.errors.get(each.source) or target.errors.get(each.remote)
            if error is not None:
                answers[each] = Failed(_said(error), 0 if isinstance(error, RecordUnreadable) else None)
            elif not all(ended):
                # Rounds are planned to last; so at least one hole was larger than it looked, and would spoil the next round as well.
                is_larger = source.spent[each.source] + target.spent[each.remote] > 2 * cost[each]
                answers[each] = Failed(OVER_BUDGET, self._spending.limit if is_larger else None, is_over_budget=True)
            else:
                both = source.records[each.source], target.records[each.remote]
                found = counted(each.hole, *both, only_copies=each.has_only_copies)
                answers[each] = found or Failed(NOT_THE_SAME, 0)
        return answers


class _Reading:
    """One side of a round."""

    def __init__(self, side: Side, parts: Mapping[TopicPartition, Part], begins: Mapping[TopicPartition, int]) -> None:
        self._side = side
        self._parts = parts
        self.records = {tp: Records(is_whole=part.start == begins[tp]) for tp, part in parts.items()}
        self.spent = dict.fromkeys(parts, 0)
        self.errors: dict[TopicPartition, MirrorError] = {}

    def run(self, spending: _Spending) -> bool:
        """Whether all was read; else the budget ended first."""
        try:
            with closing(self._side.batches(self._parts, self.errors)) as batches:
                for tp, messages in batches:
                    if tp not in self.errors:
                        self._add(tp, messages, spending)
                    if spending.is_over:
                        return False
        except TimeIsUp:
            return False
        return True

    def _add(self, tp: TopicPartition, messages: Sequence[Message], spending: _Spending) -> None:
        try:
            size = take(self.records[tp], messages) + _BESIDE * len(messages)
        except UnreadableHeaders as unreadable:
            self.errors[tp] = RecordUnreadable(self._side.alias, *tp, unreadable.offset)
        else:
            self.spent[tp] += size
            spending.take(size)


def _partitions(holes: Sequence[PartitionHole]) -> tuple[list[TopicPartition], list[TopicPartition]]:
    return sorted({each.source for each in holes}), sorted({each.remote for each in holes})


def _rounds(holes: Sequence[PartitionHole], cost: Mapping[PartitionHole, int], capacity: int) -> Iterator[list[PartitionHole]]:
    """In a round each partition is read at one place only, and no more of them than a consumer reads at once. A round costs no more than
    `capacity`, if it has more than one hole: so what has been read is counted when the budget ends."""
    left = list(holes)
    while left:
        taken: set[TopicPartition] = set()
        group: list[PartitionHole] = []
        later, planned = [], 0
        for each in left:
            if each.source in taken or len(group) == PARTITIONS_AT_ONCE or (group and planned + cost[each] > capacity):
                later.append(each)
            else:
                taken.add(each.source)
                group.append(each)
                planned += cost[each]
        yield group
        left = later


def _bytes(each: PartitionHole, parts: tuple[Part, Part]) -> int:
    """About how much there is to read, by the mean size of what was copied of the partition."""
    record = each.record
    mean = record.bytes // record.records if record.records else _UNKNOWN_BYTES
    return (mean + _BESIDE) * sum(part.end - part.start for part in parts)


def _said(error: MirrorError) -> str:
    return f"its place could not be counted: {error.code}: {error.message}"
