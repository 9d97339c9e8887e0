"""Where one group would go on if it failed over now."""

from typing import TYPE_CHECKING

from kafka_mirror.errors import MirrorError, NoGroupOffsets
from kafka_mirror.groups.context import group_clusters, group_context
from kafka_mirror.groups.group_translation import GroupOffset, TranslatedGroups, translate_groups
from kafka_mirror.groups.translation import no_answer

if TYPE_CHECKING:
    from kafka_mirror.config import Flow


def group_position(flow: "Flow", group: str) -> TranslatedGroups:
    """Every partition that the group has committed for on the source, translated now, whatever `groups` and the topic filter take.

    Writes nothing. Raises NoGroupOffsets, and what concerns a cluster as a whole.
    """
    context = group_context(flow)
    with group_clusters(context) as (source, target, groups):
        refused: dict[str, MirrorError] = {}
        offsets = groups.committed([group], refused).get(group, {})
        for error in refused.values():
            raise error
        if not offsets:
            raise NoGroupOffsets(group, context.source)
        translated = translate_groups(context, {group: offsets}, source, target)
    answered = {offset.source for offset in translated.offsets}
    left_out = [
        GroupOffset(
            group,
            tp,
            committed,
            tp._replace(topic=context.selection.display_name(tp.topic)),
            no_answer("the topic filter leaves it out"),
            None,
        )
        for tp, committed in offsets.items()
        if tp not in answered
    ]
    return TranslatedGroups(tuple(sorted((*translated.offsets, *left_out), key=lambda offset: offset.source)), translated.errors)
