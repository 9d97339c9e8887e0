"""Positions that a cutover moved: the flow commits them on the target no more, until their topics return."""

from collections.abc import Callable, Mapping

from kafka_mirror.formats.offsets.partition import TopicPartition, deciders_id
from kafka_mirror.groups.context import GroupContext
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import Committed
from kafka_mirror.ledger.control import Control
from kafka_mirror.ledger.decisions import Decisions

Offsets = Mapping[str, Mapping[TopicPartition, Committed]]
"""What groups committed, by group."""


def control_of_groups(context: GroupContext, target: Cluster) -> Control:
    """The flow's control topic."""
    topic, clients = context.policy.control_topic(context.source), context.clients
    return Control(topic, target, clients.target_consumer, clients.target_producer, deciders_id(context.source, context.lanes))


def decisions_of(control: Control) -> Decisions:
    """What is decided about the flow; nothing without a control topic. Raises what keeps it from being read: a topic may have moved."""
    return Decisions(control.read() if control.exists() else ())


def without_moved(offsets: Offsets, decisions: Decisions, upstream_of: Callable[[str], str | None]) -> tuple[Offsets, dict[str, str]]:
    """The positions that did not move, and for each group that has others why these are left alone.

    A group moves with all its topics. So its positions in what the source has from the target (`upstream_of`) moved with them.
    """
    topics = {tp.topic for positions in offsets.values() for tp in positions}
    moved = {topic: decision for topic in topics if (decision := decisions.moved(topic)) is not None}
    remaining: dict[str, Mapping[TopicPartition, Committed]] = {}
    reasons: dict[str, str] = {}
    for group, positions in offsets.items():
        away = sorted({tp.topic for tp in positions if tp.topic in moved})
        if not away:
            remaining[group] = positions
            continue
        stays = {tp: at for tp, at in positions.items() if tp.topic not in moved and upstream_of(tp.topic) is None}
        if stays:
            remaining[group] = stays
        reasons[group] = f"left alone, for the wave {moved[away[0]].wave} moved {', '.join(away)} to the target"
    return remaining, reasons
