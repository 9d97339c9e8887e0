"""The mirror's own topics on a cluster whose brokers do not all know yet what was just created."""

import pytest

from kafka_mirror.errors import DeadlineExceeded, KafkaFailure, LedgerUnsuitable, TooFewBrokers
from kafka_mirror.kafka import create_topics as compacted
from kafka_mirror.kafka.model import ConfigEntry, Partition, Topic

TOPIC = Topic("mm2-ledger.east.internal", "id", (Partition(0, 1, (1,), (1,)),))
COMPACT = {"cleanup.policy": ConfigEntry("cleanup.policy", "compact", "DYNAMIC_TOPIC_CONFIG", False, False)}
DELETE = {"cleanup.policy": ConfigEntry("cleanup.policy", "delete", "DEFAULT_CONFIG", False, False)}


class SlowBrokers:
    """Each question goes to another broker; the first ones know nothing."""

    alias = "west"

    def __init__(self, unknowing=0, configs=COMPACT, failure=None, timeout=60.0):
        self.timeout = timeout
        self.unknowing = unknowing
        self.known = configs
        self.failure = failure

    def _knows(self):
        self.unknowing -= 1
        return self.unknowing < 0

    def create_topics(self, topics, dry_run=False):
        return {topic.name: self.failure if topic.replication_factor > 1 else None for topic in topics}

    def topics(self, names):
        return {TOPIC.name: TOPIC} if self._knows() else {}

    def configs(self, names):
        return {TOPIC.name: self.known} if self._knows() else {}


def test_configs_that_one_broker_does_not_know_yet_are_asked_for_again():
    compacted.check_compacted(SlowBrokers(unknowing=2), TOPIC)


def test_configs_that_never_come_are_an_error_that_is_retried():
    with pytest.raises(DeadlineExceeded, match=r"mm2-ledger\.east\.internal"):
        compacted.check_compacted(SlowBrokers(unknowing=1000, timeout=0.2), TOPIC)


def test_another_policy_is_refused():
    with pytest.raises(LedgerUnsuitable, match=r"cleanup\.policy=delete"):
        compacted.check_compacted(SlowBrokers(configs=DELETE), TOPIC)


def test_a_topic_that_somebody_else_created_first_is_waited_for():
    exists = KafkaFailure("exists", reason="TOPIC_ALREADY_EXISTS")
    assert compacted.create_compacted(SlowBrokers(unknowing=2, failure=exists), TOPIC.name, 1, 2) == TOPIC


def test_a_topic_that_the_target_does_not_create_is_the_targets_error():
    with pytest.raises(KafkaFailure, match="no room"):
        compacted.create_compacted(SlowBrokers(unknowing=1000, failure=KafkaFailure("no room"), timeout=0.2), TOPIC.name, 1, 2)


MORE_REPLICAS_THAN_BROKERS = KafkaFailure("Cluster 'west': creating failed.", reason="INVALID_REPLICATION_FACTOR")


def test_more_replicas_than_brokers_are_the_property_and_are_not_tried_again():
    brokers = SlowBrokers(unknowing=1000, failure=MORE_REPLICAS_THAN_BROKERS)
    with pytest.raises(TooFewBrokers, match=r"mirror\.ledger\.replication\.factor=3") as refused:
        compacted.create_compacted(brokers, TOPIC.name, 1, 3)
    assert not refused.value.retriable


def test_every_property_that_asks_for_too_many_replicas_is_named_at_once():
    brokers = SlowBrokers(failure=MORE_REPLICAS_THAN_BROKERS)
    factors = {"heartbeats": ("of.heartbeats", 2), "syncs": ("of.syncs", 1), "checkpoints": ("of.checkpoints", 3)}
    with pytest.raises(TooFewBrokers) as refused:
        compacted.check_replicas(brokers, factors)
    assert refused.value.settings == ("of.heartbeats=2", "of.checkpoints=3")
