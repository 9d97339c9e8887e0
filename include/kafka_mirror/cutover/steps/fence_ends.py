"""The ends behind a write fence, as a wave's notes have them, and whether they still are where they were. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kafka_mirror.cutover.wave.findings import Finding, stop
from kafka_mirror.cutover.wave.step import FENCE
from kafka_mirror.errors import LeaderMissing, NotFenced, WrittenSinceFence
from kafka_mirror.errors.words import first_few
from kafka_mirror.formats.offsets.partition import TopicPartition

ENDS, EPOCHS = "ends", "epochs"
"""The facts of the step `fence` that have them, and the leader epoch beside each; -1 where no broker told one."""
_UNTOLD = -1

Ends = Mapping[TopicPartition, int]


def by_topic(offsets: Ends) -> dict[str, list[int]]:
    """An offset for each partition of whole topics, as notes have them: the one of partition 0 first."""
    topics: dict[str, list[int]] = {}
    for tp, offset in sorted(offsets.items()):
        topics.setdefault(tp.topic, []).append(offset)
    return topics


def by_partition(topics: Mapping[str, Sequence[int]]) -> dict[TopicPartition, int]:
    """The opposite of `by_topic`."""
    return {TopicPartition(topic, number): offset for topic, offsets in topics.items() for number, offset in enumerate(offsets)}


def fence_ends(facts: Mapping[str, Any]) -> dict[TopicPartition, int]:
    """The end of each partition of the wave behind its fence, from the notes of the step `fence`; empty if it never was fenced, or is no
    more."""
    return by_partition(facts.get(ENDS) or {})


def epochs_by_topic(ends: Ends, epochs: Mapping[TopicPartition, int]) -> dict[str, list[int]]:
    """The leader epochs beside these ends, as notes have them."""
    return by_topic({tp: epochs.get(tp, _UNTOLD) for tp in ends})


def fence_marks(facts: Mapping[str, Any]) -> dict[TopicPartition, tuple[int | None, int]]:
    """The ends behind the fence, each with the leader epoch in which it was one; None if no broker told that."""
    epochs = by_partition(facts.get(EPOCHS) or {})
    return {tp: (epoch if (epoch := epochs.get(tp, _UNTOLD)) >= 0 else None, end) for tp, end in fence_ends(facts).items()}


def moved_ends(fence: Ends, now: Ends, departed: Ends | None = None) -> Iterator[Finding]:
    """What differs between the ends that the fence noted and those of now. `departed`: the first offset of each partition whose record is
    another one than it was, though it may end where it did."""
    if not fence:
        yield stop(NotFenced(FENCE))
        return
    grown = {tp: now[tp] - end for tp, end in sorted(fence.items()) if tp in now and now[tp] != end}
    if grown:
        where = first_few([f"{tp}@{fence[tp]} ({offsets:+,})" for tp, offsets in grown.items()])
        yield stop(WrittenSinceFence(f"{len(grown)} of {len(fence)} partitions do not end where they did at the write fence: {where}"))
    if departed:
        where = first_few([f"{tp}@{offset}" for tp, offset in sorted(departed.items())])
        said = f"Since the write fence the source lost records of {len(departed)} partitions, and has others from {where} on"
        yield stop(WrittenSinceFence(said))
    if added := sorted(now.keys() - fence.keys()):
        said = f"{first_few(added)} {'was' if len(added) == 1 else 'were'} not there when the wave was fenced"
        yield stop(WrittenSinceFence(said))
    if silent := sorted(fence.keys() - now.keys()):
        yield stop(LeaderMissing(first_few(silent), "the source"))
