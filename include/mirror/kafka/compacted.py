"""The mirror's own compacted topics on the target, the ledger and the control topic: creating them, and checking that they are safe."""

import time

from mirror.errors import DeadlineExceeded, LedgerUnsuitable
from mirror.kafka.cluster import Cluster
from mirror.kafka.creating import create_topic
from mirror.kafka.model import NewTopic, Topic

CONFIGS = {"cleanup.policy": "compact", "segment.ms": "300000"}


def create(target: Cluster, name: str, partitions: int, replication_factor: int) -> Topic:
    """Creates the topic, as `create_topic` does."""
    return create_topic(target, NewTopic(name, partitions, replication_factor, CONFIGS))


def check(target: Cluster, topic: Topic) -> None:
    """Raises LedgerUnsuitable where the brokers would delete what is in the topic.

    One broker may name a topic that was just created while another does not know it yet, so its configs are asked for until they come.
    """
    deadline = time.monotonic() + target.timeout
    while (configs := target.configs([topic.name]).get(topic.name)) is None:
        if time.monotonic() > deadline:
            raise DeadlineExceeded(
                f"The brokers of '{target.alias}' name the topic {topic.name} and not its configs, after {target.timeout:g} s.",
                topic=topic.name,
                next="Look at the target's brokers; the next run goes on by itself.",
            )
        time.sleep(0.05)
    policy = configs["cleanup.policy"].value or ""
    if policy != "compact":
        raise LedgerUnsuitable(topic.name, "cleanup.policy", policy, "compact")
