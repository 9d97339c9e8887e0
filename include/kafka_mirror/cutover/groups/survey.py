"""Asks both clusters about the consumer groups of a wave: positions, their translation, members."""

from collections.abc import Collection, Iterable, Iterator, Mapping, MutableMapping

from kafka_mirror.config.policies import group_filter
from kafka_mirror.cutover.groups.findings import WaveGroup, WaveGroups, WavePosition
from kafka_mirror.cutover.wave.findings import Finding, stop
from kafka_mirror.cutover.wave.move import Move
from kafka_mirror.cutover.wave.selection import matches
from kafka_mirror.errors import MirrorError, RightMissing
from kafka_mirror.errors.display import show
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.context import GroupContext, Offsets
from kafka_mirror.groups.group_translation import GroupOffset, translate_groups
from kafka_mirror.kafka.groups import Group, GroupDescription, describe_groups, may_be_unstable
from kafka_mirror.kafka.model import Committed, GroupMember

_SHARE = "share"
_NO_MEMBERS = GroupDescription()


def survey_groups(move: Move) -> WaveGroups:
    """Looks at the groups of the wave, and at their namesakes on the target. Raises what concerns a cluster as a whole."""
    context, topics, sides = move.context, move.topics.names, move.sides
    refused: dict[str, MirrorError] = {}
    listed = sides.source_groups.listed()
    names = [name for name, group in listed.items() if group.has_offsets or group.is_streams]
    candidates = may_be_unstable(sides.source, names)
    first = _find_first_positions(move, candidates, refused)
    undetermined = set(candidates) if candidates and not sides.source_groups.tells_unstable() else set[str]()
    offsets = sides.source_groups.committed(names, refused)
    with_positions = {
        name: positions for name, positions in offsets.items() if name in first or any(tp.topic in topics for tp in positions)
    }
    shares = {name for name, group in listed.items() if group.type.lower() == _SHARE}
    everything = {*with_positions, *shares}
    taken, unmatched = matches(move.wave.groups, everything) if move.wave.groups else (frozenset(everything), ())
    chosen = {name: positions for name, positions in with_positions.items() if name in taken}
    translated = translate_groups(context, _select_moved(chosen, topics, context), sides.source, sides.target)
    members = describe_groups(sides.source, [name for name in chosen if not listed[name].is_idle], refused)
    unstable = first | find_unstable_positions(move, chosen, refused)
    namesakes = describe_groups(sides.target, chosen, refused)
    there = sides.target_groups.committed(chosen, refused)
    by_filter = group_filter(move.flow)
    groups = tuple(
        WaveGroup(
            name,
            _make_positions([offset for offset in translated.offsets if offset.group == name], there.get(name, {})),
            outside=_find_outside(chosen[name], topics, move.names, context),
            members=members.get(name, _NO_MEMBERS).members or _guess_members(listed[name]),
            unstable=unstable.get(name, ()),
            is_streams=listed[name].is_streams,
            target_members=namesakes.get(name, _NO_MEMBERS).members,
            has_checkpoints=by_filter.should_replicate(name) and not listed[name].is_streams,
            left_out=_find_left_out(chosen[name], move.names, context),
        )
        for name in sorted(chosen)
    )
    left_out = tuple(sorted(with_positions.keys() - taken))
    doubtful = tuple(sorted(undetermined & chosen.keys()))
    stops = (*_find_lacking_rights(move.flow.target, namesakes), *map(stop, translated.errors), *map(stop, refused.values()))
    return WaveGroups(groups, unmatched, tuple(sorted(shares & taken)), left_out, doubtful, stops)


def find_unstable_positions(
    move: Move, offsets: Mapping[str, Collection[TopicPartition]], refused: MutableMapping[str, MirrorError]
) -> dict[str, tuple[TopicPartition, ...]]:
    """Where a transaction that is still open commits offsets of a group: in the wave's topics, and in partitions where it has a position.

    Asked after the positions are read: a commit in between shows when they are read once more.
    """
    of_wave = set(move.source_partitions()) if offsets else set()
    return move.sides.source_groups.unstable({name: of_wave | {*positions} for name, positions in offsets.items()}, refused)


def _find_first_positions(
    move: Move, candidates: Collection[str], refused: MutableMapping[str, MirrorError]
) -> dict[str, tuple[TopicPartition, ...]]:
    """Where a transaction that is still open commits offsets of a group in the wave's topics, where it may have no position yet. Asked for
    before the positions: those that it commits meanwhile are among them."""
    return move.sides.source_groups.unstable(dict.fromkeys(candidates, frozenset(move.source_partitions())), refused) if candidates else {}


def _select_moved(offsets: Offsets, topics: Collection[str], context: GroupContext) -> Offsets:
    """What moves with the wave: positions in its topics, and in topics that the source has from the target."""
    return {
        name: {tp: committed for tp, committed in positions.items() if tp.topic in topics or context.upstream_of(tp.topic) is not None}
        for name, positions in offsets.items()
    }


def _find_outside(
    positions: Iterable[TopicPartition], topics: Collection[str], source_names: Collection[str], context: GroupContext
) -> tuple[str, ...]:
    """Topics of the source on which the group has positions and that do not move. A topic that is gone is no obstacle."""
    others = {tp.topic for tp in positions if tp.topic not in topics and tp.topic in source_names}
    return tuple(sorted(name for name in others if context.upstream_of(name) is None))


def _find_left_out(positions: Iterable[TopicPartition], source_names: Collection[str], context: GroupContext) -> tuple[str, ...]:
    """Topics of the source from the target whose positions are not translated, for the topic filter does not take them."""
    takes = context.selection.topic_filter.should_replicate
    topics = {tp.topic for tp in positions if tp.topic in source_names and context.upstream_of(tp.topic) is not None}
    return tuple(sorted(topic for topic in topics if not takes(topic)))


def _make_positions(offsets: Iterable[GroupOffset], there: Mapping[TopicPartition, Committed]) -> tuple[WavePosition, ...]:
    return tuple(
        WavePosition(
            *offset.source,
            offset.committed.offset,
            offset.translated,
            there[offset.remote].offset if offset.remote in there else None,
            offset.remote.topic,
            offset.committed.metadata,
        )
        for offset in offsets
    )


def _guess_members(group: Group) -> tuple[GroupMember, ...]:
    """Members of a streams group, which are not described one by one: that it has some its state says."""
    return (GroupMember("members of a streams group", ""),) if group.is_streams and not group.is_idle else ()


def _find_lacking_rights(target: str, namesakes: Mapping[str, GroupDescription]) -> Iterator[Finding]:
    for name, group in sorted(namesakes.items()):
        if not group.may_commit:
            yield stop(RightMissing(target, "READ", f"the group {show(name)}", "committing its positions there"))
