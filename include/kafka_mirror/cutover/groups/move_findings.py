"""What keeps a wave's groups from moving, and what their applications should know. Pure."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from kafka_mirror.cutover.groups.model import WaveGroup, WaveGroups, WavePosition, group_findings, people
from kafka_mirror.cutover.wave.findings import Finding, stop, warning
from kafka_mirror.errors import (
    GroupActive,
    GroupAheadOfCopy,
    GroupGoesBack,
    GroupRecordsGone,
    GroupUnstable,
    GroupWithoutPosition,
    LeaderMissing,
)
from kafka_mirror.errors.words import first_few
from kafka_mirror.formats.offsets.intervals import Interval
from kafka_mirror.formats.offsets.partition import TopicPartition

_OTHERWISE = {"GroupActive", "GroupUnstable", "GroupFurtherOnTarget", "GroupAheadOfCopy", "GroupWithoutCheckpoints"}
"""What the preflight says of groups and this step says in another way, or not at all."""


@dataclass(frozen=True)
class GroupLogs:
    """Where the logs begin on the source, and from where to where they reach on the target; without a leader a partition is in neither.

    `source` are also all partitions of the wave's topics.
    """

    source: Mapping[TopicPartition, int]
    target: Mapping[TopicPartition, Interval]


def stops_of_groups(wave_groups: WaveGroups, logs: GroupLogs, source: str, target: str) -> Iterator[Finding]:
    """What keeps groups from moving but members on the source; and the warnings about what moves and what does not."""
    yield from (finding for finding in group_findings(wave_groups, source, target) if finding.code not in _OTHERWISE)
    for group in wave_groups.groups:
        if group.ahead:
            yield stop(GroupAheadOfCopy(group.name, group.ahead))
        yield from _logs(group, logs, target)
        yield from _back(group, target)
        yield from _without_position(group, logs.source)


def active_groups(groups: Iterable[WaveGroup], source: str) -> Iterator[Finding]:
    """A stop for each group that still has members on the source, or whose positions an open transaction still moves."""
    for group in groups:
        if group.unstable:
            yield stop(GroupUnstable(group.name, first_few(group.unstable)))
        if group.members:
            yield stop(GroupActive(group.name, people(group.members, with_ids=True), source))


def _logs(group: WaveGroup, logs: GroupLogs, target: str) -> Iterator[Finding]:
    without_leader, gone = [], []
    for position in _answered(group):
        if position.remote not in logs.target:
            without_leader.append(position.remote)
        elif _lacks_records(position, logs):
            gone.append(f"{position.remote}@{position.answer.target} (the log begins at {logs.target[position.remote][0]})")
    if without_leader:
        yield stop(LeaderMissing(first_few(without_leader), target))
    if gone:
        yield stop(GroupRecordsGone(group.name, first_few(gone), target))


def _lacks_records(position: WavePosition, logs: GroupLogs) -> bool:
    """Whether the target's log begins after the place where the group would go on, though the source still has its next record."""
    start = logs.target[position.remote][0]
    here = logs.source.get(TopicPartition(position.topic, position.partition))
    return position.answer.target is not None and position.answer.target < start and here is not None and position.offset >= here


def _back(group: WaveGroup, target: str) -> Iterator[Finding]:
    further = [f"{place.remote}@{place.target_offset} -> {place.answer.target}" for place in group.further_on_target]
    if further:
        yield warning(GroupGoesBack(group.name, first_few(further), target))


def _without_position(group: WaveGroup, partitions: Collection[TopicPartition]) -> Iterator[Finding]:
    have = {TopicPartition(position.topic, position.partition) for position in group.positions}
    topics = {tp.topic for tp in have}
    lacking = sorted(tp for tp in partitions if tp.topic in topics and tp not in have)
    if lacking:
        yield warning(GroupWithoutPosition(group.name, first_few(lacking)))


def _answered(group: WaveGroup) -> tuple[WavePosition, ...]:
    return tuple(position for position in group.positions if position.answer.target is not None)
