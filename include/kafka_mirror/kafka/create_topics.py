"""Creating topics of the mirror's own so that they can be written to when the call returns.

The ledger and the control topic hold what must not be lost: whether brokers would delete any of it is checked too. Offset syncs,
checkpoints and heartbeats are made as MirrorMaker 2 makes them, or taken as they are.
"""

from collections.abc import Mapping

from kafka_mirror.errors import DeadlineExceeded, LedgerUnsuitable, MirrorError, TooFewBrokers
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import NewTopic, Topic
from kafka_mirror.kafka.polling import poll_until

_PAUSE_SECONDS = 0.05

LEDGER_CONFIGS = {"cleanup.policy": "compact", "segment.ms": "300000"}

BY_THE_HOUR = {"segment.ms": str(60 * 60 * 1000)}
"""For topics of which all is read again and again: by default a week of records, or a gigabyte, would stand uncompacted."""

LEDGER_FACTOR = "mirror.ledger.replication.factor"
HEARTBEATS_FACTOR = "heartbeats.topic.replication.factor"
CHECKPOINTS_FACTOR = "checkpoints.topic.replication.factor"
OFFSET_SYNCS_FACTOR = "offset-syncs.topic.replication.factor"


def check_replicas(cluster: Cluster, factors: Mapping[str, tuple[str, int]]) -> None:
    """Raises TooFewBrokers for those of the topics that are missing, each given with its property and replication factor, that the brokers
    would not create. Creates none of them."""
    outcomes = cluster.create_topics([NewTopic(name, 1, factor, {}) for name, (_, factor) in factors.items()], dry_run=True)
    refused = [factors[name] for name, failure in outcomes.items() if _has_too_many_replicas(failure)]
    if refused:
        raise TooFewBrokers(cluster.alias, [f"{setting}={factor}" for setting, factor in refused])


def _has_too_many_replicas(failure: MirrorError | None) -> bool:
    return getattr(failure, "reason", "") == "INVALID_REPLICATION_FACTOR"


def create_topic(cluster: Cluster, new: NewTopic, setting: str = "") -> Topic:
    """Creates the topic and waits until every partition has a leader. Does nothing harmful if someone else is faster: the topic is theirs.

    Raises TooFewBrokers where its replication factor is that of the property `setting`, what else the brokers say if it cannot be created,
    and DeadlineExceeded.
    """
    failure = cluster.create_topics([new])[new.name]

    def find_led() -> Topic | None:
        """The topic once every partition has a leader. Raises why it could not be created."""
        topic = cluster.topics([new.name]).get(new.name)
        if topic is None and failure is not None and getattr(failure, "reason", "") != "TOPIC_ALREADY_EXISTS":
            if setting and _has_too_many_replicas(failure):
                raise TooFewBrokers(cluster.alias, [f"{setting}={new.replication_factor}"])
            raise failure
        return topic if topic is not None and all(partition.leader is not None for partition in topic.partitions) else None

    topic = poll_until(find_led, cluster.timeout, every=_PAUSE_SECONDS)
    if topic is None:
        raise DeadlineExceeded(
            f"Cluster '{cluster.alias}': the topic {new.name} was created, but not every partition has a leader after "
            f"{cluster.timeout:g} s.",
            topic=new.name,
            next="Look at the brokers; the next run, or the same command again, goes on by itself.",
        )
    return topic


def create_compacted(target: Cluster, name: str, partitions: int, replication_factor: int) -> Topic:
    """Creates the topic, as `create_topic` does."""
    return create_topic(target, NewTopic(name, partitions, replication_factor, LEDGER_CONFIGS), LEDGER_FACTOR)


def check_compacted(target: Cluster, topic: Topic) -> None:
    """Raises LedgerUnsuitable where the brokers would delete what is in the topic.

    One broker may name a topic that was just created while another does not know it yet, so its configs are asked for until they come.
    """
    configs = poll_until(lambda: target.configs([topic.name]).get(topic.name), target.timeout, every=_PAUSE_SECONDS)
    if configs is None:
        raise DeadlineExceeded(
            f"The brokers of '{target.alias}' name the topic {topic.name} and not its configs, after {target.timeout:g} s.",
            topic=topic.name,
            next="Look at the target's brokers; the next run goes on by itself.",
        )
    policy = configs["cleanup.policy"].value or ""
    if policy != "compact":
        raise LedgerUnsuitable(topic.name, "cleanup.policy", policy, "compact")


def ensure_internal_topic(
    cluster: Cluster, name: str, replication_factor: int, setting: str, more: Mapping[str, str] | None = None
) -> None:
    """Creates the topic as MirrorMaker 2 does (one partition, compacted; `more` are further configs) where it is missing, and waits until
    it has a leader. `setting` is the property of its replication factor.

    Who may not create topics finds one that another made, as in MirrorMaker 2. The settings of a topic that is there are left alone.
    Raises TooFewBrokers, and what else the brokers say if it is missing and cannot be created.
    """
    refused: dict[str, MirrorError] = {}
    topic = cluster.topics([name], refused).get(name)
    # One that may not even be described is taken to be there: writing will tell.
    if name not in refused and (topic is None or topic.partitions[0].leader is None):
        create_topic(cluster, NewTopic(name, 1, replication_factor, {"cleanup.policy": "compact", **(more or {})}), setting)
