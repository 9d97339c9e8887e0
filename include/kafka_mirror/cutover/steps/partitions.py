"""What the flow's own state says against a wave: errors, gaps, decisions, partitions that are not copied or too far behind. Pure."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from kafka_mirror.cutover.wave.findings import Finding, information, stop, warning
from kafka_mirror.errors import (
    DecisionPending,
    LeaderMissing,
    MirrorError,
    NoRemotePartition,
    NotCopiedYet,
    PartitionsPaused,
    PartitionStateUnknown,
    SourcePartitionGone,
    WaveBehind,
)
from kafka_mirror.errors.words import first_few
from kafka_mirror.status.status import DECIDED, FIRST_SIGHT, GONE, NO_LEADER, NO_REMOTE, PAUSED, UNKNOWN, PartitionStatus, Status


def partition_findings(status: Status, topics: Collection[str], max_lag: int | None) -> Iterator[Finding]:
    """What is said of the partitions of these topics, and of the flow as a whole."""
    partitions = [partition for partition in status.partitions if partition.topic in topics]
    errors = [*status.errors, *(partition.error for partition in partitions if partition.error is not None)]
    yield from (stop(error) for error in dict.fromkeys(errors) if error.topic is None or error.topic in topics)
    for topic, group in groupby(partitions, key=lambda partition: partition.topic):
        yield from _of_topic(topic, list(group), max_lag)
    lags = [partition.lag for partition in partitions if partition.lag is not None]
    if lags:
        yield information("Lag", f"The wave is {sum(lags):,} records behind in all, and {max(lags):,} in one partition, at most.")


def _of_topic(topic: str, partitions: Sequence[PartitionStatus], max_lag: int | None) -> Iterator[Finding]:
    for note, group in groupby(_in_state(partitions, PAUSED), key=lambda partition: partition.note):
        yield stop(PartitionsPaused(topic, _numbers(group), note))
    decided = _in_state(partitions, DECIDED)
    if decided:
        yield warning(DecisionPending(topic, f"a decision about partitions {_numbers(decided)}: {decided[0].note}"))
    unseen = _in_state(partitions, FIRST_SIGHT)
    if unseen:
        yield warning(NotCopiedYet(_names(unseen), topic=topic))
    for state, error in _LOST_STATES.items():
        lost = [partition for partition in _in_state(partitions, state) if partition.error is None]
        if lost:
            yield stop(error(topic, _names(lost)))
    late = [partition for partition in partitions if max_lag is not None and (partition.lag or 0) > max_lag]
    if late and max_lag is not None:
        lags = first_few([f"{partition.partition} ({partition.lag:,})" for partition in late])
        yield stop(WaveBehind(f"{topic}: {len(late)} of {len(partitions)} partitions", max_lag, lags, topic=topic))


_LOST_STATES: Mapping[str, Callable[[str, str], MirrorError]] = {
    NO_REMOTE: NoRemotePartition,
    NO_LEADER: lambda topic, partitions: LeaderMissing(partitions, "the source", topic=topic),
    GONE: lambda topic, partitions: SourcePartitionGone(topic, partitions, "it was copied"),
    UNKNOWN: PartitionStateUnknown,
}
"""States in which nobody can say that a partition is whole on the target."""


def _in_state(partitions: Iterable[PartitionStatus], state: str) -> list[PartitionStatus]:
    return [partition for partition in partitions if partition.state == state]


def _names(partitions: Iterable[PartitionStatus]) -> str:
    return first_few([f"{partition.topic}-{partition.partition}" for partition in partitions])


def _numbers(partitions: Iterable[PartitionStatus]) -> str:
    return first_few([partition.partition for partition in partitions])
