"""What consumer groups say against a wave: positions without an exact answer, members, topics that the wave leaves out. Pure.

The preflight asks `find_in_groups`. The step that moves the groups asks `find_group_stops`, which looks at the logs too, and
`find_active_groups`.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kafka_mirror.cutover.wave.findings import Finding, information, stop, warning
from kafka_mirror.errors import (
    GroupActive,
    GroupActiveOnTarget,
    GroupAheadOfCopy,
    GroupFurtherOnTarget,
    GroupGoesBack,
    GroupNotExact,
    GroupOfAnotherKind,
    GroupRecordsGone,
    GroupsLeftOut,
    GroupSplit,
    GroupStabilityUntold,
    GroupTopicLeftOut,
    GroupUnstable,
    GroupWithoutAnswer,
    GroupWithoutCheckpoints,
    GroupWithoutPosition,
    LeaderMissing,
    PatternMatchesNothing,
)
from kafka_mirror.errors.display import show
from kafka_mirror.errors.words import count_text, first_few
from kafka_mirror.formats.offsets.intervals import Interval
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.translation import EARLY, EXACT, TranslatedOffset
from kafka_mirror.kafka.model import GroupMember

_SAID_OTHERWISE = {"GroupActive", "GroupUnstable", "GroupFurtherOnTarget", "GroupAheadOfCopy", "GroupWithoutCheckpoints"}
"""What the preflight says of groups and this step says in another way, or not at all."""


@dataclass(frozen=True)
class WavePosition:
    """What a group committed for a partition, where it would go on on the target, and what it has committed there."""

    topic: str
    partition: int
    offset: int
    answer: TranslatedOffset
    target_offset: int | None = None
    remote_topic: str = ""
    metadata: str = ""
    """What the group committed beside the position."""

    @property
    def remote(self) -> TopicPartition:
        """The partition on the target where the group would go on."""
        return TopicPartition(self.remote_topic, self.partition)

    @property
    def is_exact(self) -> bool:
        """Whether the group would miss nothing and read nothing again."""
        return self.answer.kind == EXACT or (self.answer.kind == EARLY and self.answer.reread == 0)

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}@{self.offset}"


@dataclass(frozen=True)
class WaveGroup:
    """One group of a wave as both clusters show it. `outside` are topics of the source on which it has positions and which stay."""

    name: str
    positions: tuple[WavePosition, ...]
    outside: tuple[str, ...] = ()
    members: tuple[GroupMember, ...] = ()
    target_members: tuple[GroupMember, ...] = ()
    has_checkpoints: bool = True
    """Whether the flow's property `groups` takes it."""
    left_out: tuple[str, ...] = ()
    """Topics with positions of it that the source has from the target, and that the flow's property `topics` leaves out."""
    unstable: tuple[TopicPartition, ...] = ()
    """Where a transaction that is still open commits offsets for it."""
    is_streams: bool = False
    """Whether it is a group of Kafka Streams' own protocol."""

    @property
    def label(self) -> str:
        """Its name in messages."""
        return show(self.name)

    @property
    def unanswered(self) -> tuple[WavePosition, ...]:
        """Positions without an answer on the target, or with one before which records are missing."""
        return tuple(position for position in self.positions if position.answer.kind not in (EXACT, EARLY))

    @property
    def early(self) -> tuple[WavePosition, ...]:
        """Positions from which it would read records again."""
        return tuple(position for position in self.positions if position.answer.kind == EARLY and not position.is_exact)

    @property
    def further_on_target(self) -> tuple[WavePosition, ...]:
        """Positions where the group is already ahead of its translated one on the target."""
        return tuple(
            position
            for position in self.positions
            if position.target_offset is not None and position.answer.target is not None and position.target_offset > position.answer.target
        )

    @property
    def reread(self) -> int | None:
        """How many records it would read again, at most; None if it is unknown."""
        counts = [position.answer.reread for position in self.early]
        return None if None in counts else sum(count or 0 for count in counts)

    @property
    def ahead(self) -> int:
        """Offsets that it has read and that the copy has yet to bring."""
        return sum(position.answer.ahead for position in self.positions)


@dataclass(frozen=True)
class WaveGroups:
    """The groups of a wave, patterns that match none, the share groups of the source that `--groups` takes, and groups that it leaves out
    though they have positions on the wave's topics. Of the `doubtful` the source is too old to tell whether an open transaction commits.
    `stops`: what could not be asked, and rights that moving them needs and that are lacking."""

    groups: tuple[WaveGroup, ...] = ()
    unmatched: tuple[str, ...] = ()
    shares: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()
    stops: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class GroupLogs:
    """Where the logs begin on the source, and from where to where they reach on the target; without a leader a partition is in neither.

    `source` are also all partitions of the wave's topics.
    """

    source: Mapping[TopicPartition, int]
    target: Mapping[TopicPartition, Interval]


