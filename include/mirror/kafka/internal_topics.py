"""The topics of MirrorMaker 2's own that others read too: offset syncs, checkpoints, heartbeats."""

import time
from collections.abc import Mapping

from mirror.errors import DeadlineExceeded, KafkaFailure, MirrorError
from mirror.kafka.cluster import Cluster
from mirror.kafka.model import NewTopic

CONFIGS = {"cleanup.policy": "compact"}
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
    failure = cluster.create_topics([NewTopic(name, 1, replication_factor, {**CONFIGS, **(more or {})})])[name]
    overtaken = isinstance(failure, KafkaFailure) and failure.reason == "TOPIC_ALREADY_EXISTS"
    deadline = time.monotonic() + cluster.timeout
    while not _led(cluster, name):
        if failure is not None and not overtaken:
            if isinstance(failure, KafkaFailure) and failure.reason == "INVALID_REPLICATION_FACTOR":
                failure.next = _FEWER_REPLICAS
            raise failure
        if time.monotonic() > deadline:
            raise DeadlineExceeded(
                f"Cluster '{cluster.alias}': the topic {name} has no leader after {cluster.timeout:g} s.",
                topic=name,
                next="Look at the brokers; the next run goes on by itself.",
            )
        time.sleep(0.05)


def _led(cluster: Cluster, name: str) -> bool:
    """Whether the topic is there with a leader. One that may not even be described is taken to be there: writing will tell."""
    refused: dict[str, MirrorError] = {}
    topic = cluster.topics([name], refused).get(name)
    return name in refused or (topic is not None and topic.partitions[0].leader is not None)
