"""What keeps a wave's groups from moving, what their applications should know, and what a roll back leaves. Pure."""

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kafka_mirror.cutover.findings import CUT_OFF, Finding, stop, warning
from kafka_mirror.cutover.groups import LEFT_BEHIND, WaveGroup, WaveGroups, WavePosition, group_findings, unstable_group
from kafka_mirror.errors.display import show
from kafka_mirror.errors.next_step import Command, Part, of_the_flow, of_the_wave
from kafka_mirror.errors.words import count_text, first_few
from kafka_mirror.kafka.model import GroupMember
from kafka_mirror.offsets.intervals import Interval
from kafka_mirror.offsets.partition import TopicPartition

_OTHERWISE = {"group-active", "group-unstable", "group-further-on-target", "group-ahead-of-copy", "group-without-checkpoints"}
"""What the preflight says of groups and this step says in another way, or not at all."""
_AGAIN: Part = "Then run the wave again."


@dataclass(frozen=True)
class GroupLogs:
    """Where the logs begin on the source, and from where to where they reach on the target; without a leader a partition is in neither.

    `source` are also all partitions of the wave's topics.
    """

    source: Mapping[TopicPartition, int]
    target: Mapping[TopicPartition, Interval]


def rollback_of(wave: str) -> Command:
    """The command that takes a wave back."""
    return of_the_wave("rollback", wave)


def stops_of_groups(wave_groups: WaveGroups, logs: GroupLogs, source: str, target: str) -> Iterator[Finding]:
    """What keeps groups from moving but members on the source; and the warnings about what moves and what does not."""
    yield from (finding for finding in group_findings(wave_groups, source, target) if finding.code not in _OTHERWISE)
    for group in wave_groups.groups:
        yield from _ahead(group)
        yield from _logs(group, logs, target)
        yield from _back(group, target)
        yield from _without_position(group, logs.source)


def active_groups(groups: Iterable[WaveGroup], source: str) -> Iterator[Finding]:
    """A stop for each group that still has members on the source, or whose positions an open transaction still moves."""
    for group in groups:
        if group.unstable:
            yield unstable_group(group)
        if group.members:
            yield active_group(group.name, group.members, source)


def active_group(name: str, members: Sequence[GroupMember], cluster: str) -> Finding:
    """A group that still has members, each named with its id."""
    people = first_few([f"{member} (member id {show(member.member_id)})" for member in members])
    said = f"{show(name)}: it still has {count_text(len(members), 'member')} on {cluster}: {people}."
    return stop("group-active", said, f"Stop them. {LEFT_BEHIND} ", _AGAIN, group=name)


def used_on_target(name: str, foreign: Mapping[TopicPartition, int], target: str) -> Finding:
    """A group that somebody used or reset on the target since the wave noted it."""
    first = next(iter(foreign))
    said = f"{show(name)}: since the wave noted it, somebody else moved it on {target}: {_places(foreign)}. Nothing of it was changed."
    step = (
        "Find out who reads with it there. If its position there is not wanted, delete it: ",
        Command(f"kafka-consumer-groups.sh --delete-offsets --group {shlex.quote(name)} --topic {shlex.quote(first.topic)}"),
        ". ",
        _AGAIN,
    )
    return stop("group-used-on-target", said, *step, group=name)


def read_on_source(name: str, places: Sequence[str], source: str) -> Finding:
    """A group that read on on the source while it moved."""
    said = f"{show(name)}: it went on on {source} while it was moved, so what was committed for it is out of date: {first_few(places)}."
    return stop("group-read-on", said, "Stop its members. ", _AGAIN, group=name)


def contradicted_position(name: str, by_server: Mapping[str, Sequence[str]], source: str) -> Finding:
    """A group of which the source's bootstrap servers tell different positions. `by_server`: where it stands by each, but for where it was
    moved from."""
    places = "; ".join(f"{server}: {first_few(places) or 'where it was moved from'}" for server, places in by_server.items())
    said = f"{name}: the bootstrap servers of {source} contradict each other about where it stands: {places}."
    return stop("source-contradicts-itself", said, CUT_OFF, _AGAIN, group=name)


