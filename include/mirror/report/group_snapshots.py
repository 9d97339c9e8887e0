"""What would become of the consumer groups if they failed over now."""

import time
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING

from mirror.kafka.connect import clusters
from mirror.offsets.translation import EARLY, EXACT, INCOMPLETE, NONE
from mirror.report.snapshot import GroupSnapshot, GroupsSnapshot, InexactPosition
from mirror.sync.group_work import group_work
from mirror.sync.groups import selected_groups
from mirror.sync.translated_groups import GroupOffset, Offsets, translate_groups

if TYPE_CHECKING:
    from mirror.config import Flow

EXAMPLES = 20
"""How many positions that are not exact are kept of a group."""
_WORST_FIRST = {NONE: 0, INCOMPLETE: 1, EARLY: 2}


def look_at_groups(flow: "Flow") -> GroupsSnapshot:
    """Every group whose offsets the flow translates, translated now. Raises what concerns a cluster as a whole.

    At most as many group-partitions as the flow translates without Spark (mirror.checkpoints.spark.threshold); groups beyond them are
    counted.
    """
    started, taken = time.monotonic(), datetime.now(UTC)
    selected = selected_groups(flow)
    chosen = within(selected.offsets, flow.value("mirror.checkpoints.spark.threshold"))
    with clusters(flow) as (source, target):
        found = translate_groups(group_work(flow), chosen, source, target)
    errors = tuple(dict.fromkeys((*selected.errors, *found.errors)))
    left_out = len(selected.offsets) - len(chosen)
    return GroupsSnapshot(taken, summed_up(found.offsets), errors, left_out, time.monotonic() - started)


def within(offsets: Offsets, partitions: int) -> Offsets:
    """As many of the groups, in the order of their names, as together have no more partitions than these."""
    chosen, left = {}, partitions
    for group in sorted(offsets):
        left -= len(offsets[group])
        if left < 0:
            break
        chosen[group] = offsets[group]
    return chosen


def summed_up(offsets: Iterable[GroupOffset]) -> tuple[GroupSnapshot, ...]:
    """One answer a group, from those of its partitions, which stand together."""
    return tuple(_group(name, list(each)) for name, each in groupby(offsets, key=lambda each: each.group))


def _group(name: str, offsets: list[GroupOffset]) -> GroupSnapshot:
    kinds = [each.translated.kind for each in offsets]
    answered = [each.translated for each in offsets if each.translated.target is not None]
    known = [each.reread for each in answered if each.reread is not None]
    inexact = sorted((each for each in offsets if each.translated.kind != EXACT), key=lambda each: _WORST_FIRST[each.translated.kind])
    return GroupSnapshot(
        name,
        partitions=len(offsets),
        exact=kinds.count(EXACT),
        early=kinds.count(EARLY),
        incomplete=kinds.count(INCOMPLETE),
        unanswered=kinds.count(NONE),
        reread=sum(known) if known else None,
        reread_unknown=len(answered) - len(known),
        ahead=sum(each.ahead for each in answered),
        examples=tuple(_position(each) for each in inexact[:EXAMPLES]),
    )


def _position(each: GroupOffset) -> InexactPosition:
    answer = each.translated
    return InexactPosition(each.source.topic, each.source.partition, each.committed.offset, answer.kind, answer.reread, answer.reason)