def find_in_groups(wave_groups: WaveGroups, source: str, target: str) -> Iterator[Finding]:
    """What is said of all groups of a wave."""
    yield from wave_groups.stops
    for pattern in wave_groups.unmatched:
        yield stop(PatternMatchesNothing("--groups", pattern, "consumer group with a position in a topic of the wave"))
    if wave_groups.shares:
        yield warning(GroupOfAnotherKind(source, _show_names(wave_groups.shares), wave_groups.shares[0]))
    if wave_groups.left_out:
        yield warning(GroupsLeftOut(_show_names(wave_groups.left_out)))
    if wave_groups.doubtful:
        yield warning(GroupStabilityUntold(_show_names(wave_groups.doubtful), source))
    if not wave_groups.groups and not wave_groups.unmatched:
        yield information("NoGroups", "No consumer group has a position in a topic of the wave.")
    for group in wave_groups.groups:
        yield from _find_inexact(group)
        yield from _find_members(group, source, target)
        yield from _find_left_topics(group)


def _find_inexact(group: WaveGroup) -> Iterator[Finding]:
    total = len(group.positions)
    if group.unanswered:
        reasons = first_few([f"{position} ({position.answer.reason or position.answer.kind})" for position in group.unanswered])
        yield stop(GroupWithoutAnswer(group.name, len(group.unanswered), total, reasons))
    if group.early:
        count = "an unknown number of" if group.reread is None else f"at most {group.reread:,}"
        yield stop(GroupNotExact(group.name, count, f"{len(group.early)} of {total} positions"))
    if group.ahead:
        said = f"{group.label}: it has read {group.ahead:,} offsets that the copy has yet to bring; the last copy brings them."
        yield information("GroupAheadOfCopy", said, group=group.name)
    if group.further_on_target:
        yield warning(GroupFurtherOnTarget(group.name, "translated position", first_few(group.further_on_target)))


def _find_members(group: WaveGroup, source: str, target: str) -> Iterator[Finding]:
    if group.members:
        yield warning(GroupActive(group.name, describe_members(group.members), source))
    if group.unstable:
        yield warning(GroupUnstable(group.name, first_few(group.unstable)))
    if group.target_members:
        yield stop(GroupActiveOnTarget(group.name, describe_members(group.target_members), target))


def _find_left_topics(group: WaveGroup) -> Iterator[Finding]:
    if group.outside:
        yield stop(GroupSplit(group.name, group.outside))
    if group.left_out:
        yield stop(GroupTopicLeftOut(group.name, group.left_out))
    if group.is_streams or not group.has_checkpoints:
        yield warning(GroupWithoutCheckpoints(group.name, group.is_streams))


def describe_members(members: Sequence[GroupMember], with_ids: bool = False) -> str:
    """How many members a group has, and who they are; with the ids by which a person finds them in a log."""
    names = [f"{member} (member id {show(member.member_id)})" if with_ids else str(member) for member in members]
    return f"{count_text(len(members), 'member')} ({first_few(names)})"


def _show_names(groups: Sequence[str]) -> str:
    return first_few(map(show, groups))


def find_group_stops(wave_groups: WaveGroups, logs: GroupLogs, source: str, target: str) -> Iterator[Finding]:
    """What keeps groups from moving but members on the source; and the warnings about what moves and what does not."""
    yield from (finding for finding in find_in_groups(wave_groups, source, target) if finding.code not in _SAID_OTHERWISE)
    for group in wave_groups.groups:
        if group.ahead:
            yield stop(GroupAheadOfCopy(group.name, group.ahead))
        yield from _find_gone_records(group, logs, target)
        yield from _find_going_back(group, target)
        yield from _find_without_position(group, logs.source)


def find_active_groups(groups: Iterable[WaveGroup], source: str) -> Iterator[Finding]:
    """A stop for each group that still has members on the source, or whose positions an open transaction still moves."""
    for group in groups:
        if group.unstable:
            yield stop(GroupUnstable(group.name, first_few(group.unstable)))
        if group.members:
            yield stop(GroupActive(group.name, describe_members(group.members, with_ids=True), source))


def _find_gone_records(group: WaveGroup, logs: GroupLogs, target: str) -> Iterator[Finding]:
    without_leader, gone = [], []
    for position in _select_answered(group):
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


def _find_going_back(group: WaveGroup, target: str) -> Iterator[Finding]:
    further = [f"{place.remote}@{place.target_offset} -> {place.answer.target}" for place in group.further_on_target]
    if further:
        yield warning(GroupGoesBack(group.name, first_few(further), target))


def _find_without_position(group: WaveGroup, partitions: Collection[TopicPartition]) -> Iterator[Finding]:
    have = {TopicPartition(position.topic, position.partition) for position in group.positions}
    topics = {tp.topic for tp in have}
    lacking = sorted(tp for tp in partitions if tp.topic in topics and tp not in have)
    if lacking:
        yield warning(GroupWithoutPosition(group.name, first_few(lacking)))


def _select_answered(group: WaveGroup) -> tuple[WavePosition, ...]:
    return tuple(position for position in group.positions if position.answer.target is not None)
