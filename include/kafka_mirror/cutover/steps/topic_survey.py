"""Asks both clusters about the topics of a wave: configs, partitions, ACLs, and what the mirror may do with them."""

from collections.abc import Collection, Mapping, MutableMapping
from typing import TYPE_CHECKING

from kafka_mirror.config.policies import replication_policy
from kafka_mirror.cutover.steps.flow_settings import LackingRight
from kafka_mirror.cutover.steps.topic_settings import AclSides, TopicSides
from kafka_mirror.errors import AuthorizationRefused, MirrorError
from kafka_mirror.kafka.acls import pattern_acls
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import LITERAL, PatternAcl, Topic
from kafka_mirror.policy import TopicSelection
from kafka_mirror.topics.topic_acls import remote_acls

if TYPE_CHECKING:
    from kafka_mirror.config import Flow

Errors = MutableMapping[str, MirrorError]


def readable_topics(source: Cluster, topics: Collection[str], refused: Errors) -> dict[str, Topic]:
    """The wave's topics that the mirror may read; those that it may not are in `refused`, by name."""
    return source.topics(topics, refused, operation="READ")


def survey_topics(
    topics: Mapping[str, Topic], selection: TopicSelection, source: Cluster, target: Cluster, refused: Errors
) -> list[TopicSides]:
    """Topics beside their remote topics, where these are there. What a cluster does not show of one is in `refused`."""
    remotes = {name: selection.remote(name) for name in topics}
    there = target.topics(remotes.values(), refused)
    configs = source.configs(topics, refused)
    remote_configs = target.configs(there, refused)
    return [
        TopicSides(
            name,
            remote,
            len(topics[name].partitions),
            len(there[remote].partitions),
            configs.get(name, {}),
            remote_configs.get(remote, {}),
        )
        for name, remote in sorted(remotes.items())
        if remote in there
    ]


def survey_acls(
    topics: Collection[str], selection: TopicSelection, source: Cluster, target: Cluster
) -> tuple[AclSides | None, tuple[LackingRight, ...]]:
    """The ACLs of both clusters; None, and the right that is lacking, where one of them does not show its ACLs."""
    sides: list[frozenset[PatternAcl] | None] = []
    for cluster in (source, target):
        try:
            sides.append(pattern_acls(cluster))
        except AuthorizationRefused:
            lacking = LackingRight(cluster.alias, "DESCRIBE", "the cluster", "comparing the ACLs of both sides", is_optional=True)
            return None, (lacking,)
    of_source, of_target = sides
    there = {binding.acl for binding in of_target or () if binding.pattern == LITERAL}
    wanted = remote_acls(of_source or (), selection)
    missing = {acl: topic for acl, topic in wanted.items() if topic in topics and acl not in there}
    return AclSides(of_source, of_target, missing, {topic: selection.display_name(topic) for topic in topics}), ()


def survey_rights(flow: "Flow", source: Cluster, target: Cluster, refused: Errors) -> tuple[LackingRight, ...]:
    """Rights that later steps need and that can be tested without writing. A control topic that may not be written is in `refused`."""
    operations = source.operations()
    lacking = []
    if "DESCRIBE" not in operations:
        purpose = "seeing all consumer groups: those that it may not describe are not in this plan"
        lacking.append(LackingRight(source.alias, "DESCRIBE", "the cluster", purpose, is_optional=True))
    if "ALTER" not in operations:
        lacking.append(LackingRight(source.alias, "ALTER", "the cluster", "a write fence by ACL", is_optional=True))
    target.topics([replication_policy(flow).control_topic(flow.source)], refused, operation="WRITE")
    return tuple(lacking)
