"""Which partitions have something to copy, and for how long it has been waiting."""

from dataclasses import dataclass

from mirror.alerts.seen import Seen
from mirror.alerts.waiting import Memory, Work, remembered
from mirror.report.status import BEHIND, DECIDED, FIRST_SIGHT, GONE, OPEN_TRANSACTION, PAUSED, PartitionStatus

SERVED = frozenset({BEHIND, FIRST_SIGHT, DECIDED})
"""States of partitions that a copy, if there were one, would serve now."""

_LEFT_ALONE = frozenset({PAUSED, GONE, OPEN_TRANSACTION})
"""States in which nothing is late: it was decided, it is over, or there is nothing to read yet."""


def work_of(each: PartitionStatus) -> Work | None:
    """What the partition has to copy now, as far as it may be read; None if nothing, or it is not known."""
    if each.last_stable is None or each.lag is None or each.end is None or each.state in _LEFT_ALONE:
        return None
    position = each.end - each.lag
    return Work(position, each.last_stable) if position < each.last_stable else None


def memory_after(seen: Seen, memory: Memory | None) -> Memory | None:
    """What is remembered of partitions with work until the next check; after one that could compare nothing, what was before."""
    if not seen.comparable:
        return memory
    partitions = {each.topic_partition: each for each in seen.status.partitions}
    work = {tp: found for tp, each in partitions.items() if (found := work_of(each)) is not None}
    return remembered(memory, work, [tp for tp, each in partitions.items() if each.lag is None], seen.now)


@dataclass(frozen=True)
class Late:
    """A partition with work. `seconds`: how long its oldest record waits; `still`: for how long its watermark has not moved."""

    status: PartitionStatus
    records: int
    seconds: float
    still: float


def late_partitions(seen: Seen, memory: Memory, is_new: bool) -> list[Late]:
    """The partitions with work, those that wait longest first.

    A record waits no longer than it has been seen to be there, and no longer than its timestamp says; one that is ahead of our clock says
    nothing. A memory that was lost (`is_new`) saw nothing: then the timestamp counts alone; but not of a flow that has just been set up,
    with a backlog of whatever age.
    """
    just_set_up = seen.status.written is None
    found = []
    for each in seen.status.partitions:
        work = work_of(each)
        if work is None:
            continue
        waiting, age = memory[each.topic_partition], each.oldest_seconds or None
        if is_new:
            seconds = still = 0.0 if just_set_up else age or 0.0
        else:
            seconds = waiting.seconds(seen.now) if age is None else min(waiting.seconds(seen.now), age)
            still = waiting.still(seen.now)
        found.append(Late(each, work.end - work.position, seconds, still))
    return sorted(found, key=lambda late: (-late.seconds, late.status.topic_partition))
