"""The source's topics beside their remote topics, as found now."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mirror.errors import MirrorError
from mirror.kafka.connect import ledger_of
from mirror.kafka.model import Topic
from mirror.policy import TopicSelection
from mirror.sync.topic_changes import TopicChanges, plan_topics

if TYPE_CHECKING:
    from mirror.config import Flow
    from mirror.kafka.cluster import Cluster


@dataclass(frozen=True)
class Compared:
    """The remote topics that exist, by their source topics, and what they lack. A topic with an error is in neither."""

    existing: Mapping[str, Topic]
    changes: TopicChanges


def compared(flow: "Flow", selection: TopicSelection, topics: Mapping[str, Topic], target: "Cluster") -> Compared:
    """Looks for the remote topics of selected source topics. What the target hides is an error of that topic, and so is a remote name that
    another topic has too, unless the ledger has the topic: whoever may create topics stops none that is mirrored."""
    names = {name: selection.remote(name) for name in topics}
    shared = selection.sharing(topics)
    if shared:
        shared = selection.sharing(topics, _mirrored(flow, target))
    refused: dict[str, MirrorError] = {}
    there = target.topics(names.values(), refused)
    left_out = {**shared, **{name: refused[remote] for name, remote in names.items() if remote in refused}}
    changes = plan_topics({name: topic for name, topic in topics.items() if name not in left_out}, there, names)
    errors = {**left_out, **changes.errors}
    existing = {name: there[remote] for name, remote in names.items() if remote in there and name not in errors}
    return Compared(existing, replace(changes, errors=errors))


def _mirrored(flow: "Flow", target: "Cluster") -> set[str]:
    ledger = ledger_of(flow, target)
    return {tp.topic for tp in ledger.read().records} if ledger.topic_id() is not None else set()
