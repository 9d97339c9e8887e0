"""The topics of MirrorMaker 2's own that others read too: offset syncs, checkpoints, heartbeats."""

from collections.abc import Mapping

from mirror.errors import KafkaFailure, MirrorError
from mirror.kafka.cluster import Cluster
from mirror.kafka.creating import create_topic
from mirror.kafka.model import NewTopic

CONFIGS = {"cleanup.policy": "compact"}
BY_THE_HOUR = {"segment.ms": str(60 * 60 * 1000)}
"""For topics of which all is read again and again: by default a week of records, or a gigabyte, would stand uncompacted."""
_FEWER_REPLICAS = (
    "Set its replication factor (heartbeats.topic.replication.factor, and likewise checkpoints.… and offset-syncs.…) to no more than the "
    "number of brokers, or to -1 for their default."
)


def ensure(cluster: Cluster, name: str, replication_factor: int, more: Mapping[str, str] | None = None) -> None:
    """Creates the topic as MirrorMaker 2 does (one partition, compacted; `more` are further configs) where it is missing, and waits until
    it has a leader.

    Who may not create topics finds one that another made, as in MirrorMaker 2. The settings of a topic that is there are left alone.
    Raises what the brokers say if it is missing and cannot be created.
    """
    if _led(cluster, name):
        return
    try:
        create_topic(cluster, NewTopic(name, 1, replication_factor, {**CONFIGS, **(more or {})}))
    except KafkaFailure as failure:
        if failure.reason == "INVALID_REPLICATION_FACTOR":
            failure.next = _FEWER_REPLICAS
        raise


def _led(cluster: Cluster, name: str) -> bool:
    """Whether the topic is there with a leader. One that may not even be described is taken to be there: writing will tell."""
    refused: dict[str, MirrorError] = {}
    topic = cluster.topics([name], refused).get(name)
    return name in refused or (topic is not None and topic.partitions[0].leader is not None)
