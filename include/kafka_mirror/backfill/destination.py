"""The topics that history goes to: which they are, whether they may be, and creating those that do not exist."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from kafka_mirror.config import Flow
from kafka_mirror.config.catalogue.mirror import REMOTE, TOPIC
from kafka_mirror.config.policies import config_property_filter, topic_selection
from kafka_mirror.errors import HistoryIntoCompacted, HistoryTopicRefused, KafkaFailure, MirrorError
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.create_topics import create_topic
from kafka_mirror.kafka.model import NewTopic, Topic, is_compacted
from kafka_mirror.ledger.record import LedgerRecord
from kafka_mirror.policy import TopicSelection
from kafka_mirror.policy.java_regex import compile_java
from kafka_mirror.policy.replication import is_ledger_or_control_topic
from kafka_mirror.policy.selection import unusable
from kafka_mirror.topics.config_diff import select_configs_to_create

KEPT_FOR_EVER = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
"""Of a topic that is made for history. Its records are old: by a retention of days they would be deleted at once."""

TopicId = tuple[str, str]
"""A topic of the target by its name and its id."""


@dataclass
class HistoryTopics:
    """The topics of the target that history goes to, by source topic. `errors` are by source topic too."""

    names: dict[str, str] = field(default_factory=dict)
    topics: dict[str, Topic] = field(default_factory=dict)
    errors: dict[str, MirrorError] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    to_create: dict[str, int] = field(default_factory=dict)
    """In a dry run: the topics that would be created, with their partitions."""


def history_topics(
    flow: Flow, source: Cluster, target: Cluster, wanted: Mapping[str, Topic], mirrored: Collection[str], into: str | None, dry_run: bool
) -> HistoryTopics:
    """Names the topics for the history of the wanted source topics, and creates and extends those that need it, unless it is a dry run.

    `mirrored` are all topics of the flow, whose remote topics take no other topic's history.
    """
    destination = HistoryTopics()
    selection = topic_selection(flow)
    pattern = into or flow.value("mirror.backfill.into")
    for topic in sorted(wanted):
        name = pattern.replace(REMOTE, selection.remote(topic)).replace(TOPIC, topic)
        why = _explain_refusal(flow, selection, topic, name, destination.names.values(), mirrored)
        if why:
            destination.errors[topic] = HistoryTopicRefused(topic, name, why)
        else:
            destination.names[topic] = name
    _look_up_existing(flow, target, destination)
    rest = {topic: wanted[topic] for topic in destination.names if topic not in destination.errors}
    _complete(flow, source, target, rest, destination, dry_run)
    return destination


def find_history_elsewhere(target: Cluster, records: Iterable[LedgerRecord]) -> frozenset[TopicId]:
    """The topics that hold history of these partitions, as far as they are still those that it was written into. One that may not be looked
    at counts as there."""
    noted = {(history_topic.topic, history_topic.topic_id) for record in records for history_topic in record.history_topics}
    refused: dict[str, MirrorError] = {}
    there = target.topics([name for name, _ in noted], refused) if noted else {}
    return frozenset((name, topic_id) for name, topic_id in noted if name in refused or (name in there and there[name].id == topic_id))


def _explain_refusal(flow: Flow, selection: TopicSelection, topic: str, name: str, taken: Iterable[str], mirrored: Collection[str]) -> str:
    """Why history of the topic may not go there; empty if it may."""
    if name == selection.remote(topic):
        return ""
    if complaint := unusable(name):
        return complaint
    if selection.policy.is_internal_topic(name) or is_ledger_or_control_topic(name):
        return "is an internal topic"
    if name in taken:
        return "takes the history of another topic"
    other = next((mirrored_topic for mirrored_topic in mirrored if selection.remote(mirrored_topic) == name), None)
    if other is not None:
        return f"is the remote topic of {other}"
    allowed = flow.value("mirror.backfill.into.allowed")
    if not any(compile_java(mirrored_topic).matches(name) for mirrored_topic in allowed):
        return f"does not match mirror.backfill.into.allowed ({', '.join(allowed) or 'empty'})"
    return ""


def _look_up_existing(flow: Flow, target: Cluster, destination: HistoryTopics) -> None:
    """Finds the topics that exist, and refuses those that are compacted."""
    refused: dict[str, MirrorError] = {}
    destination.topics = target.topics(destination.names.values(), refused)
    configs = target.configs(destination.topics, refused)
    for topic, name in destination.names.items():
        if name in refused:
            destination.errors[topic] = refused[name]
        elif name in configs:
            retention = configs[name]["retention.ms"].value
            if is_compacted(configs[name]):
                destination.errors[topic] = HistoryIntoCompacted(topic, None, name)
            elif retention not in (None, "-1") and name != topic_selection(flow).remote(topic):
                destination.notices.append(
                    f"{name} keeps records for {retention} ms (retention.ms) by their own timestamps: old history goes at once."
                )


def _complete(flow: Flow, source: Cluster, target: Cluster, wanted: Mapping[str, Topic], destination: HistoryTopics, dry_run: bool) -> None:
    missing = {topic: wanted[topic] for topic in wanted if destination.names[topic] not in destination.topics}
    short = {
        destination.names[topic]: len(wanted[topic].partitions)
        for topic in wanted
        if topic not in missing and len(destination.topics[destination.names[topic]].partitions) < len(wanted[topic].partitions)
    }
    if dry_run:
        destination.to_create = {destination.names[topic]: len(source_topic.partitions) for topic, source_topic in missing.items()}
        return
    configs = source.configs(missing, destination.errors)
    for topic, source_topic in missing.items():
        if topic in configs:
            carried = select_configs_to_create(configs[topic], config_property_filter(flow))
            new = NewTopic(
                destination.names[topic], len(source_topic.partitions), flow.value("replication.factor"), {**carried, **KEPT_FOR_EVER}
            )
            try:
                destination.topics[new.name] = create_topic(target, new, "replication.factor")
            except MirrorError as error:
                destination.errors[topic] = error
    for name, failure in target.create_partitions(short).items():
        if failure is not None and not (isinstance(failure, KafkaFailure) and failure.reason == "INVALID_PARTITIONS"):
            destination.errors |= {topic: failure for topic, remote in destination.names.items() if remote == name}
