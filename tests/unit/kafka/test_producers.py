"""What is made of Kafka's answers about the producers of partitions."""

from types import SimpleNamespace as Answer

import kafka.errors as errors
import pytest
from kafka import TopicPartition as ClientTopicPartition

from mirror.errors import AuthorizationRefused, KafkaFailure
from mirror.kafka import producers
from mirror.kafka.model import ActiveProducer
from mirror.offsets.partition import TopicPartition

ORDERS, HIDDEN, ODD = (TopicPartition(name, 0) for name in ("orders", "hidden", "odd"))
IDLE = Answer(producer_id=8, producer_epoch=0, last_timestamp=-1, current_transaction_start_offset=-1)
BUSY = Answer(producer_id=7, producer_epoch=1, last_timestamp=1_000, current_transaction_start_offset=0)


class Client:
    """Stands in for the client library."""

    closed = 0

    def describe_producers(self, partitions):
        (partition,) = partitions
        if partition.topic == "hidden":
            raise errors.TopicAuthorizationFailedError
        if partition.topic == "odd":
            raise errors.NotLeaderForPartitionError
        return {ClientTopicPartition("orders", 0): Answer(active_producers=[BUSY, IDLE])}

    def close(self):
        self.closed += 1


@pytest.fixture
def cluster():
    return Answer(alias="east", timeout=1.0, cluster_id=lambda: "id")


@pytest.fixture
def client(monkeypatch):
    made = Client()
    monkeypatch.setattr(producers, "KafkaAdminClient", lambda **_: made)
    return made


def test_producers_are_known_by_partition_and_a_topic_that_fails_is_told_apart(client, cluster):
    refused = {}
    found = producers.active_producers(cluster, {"bootstrap.servers": "h:1"}, [HIDDEN, ORDERS, ODD], refused)
    assert found == {ORDERS: (ActiveProducer(7, 1, 1_000, 0), ActiveProducer(8, 0, None, None))}
    assert {name: type(error) for name, error in refused.items()} == {"hidden": AuthorizationRefused, "odd": KafkaFailure}
    assert client.closed == 1


def test_a_cluster_that_cannot_be_asked_is_an_error(monkeypatch, cluster):
    def refuses(**_settings):
        raise errors.KafkaTimeoutError

    monkeypatch.setattr(producers, "KafkaAdminClient", refuses)
    with pytest.raises(KafkaFailure, match="asking for the producers failed"):
        producers.active_producers(cluster, {"bootstrap.servers": "h:1"}, [ORDERS], {})


def test_no_partitions_ask_nobody(cluster):
    assert producers.active_producers(cluster, {}, [], {}) == {}
