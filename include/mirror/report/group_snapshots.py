"""What would become of the consumer groups if they failed over now."""

import time
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING

from mirror.kafka.connect import clusters
from mirror.offsets.translation import BY_MAP, EARLY, EXACT, INCOMPLETE, NONE
from mirror.report.snapshot import GroupSnapshot, GroupsSnapshot, InexactPosition
from mirror.sync.group_work import group_work
from mirror.sync.groups import selected_groups
from mirror.sync.known_places import KnownPlaces
from mirror.sync.translated_groups import GroupOffset, Offsets, stored_checkpoints, translate_groups

if TYPE_CHECKING:
    from mirror.config import Flow

EXAMPLES = 20
"""How many positions that are not exact are kept of a group."""
_WORST_FIRST = {NONE: 0, INCOMPLETE: 1, EARLY: 2}


COUNT_MAX_BYTES = 16 * 1024 * 1024
COUNT_MAX_SECONDS = 2.0
"""What one look may cost to count places that the offset map has forgotten: the steps count the rest, and their checkpoints say so."""


def look_at_groups(flow: "Flow", known: KnownPlaces | None = None) -> GroupsSnapshot:
    """Every group whose offsets the flow translates, translated now. Raises what concerns a cluster as a whole. `known`: what the look
    before has found of places beyond the offset map.

    At most as many group-partitions as the flow translates without Spark (mirror.checkpoints.spark.threshold); groups beyond them are
    counted.
    """
    started, taken = time.monotonic(), datetime.now(UTC)
    selected = selected_groups(flow)
    chosen = within(selected.offsets, flow.value("mirror.checkpoints.spark.threshold"))
    with clusters(flow) as (source, target):
        work = group_work(flow)
        limits = min(work.count_max_bytes, COUNT_MAX_BYTES), min(work.count_max_seconds, COUNT_MAX_SECONDS)
        work = replace(work, count_max_bytes=limits[0], count_max_seconds=limits[1])
        places = known or KnownPlaces()
        places.begin(lambda: stored_checkpoints(work, target))
        found = translate_groups(work, chosen, source, target, places)
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
        beyond_map=sum(each.kind == EXACT and each.by != BY_MAP for each in answered),
        over_budget=sum(each.is_over_budget for each in answered),
        examples=tuple(_position(each) for each in inexact[:EXAMPLES]),
    )


def _position(each: GroupOffset) -> InexactPosition:
    answer = each.translated
    return InexactPosition(each.source.topic, each.source.partition, each.committed.offset, answer.kind, answer.reread, answer.reason)
