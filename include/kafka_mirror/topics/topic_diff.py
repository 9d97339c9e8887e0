"""What has to change on the target so that every mirrored topic has its remote topic. Pure: it only compares.

The source's topics beside their remote topics, as found now.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kafka_mirror.errors import MirrorError, RemoteNameUnusable
from kafka_mirror.kafka.model import Topic
from kafka_mirror.ledger.clusters import ledger_of
from kafka_mirror.policy import TopicSelection
from kafka_mirror.policy.selection import unusable

if TYPE_CHECKING:
    from kafka_mirror.config import Flow
    from kafka_mirror.kafka.cluster import Cluster


@dataclass(frozen=True)
class TopicChange:
    """A remote topic with the number of partitions that it is to have."""

    topic: str
    remote: str
    partitions: int


@dataclass(frozen=True)
class TopicChanges:
    """The outcome of the comparison; `unchanged` holds remote names, `errors` are by source topic."""

    create: tuple[TopicChange, ...]
    extend: tuple[TopicChange, ...]
    unchanged: tuple[str, ...]
    errors: Mapping[str, MirrorError]


def plan_topics(source_topics: Mapping[str, Topic], target_topics: Mapping[str, Topic], remote_names: Mapping[str, str]) -> TopicChanges:
    """Compares the selected source topics with the remote topics that exist; `remote_names` has the remote name of each.

    Partitions are only ever added, and a remote topic with more of them than its source stays so, as in MirrorMaker 2.
    """
    create: list[TopicChange] = []
    extend: list[TopicChange] = []
    unchanged: list[str] = []
    errors: dict[str, MirrorError] = {}
    for name, topic in sorted(source_topics.items()):
        remote = remote_names[name]
        complaint = unusable(remote)
        wanted = TopicChange(name, remote, len(topic.partitions))
        if complaint:
            errors[name] = RemoteNameUnusable(name, remote, complaint)
        elif remote not in target_topics:
            create.append(wanted)
        elif len(target_topics[remote].partitions) < wanted.partitions:
            extend.append(wanted)
        else:
            unchanged.append(remote)
    return TopicChanges(tuple(create), tuple(extend), tuple(unchanged), errors)


def find_orphans(selection: TopicSelection, source_names: Collection[str], target_names: Collection[str]) -> dict[str, str]:
    """Remote topics of this flow whose upstream topic the source does not show, with the upstream's name.

    Where a policy keeps the name, nothing on the target says that a topic came from the source, so it is not listed. Neither is what the
    flow would not mirror anyway.
    """
    upstreams = {remote: selection.upstream(remote) for remote in sorted(target_names)}
    return {remote: name for remote, name in upstreams.items() if name is not None and name != remote and name not in source_names}


@dataclass(frozen=True)
class TopicDiff:
    """The remote topics that exist, by their source topics, and what they lack. A topic with an error is in neither."""

    existing: Mapping[str, Topic]
    changes: TopicChanges


def compare_topics(flow: "Flow", selection: TopicSelection, topics: Mapping[str, Topic], target: "Cluster") -> TopicDiff:
    """Looks for the remote topics of selected source topics. What the target hides is an error of that topic, and so is a remote name that
    another topic has too, unless the ledger has the topic: the right to create topics stops none that is mirrored."""
    names = {name: selection.remote(name) for name in topics}
    shared = selection.with_shared_remote_name(topics)
    if shared:
        shared = selection.with_shared_remote_name(topics, _select_mirrored(flow, target))
    refused: dict[str, MirrorError] = {}
    there = target.topics(names.values(), refused)
    left_out = {**shared, **{name: refused[remote] for name, remote in names.items() if remote in refused}}
    changes = plan_topics({name: topic for name, topic in topics.items() if name not in left_out}, there, names)
    errors = {**left_out, **changes.errors}
    existing = {name: there[remote] for name, remote in names.items() if remote in there and name not in errors}
    return TopicDiff(existing, replace(changes, errors=errors))


def _select_mirrored(flow: "Flow", target: "Cluster") -> set[str]:
    ledger = ledger_of(flow, target)
    return {tp.topic for tp in ledger.read().records} if ledger.topic_id() is not None else set()
