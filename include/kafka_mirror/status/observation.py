"""What one check saw of a flow, and for how long what it saw has been waiting: what `judge` judges by.

For how long partitions have had something to copy: remembered from one check to the next.

The age of the oldest record that is not copied is no measure by itself: a producer may stamp its records with last year's dates. What
counts is since when the mirror could have copied it.

    end of the source, as seen at four checks      0   40  40  90
    watermark                                      0   0   40  40
                                                       |       `- late since the 4th check: 90 was seen first then
                                                       `- late since the 2nd check

A check travels as packed text in XCom, for a status page whose api-server reaches no broker. That has what page and metrics show of
partitions; their errors stand in the flow's.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from kafka_mirror.errors import ErrorReport
from kafka_mirror.formats.documents import from_columns, pack, to_columns, unpack
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.record import Writer
from kafka_mirror.status.problems import Where
from kafka_mirror.status.status import (
    BEHIND,
    DECIDED,
    FIRST_SIGHT,
    GONE,
    INTENDED,
    LEDGER_UNREADABLE,
    LEFT_ALONE,
    NO_REMOTE,
    PROGRESSING,
    TARGET_UNAVAILABLE,
    PartitionStatus,
    Status,
)

MARKS = 6
"""How many ends are remembered of a partition. With fewer than the checks that it is behind, the wait is understated by a fraction."""


@dataclass(frozen=True)
class PartitionWork:
    """What a partition has to copy now: from the position on to the end, both offsets of the source, the position below the end."""

    position: int
    end: int


@dataclass(frozen=True)
class WaitingPartition:
    """A partition with something to copy. `since`: when it was first seen at this position, with something to copy (Unix seconds).
    `ends`: when the source was first seen to reach which end, the oldest first, all of them beyond the position."""

    position: int
    since: float
    ends: tuple[tuple[float, int], ...]

    def seconds(self, now: float) -> float:
        """For how long the oldest record that is not copied has been there, at least."""
        return max(now - self.ends[0][0], 0.0)

    def measure_standstill(self, now: float) -> float:
        """For how long the position has not moved though there was something to copy."""
        return max(now - self.since, 0.0)


Memory = Mapping[TopicPartition, WaitingPartition]
"""The partitions that had something to copy when it was last looked."""


def update_wait_times(
    memory: Memory | None, work: Mapping[TopicPartition, PartitionWork], unknown: Iterable[TopicPartition], now: float
) -> Memory:
    """Returns the memory after a check that found this work; for `unknown` partitions it stays as it was."""
    before = memory or {}
    unchanged = {tp: before[tp] for tp in unknown if tp in before}
    return unchanged | {tp: _waiting(before.get(tp), partition_work, now) for tp, partition_work in work.items()}


def _waiting(before: WaitingPartition | None, work: PartitionWork, now: float) -> WaitingPartition:
    if before is None or work.position < before.position:
        return WaitingPartition(work.position, now, ((now, work.end),))
    since = before.since if before.position == work.position else now
    ends = tuple((time, end) for time, end in before.ends if end > work.position)
    if not ends or work.end > ends[-1][1]:
        ends = (*ends, (now, work.end))
    return WaitingPartition(work.position, since, _thin(ends))


def _thin(ends: tuple[tuple[float, int], ...]) -> tuple[tuple[float, int], ...]:
    """At most MARKS of them: those go whose neighbours are nearest in time; never the first or the last."""
    while len(ends) > MARKS:
        least = min(range(1, len(ends) - 1), key=lambda place: ends[place + 1][0] - ends[place - 1][0])
        ends = ends[:least] + ends[least + 1 :]
    return ends


SERVED = frozenset({BEHIND, FIRST_SIGHT, DECIDED})
"""States of partitions that a copy, if there were one, would serve now."""


@dataclass(frozen=True)
class LatePartition:
    """A partition with work. `seconds`: how long its oldest record waits; `still_seconds`: for how long its watermark has not moved."""

    status: PartitionStatus
    records: int
    seconds: float
    still_seconds: float

    @property
    def explained(self) -> bool:
        """Whether something else says why it waits: its error has an alert of its own. A missing remote partition alone says nothing."""
        return self.status.state not in SERVED and (self.status.state != NO_REMOTE or self.status.error is not None)


@dataclass(frozen=True)
class Beats:
    """The newest heartbeat of one way to the target. `mirrored`: it came by this flow, and not from its own heartbeats DAG."""

    way: str
    time: datetime
    mirrored: bool


@dataclass(frozen=True)
class CheckObservation:
    """What one check saw. `comparable`: both sides answered, so that the partitions can be judged. `beats` is None if the target's
    heartbeats could not be read. `silent` are the errors of clusters that did not answer, by alias."""

    status: Status
    comparable: bool
    silent: Mapping[str, ErrorReport] = field(default_factory=dict)
    beats: tuple[Beats, ...] | None = None
    log_starts: Mapping[TopicPartition, int] = field(default_factory=dict)
    """The first offset that the source still has of each partition, as far as it could be seen."""
    failure: str = ""
    """Why it could not be looked at all."""
    of_steps: frozenset[str] = frozenset()
    """The codes of errors that steps met, and no look at the clusters shows."""
    late: tuple[LatePartition, ...] = ()
    """The partitions with work, those that wait longest first; `with_waits` finds them."""
    memory: Memory | None = None
    """What is remembered of them until the next check."""

    @property
    def unseen(self) -> frozenset[Where]:
        """The partitions of which it could not be seen how they stand, and the topics of which no partition could. Left out are
        paused ones, and those that the source no longer has."""
        hidden = [partition.topic_partition for partition in self.status.partitions if _is_unseen(partition)]
        looked_at = {partition.topic for partition in self.status.partitions if not _is_unseen(partition)}
        return frozenset[Where](hidden) | {(tp.topic, None) for tp in hidden if tp.topic not in looked_at}

    @property
    def now(self) -> float:
        """When it was looked, in Unix seconds."""
        return self.status.time.timestamp()


def with_waits(observation: CheckObservation, remembered: Memory | None) -> CheckObservation:
    """The observation with how long partitions have been waiting, by what was remembered from the check before (None: nothing)."""
    memory = _memory_after(observation, remembered)
    return replace(observation, memory=memory, late=tuple(_list_late(observation, memory or {}, is_new=remembered is None)))


def work_of(partition: PartitionStatus) -> PartitionWork | None:
    """What the partition has to copy now, as far as it may be read; None if nothing, or it is not known."""
    if partition.last_stable is None or partition.lag is None or partition.end is None or partition.state in LEFT_ALONE:
        return None
    position = partition.end - partition.lag
    return PartitionWork(position, partition.last_stable) if position < partition.last_stable else None


def _memory_after(observation: CheckObservation, memory: Memory | None) -> Memory | None:
    """What is remembered of partitions with work until the next check; after one that could compare nothing, what was before."""
    if not observation.comparable:
        return memory
    partitions = {partition.topic_partition: partition for partition in observation.status.partitions}
    work = {tp: waiting_work for tp, partition in partitions.items() if (waiting_work := work_of(partition)) is not None}
    return update_wait_times(memory, work, [tp for tp, partition in partitions.items() if partition.lag is None], observation.now)


def _list_late(observation: CheckObservation, memory: Memory, is_new: bool) -> list[LatePartition]:
    """The partitions with work, those that wait longest first.

    A record waits no longer than it has been seen to be there, and no longer than its timestamp says; one that is ahead of our clock says
    nothing. A memory that was lost (`is_new`) saw nothing: then the timestamp counts alone; but not of a flow that has just been set up,
    with a backlog of whatever age.
    """
    just_set_up = observation.status.written is None
    result = []
    for partition in observation.status.partitions:
        work = work_of(partition)
        if work is None:
            continue
        waiting, age = memory[partition.topic_partition], partition.oldest_seconds or None
        if is_new:
            seconds = still = 0.0 if just_set_up else age or 0.0
        else:
            seconds = waiting.seconds(observation.now) if age is None else min(waiting.seconds(observation.now), age)
            still = waiting.measure_standstill(observation.now)
        result.append(LatePartition(partition, work.end - work.position, seconds, still))
    return sorted(result, key=lambda late: (-late.seconds, late.status.topic_partition))


def _is_unseen(partition: PartitionStatus) -> bool:
    if partition.state in INTENDED | {GONE}:
        return False
    if partition.end is None or partition.state in (LEDGER_UNREADABLE, TARGET_UNAVAILABLE):
        return True
    return partition.lag is None and partition.state in PROGRESSING


MAX_BYTES = 48_000
"""A check that takes more is left out: a row of Airflow's database is written at each run. A thousand partitions take less."""

