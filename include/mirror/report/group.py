"""Where one group would go on if it failed over now."""

from typing import TYPE_CHECKING

from mirror.errors import MirrorError, NoGroupOffsets
from mirror.offsets.translation import none
from mirror.sync.group_clusters import group_clusters
from mirror.sync.group_work import group_work
from mirror.sync.translated_groups import GroupOffset, TranslatedGroups, translate_groups

if TYPE_CHECKING:
    from mirror.config import Flow


def group_position(flow: "Flow", group: str) -> TranslatedGroups:
    """Every partition that the group has committed for on the source, translated now, whatever `groups` and the topic filter take.

    Writes nothing. Raises NoGroupOffsets, and what concerns a cluster as a whole.
    """
    work = group_work(flow)
    with group_clusters(work) as (source, target, groups):
        refused: dict[str, MirrorError] = {}
        offsets = groups.committed([group], refused).get(group, {})
        for error in refused.values():
            raise error
        if not offsets:
            raise NoGroupOffsets(group, work.source)
        found = translate_groups(work, {group: offsets}, source, target)
    answered = {each.source for each in found.offsets}
    left_out = [
        GroupOffset(group, tp, committed, tp._replace(topic=work.selection.shown(tp.topic)), none("the topic filter leaves it out"), None)
        for tp, committed in offsets.items()
        if tp not in answered
    ]
    return TranslatedGroups(tuple(sorted((*found.offsets, *left_out), key=lambda each: each.source)), found.errors)
