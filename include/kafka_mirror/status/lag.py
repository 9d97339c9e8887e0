"""Which partitions have something to copy, and for how long it has been waiting."""

from dataclasses import dataclass

from kafka_mirror.status.observation import CheckObservation
from kafka_mirror.status.status import BEHIND, DECIDED, FIRST_SIGHT, GONE, INTENDED, NO_REMOTE, OPEN_TRANSACTION, PartitionStatus
from kafka_mirror.status.wait_times import Memory, PartitionWork, update_wait_times

SERVED = frozenset({BEHIND, FIRST_SIGHT, DECIDED})
"""States of partitions that a copy, if there were one, would serve now."""

_LEFT_ALONE = INTENDED | {GONE, OPEN_TRANSACTION}
"""States in which nothing is late: it was decided, it is over, or there is nothing to read yet."""


def work_of(partition: PartitionStatus) -> PartitionWork | None:
    """What the partition has to copy now, as far as it may be read; None if nothing, or it is not known."""
    if partition.last_stable is None or partition.lag is None or partition.end is None or partition.state in _LEFT_ALONE:
        return None
    position = partition.end - partition.lag
    return PartitionWork(position, partition.last_stable) if position < partition.last_stable else None


def memory_after(observation: CheckObservation, memory: Memory | None) -> Memory | None:
    """What is remembered of partitions with work until the next check; after one that could compare nothing, what was before."""
    if not observation.comparable:
        return memory
    partitions = {partition.topic_partition: partition for partition in observation.status.partitions}
    work = {tp: waiting_work for tp, partition in partitions.items() if (waiting_work := work_of(partition)) is not None}
    return update_wait_times(memory, work, [tp for tp, partition in partitions.items() if partition.lag is None], observation.now)


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


def late_partitions(observation: CheckObservation, memory: Memory, is_new: bool) -> list[LatePartition]:
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
            still = waiting.seconds_without_progress(observation.now)
        result.append(LatePartition(partition, work.end - work.position, seconds, still))
    return sorted(result, key=lambda late: (-late.seconds, late.status.topic_partition))
