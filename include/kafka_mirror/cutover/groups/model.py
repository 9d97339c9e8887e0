"""What consumer groups say against a wave: positions without an exact answer, members, topics that the wave leaves behind. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kafka_mirror.cutover.wave.findings import Finding, information, stop, warning
from kafka_mirror.errors import (
    GroupActive,
    GroupActiveOnTarget,
    GroupFurtherOnTarget,
    GroupNotExact,
    GroupOfAnotherKind,
    GroupsLeftOut,
    GroupSplit,
    GroupStabilityUntold,
    GroupTopicLeftOut,
    GroupUnstable,
    GroupWithoutAnswer,
    GroupWithoutCheckpoints,
    PatternMatchesNothing,
)
from kafka_mirror.errors.display import show
from kafka_mirror.errors.words import count_text, first_few
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.translation import EARLY, EXACT, TranslatedOffset
from kafka_mirror.kafka.model import GroupMember


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
        """Positions for which there is none on the target, or one behind which records are missing."""
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
        """How many records it would read again, at most; None if nobody knows."""
        counts = [position.answer.reread for position in self.early]
        return None if None in counts else sum(count or 0 for count in counts)

    @property
    def ahead(self) -> int:
        """Offsets that it has read and that the copy has yet to bring."""
        return sum(position.answer.ahead for position in self.positions)


@dataclass(frozen=True)
class WaveGroups:
    """The groups of a wave, patterns that match none, the share groups of the source that `--groups` takes, and groups that it leaves out
    though they have positions on the wave's topics. Of the `doubtful` the source is too old to tell whether an open transaction commits."""

    groups: tuple[WaveGroup, ...] = ()
    unmatched: tuple[str, ...] = ()
    shares: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()


def group_findings(wave_groups: WaveGroups, source: str, target: str) -> Iterator[Finding]:
    """What is said of all groups of a wave."""
    for pattern in wave_groups.unmatched:
        yield stop(PatternMatchesNothing("--groups", pattern, "consumer group with a position in a topic of the wave"))
    if wave_groups.shares:
        yield warning(GroupOfAnotherKind(source, _names(wave_groups.shares), wave_groups.shares[0]))
    if wave_groups.left_out:
        yield warning(GroupsLeftOut(_names(wave_groups.left_out)))
    if wave_groups.doubtful:
        yield warning(GroupStabilityUntold(_names(wave_groups.doubtful), source))
    if not wave_groups.groups and not wave_groups.unmatched:
        yield information("NoGroups", "No consumer group has a position in a topic of the wave.")
    for group in wave_groups.groups:
        yield from _positions(group)
        yield from _members(group, source, target)
        yield from _topics(group)


def _positions(group: WaveGroup) -> Iterator[Finding]:
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


def _members(group: WaveGroup, source: str, target: str) -> Iterator[Finding]:
    if group.members:
        yield warning(GroupActive(group.name, people(group.members), source))
    if group.unstable:
        yield warning(GroupUnstable(group.name, first_few(group.unstable)))
    if group.target_members:
        yield stop(GroupActiveOnTarget(group.name, people(group.target_members), target))


def _topics(group: WaveGroup) -> Iterator[Finding]:
    if group.outside:
        yield stop(GroupSplit(group.name, group.outside))
    if group.left_out:
        yield stop(GroupTopicLeftOut(group.name, group.left_out))
    if group.is_streams or not group.has_checkpoints:
        yield warning(GroupWithoutCheckpoints(group.name, group.is_streams))


def people(members: Sequence[GroupMember], with_ids: bool = False) -> str:
    """How many members a group has, and who they are; with the ids by which a person finds them in a log."""
    names = [f"{member} (member id {show(member.member_id)})" if with_ids else str(member) for member in members]
    return f"{count_text(len(members), 'member')} ({first_few(names)})"


def _names(groups: Sequence[str]) -> str:
    return first_few(map(show, groups))