def not_committed(name: str, reasons: Sequence[str], target: str) -> Finding:
    """A group of which the target refused positions, or shows others than those that were committed."""
    said = f"{show(name)}: not all its positions stand on {target}: {first_few(reasons)}."
    return stop("group-not-moved", said, "Look at the group there, and stop its members. ", _AGAIN, group=name)


def not_taken_back(name: str, reasons: Sequence[str], target: str, wave: str) -> Finding:
    """A group of which a roll back could not put everything back."""
    said = f"{show(name)}: not all its positions on {target} could be put back: {first_few(reasons)}."
    return stop("group-not-taken-back", said, "Mend that; then ", rollback_of(wave), " again.", group=name)


def stays_where_it_is(name: str, foreign: Mapping[TopicPartition, int], target: str) -> Finding:
    """Positions of others, which a roll back does not touch."""
    said = f"{show(name)}: a roll back leaves what the wave did not commit on {target}: {_places(foreign)}."
    return warning("group-used-on-target", said, "Reset the group there by hand if nobody wants that.", group=name)


# ------------------------------------------------------------ one group


def _ahead(group: WaveGroup) -> Iterator[Finding]:
    if group.ahead:
        said = f"{group.label}: it has read {group.ahead:,} offsets that the copy has yet to bring, so it would read them again."
        yield stop("group-ahead-of-copy", said, of_the_flow("copy"), ". ", _AGAIN, group=group.name)


def _logs(group: WaveGroup, logs: GroupLogs, target: str) -> Iterator[Finding]:
    without_leader, gone = [], []
    for position in _answered(group):
        if position.remote not in logs.target:
            without_leader.append(position.remote)
        elif _lacks_records(position, logs):
            gone.append(f"{position.remote}@{position.answer.target} (the log begins at {logs.target[position.remote][0]})")
    if without_leader:
        said = f"{group.label}: no leader on {target} tells which offsets there are of {first_few(without_leader)}."
        yield stop("no-leader", said, "Bring the target's brokers back. ", _AGAIN, group=group.name)
    if gone:
        said = f"{group.label}: records that it has not read are gone from {target}, and are not from the source: {first_few(gone)}."
        step = "Let it read them on the source, or raise the remote topics' retention before they are copied anew. ", _AGAIN
        yield stop("group-behind-retention", said, *step, group=group.name)


def _lacks_records(position: WavePosition, logs: GroupLogs) -> bool:
    """Whether the target's log begins behind where the group would go on, though the source still has its next record."""
    start = logs.target[position.remote][0]
    here = logs.source.get(TopicPartition(position.topic, position.partition))
    return position.answer.target is not None and position.answer.target < start and here is not None and position.offset >= here


def _back(group: WaveGroup, target: str) -> Iterator[Finding]:
    further = [
        f"{position.remote}@{position.target_offset} -> {position.answer.target}"
        for position in _answered(group)
        if position.target_offset is not None and position.answer.target is not None and position.target_offset > position.answer.target
    ]
    if further:
        said = f"{group.label}: it was further on on {target}, and goes back to where it stands on the source: {first_few(further)}."
        yield warning("group-goes-back", said, "What was there is noted; a roll back puts it back.", group=group.name)


def _without_position(group: WaveGroup, partitions: Collection[TopicPartition]) -> Iterator[Finding]:
    have = {TopicPartition(position.topic, position.partition) for position in group.positions}
    topics = {tp.topic for tp in have}
    lacking = sorted(tp for tp in partitions if tp.topic in topics and tp not in have)
    if lacking:
        said = f"{group.label}: it has no position in {first_few(lacking)}, so none is committed there."
        step = "On the target its auto.offset.reset counts there, as on the source: latest skips what was copied."
        yield warning("group-without-position", said, step, group=group.name)


def _answered(group: WaveGroup) -> tuple[WavePosition, ...]:
    return tuple(position for position in group.positions if position.answer.target is not None)


def _places(foreign: Mapping[TopicPartition, int]) -> str:
    return first_few([f"{tp}@{offset}" for tp, offset in foreign.items()])
