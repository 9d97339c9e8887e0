"""The mirror's own topics on a cluster whose brokers do not all know yet what was just created."""

import pytest

from kafka_mirror.errors import DeadlineExceeded, KafkaFailure, LedgerUnsuitable
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

    def create_topics(self, topics):
        return {TOPIC.name: self.failure}

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
    assert compacted.create_compacted(SlowBrokers(unknowing=2, failure=exists), TOPIC.name, 1, 1) == TOPIC


def test_a_topic_that_the_target_does_not_create_is_the_targets_error():
    with pytest.raises(KafkaFailure, match="no room"):
        compacted.create_compacted(SlowBrokers(unknowing=1000, failure=KafkaFailure("no room"), timeout=0.2), TOPIC.name, 1, 1)
