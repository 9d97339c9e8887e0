"""What a failover now would mean for the consumer groups, all of them or one, and which topics carry a schema registry's ids.

Groups are translated on the target, where the copy is, so that the source is left in peace. Of the topics a few are looked at each time:
the newest record of a few of their partitions.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

from kafka_mirror.errors import MirrorError, NoGroupOffsets
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.formats.record import has_id_in_header, read_headers, schema_id
from kafka_mirror.groups.context import Offsets, group_clusters, group_context
from kafka_mirror.groups.exact_offsets import KnownPlaces
from kafka_mirror.groups.find import find_groups
from kafka_mirror.groups.group_translation import GroupOffset, TranslatedGroups, stored_checkpoints, translate_groups
from kafka_mirror.groups.translation import BY_MAP, EARLY, EXACT, INCOMPLETE, NONE, no_answer
from kafka_mirror.kafka.reader import BoundedReader
from kafka_mirror.ledger.clusters import clusters
from kafka_mirror.status.snapshot import GroupSnapshot, GroupsSnapshot, InexactPosition, SchemaIds

if TYPE_CHECKING:
    from kafka_mirror.config import Flow


def group_position(flow: "Flow", group: str) -> TranslatedGroups:
    """Every partition that the group has committed for on the source, translated now, whatever `groups` and the topic filter take.

    Writes nothing. Raises NoGroupOffsets, and what concerns a cluster as a whole.
    """
    context = group_context(flow)
    with group_clusters(context) as (source, target, groups, _):
        refused: dict[str, MirrorError] = {}
        offsets = groups.read_committed([group], refused).get(group, {})
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


EXAMPLES = 20
"""How many positions that are not exact are kept of a group."""
_WORST_FIRST = {NONE: 0, INCOMPLETE: 1, EARLY: 2}


COUNT_MAX_BYTES = 16 * 1024 * 1024
COUNT_MAX_SECONDS = 2.0
"""What one look may cost to count places that the offset map has forgotten: the steps count the rest, and their checkpoints say so."""

TOPICS_AT_ONCE = 20
PARTITIONS_OF_A_TOPIC = 3
AGAIN_AFTER_SECONDS = 1800.0
_READ_SECONDS = 3.0

Positions = Mapping[str, Sequence[tuple[TopicPartition, int]]]
"""By topic of the source: partitions of the remote topic with the offset of our last record there."""


def read_groups(flow: "Flow", known_places: KnownPlaces | None = None) -> GroupsSnapshot:
    """Every group whose offsets the flow translates, translated now. Raises what concerns a cluster as a whole. `known_places`: what the
    look before has found of places beyond the offset map.

    At most as many group-partitions as the flow translates without Spark (mirror.checkpoints.spark.threshold); groups beyond them are
    counted.
    """
    started, taken = time.monotonic(), datetime.now(UTC)
    selected = find_groups(flow)
    chosen = limit_groups(selected.offsets, flow.value("mirror.checkpoints.spark.threshold"))
    with clusters(flow) as (source, target):
        context = group_context(flow)
        limits = min(context.count_max_bytes, COUNT_MAX_BYTES), min(context.count_max_seconds, COUNT_MAX_SECONDS)
        context = replace(context, count_max_bytes=limits[0], count_max_seconds=limits[1])
        places = known_places or KnownPlaces()
        places.begin(lambda: stored_checkpoints(context, target))
        translated = translate_groups(context, chosen, source, target, places)
    errors = tuple(dict.fromkeys((*selected.errors, *translated.errors)))
    left_out = len(selected.offsets) - len(chosen)
    return GroupsSnapshot(taken, sum_up_groups(translated.offsets), errors, left_out, time.monotonic() - started)


def limit_groups(offsets: Offsets, partitions: int) -> Offsets:
    """As many of the groups, in the order of their names, as together have no more partitions than these."""
    chosen, remaining = {}, partitions
    for group in sorted(offsets):
        remaining -= len(offsets[group])
        if remaining < 0:
            break
        chosen[group] = offsets[group]
    return chosen


def sum_up_groups(offsets: Iterable[GroupOffset]) -> tuple[GroupSnapshot, ...]:
    """One answer a group, from those of its partitions, which stand together."""
    return tuple(_group(name, list(of_group)) for name, of_group in groupby(offsets, key=lambda offset: offset.group))


def _group(name: str, offsets: list[GroupOffset]) -> GroupSnapshot:
    kinds = [offset.translated.kind for offset in offsets]
    answered = [offset.translated for offset in offsets if offset.translated.target is not None]
    rereads = [answer.reread for answer in answered if answer.reread is not None]
    inexact = sorted(
        (offset for offset in offsets if offset.translated.kind != EXACT), key=lambda offset: _WORST_FIRST[offset.translated.kind]
    )
    return GroupSnapshot(
        name,
        partitions=len(offsets),
        exact=kinds.count(EXACT),
        early=kinds.count(EARLY),
        incomplete=kinds.count(INCOMPLETE),
        unanswered=kinds.count(NONE),
        reread=sum(rereads) if rereads else None,
        reread_unknown=len(answered) - len(rereads),
        ahead=sum(answer.ahead for answer in answered),
        beyond_map=sum(answer.kind == EXACT and answer.by != BY_MAP for answer in answered),
        over_budget=sum(answer.is_over_budget for answer in answered),
        examples=tuple(
            InexactPosition(*one.source, one.committed.offset, one.translated.kind, one.translated.reread, one.translated.reason)
            for one in inexact[:EXAMPLES]
        ),
    )


@dataclass
class SchemaIdSampler:
    """What was found so far of one flow, by topic of the source; None: no id."""

    ids: dict[str, SchemaIds | None] = field(default_factory=dict)
    _looked: dict[str, float] = field(default_factory=dict)

    def select_due(self, topics: Positions, now: float) -> list[str]:
        """The topics to look at now, those first that were looked at longest ago."""
        waiting = [
            topic for topic in topics if topics[topic] and now - self._looked.get(topic, -AGAIN_AFTER_SECONDS) >= AGAIN_AFTER_SECONDS
        ]
        return sorted(waiting, key=lambda name: (self._looked.get(name, -AGAIN_AFTER_SECONDS), name))[:TOPICS_AT_ONCE]

    def sample(self, flow: "Flow", topics: Positions) -> None:
        """Looks at the topics that are due. One whose records do not come in time, or may not be read, is looked at again much later."""
        now = time.monotonic()
        due = self.select_due(topics, now)
        chosen = {remote: (offset, offset + 1) for topic in due for remote, offset in topics[topic][:PARTITIONS_OF_A_TOPIC]}
        if not chosen:
            return
        self._looked.update(dict.fromkeys(due, now))
        reader = BoundedReader(flow.target, flow.client("target", "consumer"))
        refused: dict[str, MirrorError] = {}
        messages = reader.first_visible(chosen, _READ_SECONDS, refused, partial=True)
        for topic in due:
            records = [messages[remote] for remote, _ in topics[topic][:PARTITIONS_OF_A_TOPIC] if remote in messages]
            if records:
                self.ids[topic] = ids_of([(record.value, read_headers(record) or ()) for record in records])


def ids_of(records: Sequence[tuple[Any, Any]]) -> SchemaIds | None:
    """What values and headers of some records of a topic say. One value without an id is enough to say that the topic carries none, but
    for tombstones."""
    values = [(value, headers) for value, headers in records if value is not None]
    if not values:
        return None
    ids = [schema_id(bytes(value)) for value, _ in values]
    if all(id_of_record is not None for id_of_record in ids):
        return SchemaIds(tuple(sorted({id_of_record for id_of_record in ids if id_of_record is not None})))
    if all(has_id_in_header(headers) for _, headers in values):
        return SchemaIds((), in_headers=True)
    return None