_PARTITION = ("topic", "partition", "state", "watermark", "last_stable", "end", "lag", "oldest_seconds", "records", "bytes", "note")
_LATE = ("records", "seconds", "still_seconds")


@dataclass(frozen=True)
class _CheckDocument:
    check: CheckObservation
    """Without its partitions."""
    partitions: Mapping[str, Any]
    late: Mapping[str, Any]
    late_partitions: tuple[int, ...]
    """Their places in the status."""
    written: Writer | None = None
    """Who wrote to the ledger last; and where."""
    written_place: int = -1


@dataclass(frozen=True)
class _Late:
    records: int
    seconds: float
    still_seconds: float


def pack_check(check: CheckObservation) -> str | None:
    """The check as text; None if that would be too long."""
    places = {partition.topic_partition: place for place, partition in enumerate(check.status.partitions)}
    newest = check.status.written
    document = _CheckDocument(
        replace(check, status=replace(check.status, partitions=()), log_starts={}, late=(), memory=None),
        to_columns(_PARTITION, map(_round_age, check.status.partitions)),
        to_columns(_LATE, (replace(late, seconds=round(late.seconds), still_seconds=round(late.still_seconds)) for late in check.late)),
        tuple(places[late.status.topic_partition] for late in check.late),
        newest,
        next((place for place, partition in enumerate(check.status.partitions) if partition.written == newest is not None), -1),
    )
    text = pack(document)
    return text if len(text) <= MAX_BYTES else None


def read_check(text: Any) -> CheckObservation | None:
    """The check of such a text; None if there is none, or it cannot be read."""
    try:
        document = unpack(_CheckDocument, text)
        errors = {(error.topic, error.partition): error for error in reversed(document.check.status.errors)}
        partitions = tuple(
            replace(
                partition,
                written=document.written if place == document.written_place else None,
                error=errors.get((partition.topic, partition.partition)),
            )
            for place, partition in enumerate(from_columns(PartitionStatus, document.partitions))
        )
        rows = zip(document.late_partitions, from_columns(_Late, document.late), strict=True)
        late = tuple(LatePartition(partitions[place], row.records, row.seconds, row.still_seconds) for place, row in rows)
    except (ValueError, IndexError):
        return None
    return replace(document.check, status=replace(document.check.status, partitions=partitions), late=late)


def _round_age(partition: PartitionStatus) -> PartitionStatus:
    return partition if partition.oldest_seconds is None else replace(partition, oldest_seconds=round(partition.oldest_seconds))
