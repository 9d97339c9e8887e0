"""The consumer groups of a wave: what both clusters show of them, and what that says against moving them.

`survey_groups` asks for positions, their translation and members. The preflight judges that by `find_in_groups`. The step that moves the
groups judges it by `find_group_stops`, which looks at the logs too, and by `find_active_groups`.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field

from kafka_mirror.config.policies import group_filter
from kafka_mirror.cutover.wave.move import Move
from kafka_mirror.cutover.wave.selection import match_names
from kafka_mirror.cutover.wave.step import Finding, information, stop, warning
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
    MirrorError,
    PatternMatchesNothing,
    RightMissing,
)
from kafka_mirror.errors.words import count_text, first_few, show
from kafka_mirror.formats.offsets.intervals import Interval
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.context import GroupContext, Offsets
from kafka_mirror.groups.group_move import Positions
from kafka_mirror.groups.group_translation import GroupOffset, translate_groups
from kafka_mirror.groups.translation import EARLY, EXACT
from kafka_mirror.kafka.groups import Group, GroupDescription, describe_groups, may_be_unstable
from kafka_mirror.kafka.model import GroupMember

_SHARE = "share"
_NO_MEMBERS = GroupDescription()
_SAID_OTHERWISE = {"GroupActive", "GroupUnstable", "GroupFurtherOnTarget", "GroupAheadOfCopy", "GroupWithoutCheckpoints"}
"""What the preflight says of groups and this step says in another way, or not at all."""


@dataclass(frozen=True)
class WaveGroup:
    """One group of a wave as both clusters show it. `outside` are topics of the source on which it has positions and which stay."""

    name: str
    positions: tuple[GroupOffset, ...]
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
    there: Positions = field(default_factory=dict)
    """What it has committed on the target."""

    @property
    def unanswered(self) -> tuple[GroupOffset, ...]:
        """Positions without an answer on the target, or with one before which records are missing."""
        return tuple(position for position in self.positions if position.translated.kind not in (EXACT, EARLY))

    @property
    def early(self) -> tuple[GroupOffset, ...]:
        """Positions from which it would read records again."""
        return tuple(
            position for position in self.positions if position.translated.kind == EARLY and not position.translated.rereads_nothing
        )

    @property
    def further_on_target(self) -> tuple[GroupOffset, ...]:
        """Positions where the group is already ahead of its translated one on the target."""
        return tuple(of for of in self.positions if of.translated.target is not None and (self.get_place(of) or 0) > of.translated.target)

    def get_place(self, position: GroupOffset) -> int | None:
        """Where it stands on the target in that partition; None if nowhere."""
        present = self.there.get(position.remote)
        return None if present is None else present.offset

    @property
    def reread(self) -> int | None:
        """How many records it would read again, at most; None if it is unknown."""
        counts = [position.translated.reread for position in self.early]
        return None if None in counts else sum(count or 0 for count in counts)

    @property
    def ahead(self) -> int:
        """Offsets that it has read and that the copy has yet to bring."""
        return sum(position.translated.ahead for position in self.positions)


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


# ------------------------------------------------------------ asking


def survey_groups(move: Move) -> WaveGroups:
    """Looks at the groups of the wave, and at their namesakes on the target. Raises what concerns a cluster as a whole."""
    context, topics, sides = move.context, move.topics.names, move.sides
    refused: dict[str, MirrorError] = {}
    listed = sides.source_groups.list_groups()
    names = [name for name, group in listed.items() if group.has_offsets or group.is_streams]
    candidates = may_be_unstable(sides.source, names)
    # Where an open transaction commits for a group in the wave's topics, and it may have no position yet. Asked for before the positions:
    # those that it commits meanwhile are among them.
    first = sides.source_groups.find_unstable(dict.fromkeys(candidates, frozenset(move.list_partitions())), refused) if candidates else {}
    undetermined = set(candidates) if candidates and not sides.source_groups.tells_unstable() else set[str]()
    offsets = sides.source_groups.read_committed(names, refused)
    with_positions = {
        name: positions for name, positions in offsets.items() if name in first or any(tp.topic in topics for tp in positions)
    }
    shares = {name for name, group in listed.items() if group.type.lower() == _SHARE}
    everything = {*with_positions, *shares}
    taken, unmatched = match_names(move.wave.groups, everything) if move.wave.groups else (frozenset(everything), ())
    chosen = {name: positions for name, positions in with_positions.items() if name in taken}
    translated = translate_groups(context, _select_moved(chosen, topics, context), sides.source, sides.target)
    members = describe_groups(sides.source, [name for name in chosen if not listed[name].is_idle], refused)
    unstable = first | find_unstable_positions(move, chosen, refused)
    namesakes = describe_groups(sides.target, chosen, refused)
    there = sides.target_groups.read_committed(chosen, refused)
    by_filter = group_filter(move.flow)
    groups = tuple(
        WaveGroup(
            name,
            tuple(offset for offset in translated.offsets if offset.group == name),
            outside=_find_outside(chosen[name], topics, move.names, context),
            members=members.get(name, _NO_MEMBERS).members or _guess_members(listed[name]),
            unstable=unstable.get(name, ()),
            is_streams=listed[name].is_streams,
            target_members=namesakes.get(name, _NO_MEMBERS).members,
            has_checkpoints=by_filter.should_replicate(name) and not listed[name].is_streams,
            left_out=_find_left_out(chosen[name], move.names, context),
            there=there.get(name, {}),
        )
        for name in sorted(chosen)
    )
    left_out = tuple(sorted(with_positions.keys() - taken))
    doubtful = tuple(sorted(undetermined & chosen.keys()))
    closed = [f"the group {show(name)}" for name, group in sorted(namesakes.items()) if not group.may_commit]
    rights = (RightMissing(move.flow.target, "READ", resource, "committing its positions there") for resource in closed)
    stops = (*map(stop, rights), *map(stop, translated.errors), *map(stop, refused.values()))
    return WaveGroups(groups, unmatched, tuple(sorted(shares & taken)), left_out, doubtful, stops)


def find_unstable_positions(
    move: Move, offsets: Mapping[str, Collection[TopicPartition]], refused: MutableMapping[str, MirrorError]
) -> dict[str, tuple[TopicPartition, ...]]:
    """Where a transaction that is still open commits offsets of a group: in the wave's topics, and in partitions where it has a position.

    Asked after the positions are read: a commit in between shows when they are read once more.
    """
    of_wave = set(move.list_partitions()) if offsets else set()
    return move.sides.source_groups.find_unstable({name: of_wave | {*positions} for name, positions in offsets.items()}, refused)


def _select_moved(offsets: Offsets, topics: Collection[str], context: GroupContext) -> Offsets:
    """What moves with the wave: positions in its topics, and in topics that the source has from the target."""
    present = {tp.topic for positions in offsets.values() for tp in positions}
    moves = {topic for topic in present if topic in topics or context.selection.from_target(topic) is not None}
    return {name: {tp: committed for tp, committed in positions.items() if tp.topic in moves} for name, positions in offsets.items()}


def _find_outside(
    positions: Iterable[TopicPartition], topics: Collection[str], source_names: Collection[str], context: GroupContext
) -> tuple[str, ...]:
    """Topics of the source on which the group has positions and that do not move. A topic that is gone is no obstacle."""
    others = {tp.topic for tp in positions if tp.topic not in topics and tp.topic in source_names}
    return tuple(sorted(name for name in others if context.selection.from_target(name) is None))


def _find_left_out(positions: Iterable[TopicPartition], source_names: Collection[str], context: GroupContext) -> tuple[str, ...]:
    """Topics of the source from the target whose positions are not translated, for the topic filter does not take them."""
    takes = context.selection.topic_filter.should_replicate
    topics = {tp.topic for tp in positions if tp.topic in source_names and context.selection.from_target(tp.topic) is not None}
    return tuple(sorted(topic for topic in topics if not takes(topic)))


def _guess_members(group: Group) -> tuple[GroupMember, ...]:
    """Members of a streams group, which are not described one by one: that it has some its state says."""
    return (GroupMember("members of a streams group", ""),) if group.is_streams and not group.is_idle else ()


# ------------------------------------------------------------ judging


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
        if group.outside:
            yield stop(GroupSplit(group.name, group.outside))
        if group.left_out:
            yield stop(GroupTopicLeftOut(group.name, group.left_out))
        if group.is_streams or not group.has_checkpoints:
            yield warning(GroupWithoutCheckpoints(group.name, group.is_streams))


def _find_inexact(group: WaveGroup) -> Iterator[Finding]:
    total = len(group.positions)
    if group.unanswered:
        reasons = first_few([f"{position} ({position.translated.reason or position.translated.kind})" for position in group.unanswered])
        yield stop(GroupWithoutAnswer(group.name, len(group.unanswered), total, reasons))
    if group.early:
        count = "an unknown number of" if group.reread is None else f"at most {group.reread:,}"
        yield stop(GroupNotExact(group.name, count, f"{len(group.early)} of {total} positions"))
    if group.ahead:
        said = f"{show(group.name)}: it has read {group.ahead:,} offsets that the copy has yet to bring; the last copy brings them."
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
        if further := [f"{of.remote}@{group.get_place(of)} -> {of.translated.target}" for of in group.further_on_target]:
            yield warning(GroupGoesBack(group.name, first_few(further), target))
        have = {position.source for position in group.positions}
        topics = {tp.topic for tp in have}
        if lacking := sorted(tp for tp in logs.source if tp.topic in topics and tp not in have):
            yield warning(GroupWithoutPosition(group.name, first_few(lacking)))


def find_active_groups(groups: Iterable[WaveGroup], source: str) -> Iterator[Finding]:
    """A stop for each group that still has members on the source, or whose positions an open transaction still moves."""
    for group in groups:
        if group.unstable:
            yield stop(GroupUnstable(group.name, first_few(group.unstable)))
        if group.members:
            yield stop(GroupActive(group.name, describe_members(group.members, with_ids=True), source))


def _find_gone_records(group: WaveGroup, logs: GroupLogs, target: str) -> Iterator[Finding]:
    """That the target's log begins after the place where the group would go on, though the source still has its next record."""
    without_leader, gone = [], []
    for position in group.positions:
        remote, place, here = position.remote, position.translated.target, logs.source.get(position.source)
        if place is None:
            continue
        if remote not in logs.target:
            without_leader.append(remote)
        elif place < logs.target[remote][0] and here is not None and position.committed.offset >= here:
            gone.append(f"{remote}@{place} (the log begins at {logs.target[remote][0]})")
    if without_leader:
        yield stop(LeaderMissing(first_few(without_leader), target))
    if gone:
        yield stop(GroupRecordsGone(group.name, first_few(gone), target))
