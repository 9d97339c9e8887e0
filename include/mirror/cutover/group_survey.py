"""Asks both clusters about the consumer groups of a wave: positions, their translation, members."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mirror.config.policies import group_filter
from mirror.cutover.flow_settings import LackingRight
from mirror.cutover.groups import WaveGroup, WaveGroups, WavePosition
from mirror.cutover.wave import Wave, matches
from mirror.errors import ErrorReport, MirrorError
from mirror.kafka.cluster import Cluster
from mirror.kafka.group_members import GroupDescription, describe_groups
from mirror.kafka.groups import Group, Groups
from mirror.kafka.model import Committed
from mirror.offsets.partition import TopicPartition
from mirror.sync.groups.context import GroupContext
from mirror.sync.groups.translate import GroupOffset, translate_groups

if TYPE_CHECKING:
    from mirror.config import Flow

_OTHER_KINDS = ("share", "streams")
_NOBODY = GroupDescription()

Offsets = Mapping[str, Mapping[TopicPartition, Committed]]
"""What groups committed, by group."""


@dataclass(frozen=True)
class GroupSurvey:
    """The groups of a wave, rights that moving them needs and that are lacking, and what could not be asked."""

    groups: WaveGroups
    rights: tuple[LackingRight, ...] = ()
    errors: tuple[ErrorReport, ...] = ()


@dataclass(frozen=True)
class GroupClusters:
    """Both clusters, and the groups of each."""

    source: Cluster
    target: Cluster
    source_groups: Groups
    target_groups: Groups


def survey_groups(
    flow: "Flow", context: GroupContext, wave: Wave, topics: Collection[str], source_names: Collection[str], sides: GroupClusters
) -> GroupSurvey:
    """Looks at the groups of the wave, and at their namesakes on the target. `topics` are those of the wave, `source_names` all of the
    source. Raises what concerns a cluster as a whole."""
    refused: dict[str, MirrorError] = {}
    listed = sides.source_groups.listed()
    offsets = sides.source_groups.committed([name for name, group in listed.items() if group.has_offsets], refused)
    with_positions = {name: positions for name, positions in offsets.items() if any(tp.topic in topics for tp in positions)}
    others = {name: group.type for name, group in listed.items() if group.type.lower() in _OTHER_KINDS}
    taken, unmatched = matches(wave.groups, {*with_positions, *others}) if wave.groups else (frozenset(with_positions), ())
    chosen = {name: positions for name, positions in with_positions.items() if name in taken}
    translated = translate_groups(context, _moved(chosen, topics, context), sides.source, sides.target)
    members = describe_groups(sides.source, [name for name in chosen if not listed[name].is_idle], refused)
    namesakes = describe_groups(sides.target, chosen, refused)
    there = sides.target_groups.committed(chosen, refused)
    by_filter = group_filter(flow)
    groups = tuple(
        WaveGroup(
            name,
            _positions([offset for offset in translated.offsets if offset.group == name], there.get(name, {})),
            outside=_outside(chosen[name], topics, source_names, context),
            members=members.get(name, _NOBODY).members,
            target_members=namesakes.get(name, _NOBODY).members,
            has_checkpoints=by_filter.should_replicate(name),
            left_out=_left_out(chosen[name], source_names, context),
        )
        for name in sorted(chosen)
    )
    rights = _rights(flow, namesakes)
    left_out = tuple(sorted(with_positions.keys() - taken))
    errors = (*translated.errors, *(error.report() for error in refused.values()))
    return GroupSurvey(WaveGroups(groups, unmatched, _other_kinds(listed, others, taken), left_out), rights, errors)


def _moved(offsets: Offsets, topics: Collection[str], context: GroupContext) -> Offsets:
    """What moves with the wave: positions in its topics, and in topics that the source has from the target."""
    return {
        name: {tp: committed for tp, committed in positions.items() if tp.topic in topics or context.upstream_of(tp.topic) is not None}
        for name, positions in offsets.items()
    }


def _outside(
    positions: Iterable[TopicPartition], topics: Collection[str], source_names: Collection[str], context: GroupContext
) -> tuple[str, ...]:
    """Topics of the source on which the group has positions and that do not move. A topic that is gone holds nobody back."""
    others = {tp.topic for tp in positions if tp.topic not in topics and tp.topic in source_names}
    return tuple(sorted(name for name in others if context.upstream_of(name) is None))


def _left_out(positions: Iterable[TopicPartition], source_names: Collection[str], context: GroupContext) -> tuple[str, ...]:
    """Topics of the source from the target whose positions are not translated, for the topic filter does not take them."""
    takes = context.selection.topic_filter.should_replicate
    topics = {tp.topic for tp in positions if tp.topic in source_names and context.upstream_of(tp.topic) is not None}
    return tuple(sorted(topic for topic in topics if not takes(topic)))


def _positions(offsets: Iterable[GroupOffset], there: Mapping[TopicPartition, Committed]) -> tuple[WavePosition, ...]:
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


def _other_kinds(listed: Mapping[str, Group], others: Collection[str], taken: Collection[str]) -> tuple[tuple[str, str], ...]:
    return tuple((name, listed[name].type) for name in sorted({*others} & {*taken}))


def _rights(flow: "Flow", namesakes: Mapping[str, GroupDescription]) -> tuple[LackingRight, ...]:
    lacking = []
    for name, group in sorted(namesakes.items()):
        if not group.may_commit:
            lacking.append(LackingRight(flow.target, "READ", f"the group {name}", "committing its positions there"))
        if not group.may_delete:
            purpose = "taking back a position where there was none"
            lacking.append(LackingRight(flow.target, "DELETE", f"the group {name}", purpose, is_optional=True))
    return tuple(lacking)
