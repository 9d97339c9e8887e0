"""What is made of Kafka's answers about the producers of partitions."""

import pytest
from kafka.protocol.admin import DescribeProducersRequest, DescribeProducersResponse
from kafka.protocol.metadata import MetadataRequest

from kafka_mirror.errors import AuthorizationRefused, ClusterUnreachable, KafkaFailure
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import ActiveProducer
from kafka_mirror.kafka.producers import active_producers
from tests.unit.copy.batches.wire_protocol import KAFKA_2_1

ORDERS, HIDDEN, ODD = (TopicPartition(name, 0) for name in ("orders", "hidden", "odd"))
CODES = {"hidden": 29, "odd": 6}


def tell(request):
    of_topic = DescribeProducersResponse.TopicResponse
    of_partition = of_topic.PartitionResponse
    busy = {"producer_id": 7, "producer_epoch": 1, "last_timestamp": 1_000, "current_txn_start_offset": 0}
    idle = {"producer_id": 8, "producer_epoch": 0, "last_timestamp": -1, "current_txn_start_offset": -1}
    rest = {"last_sequence": 0, "coordinator_epoch": 0}
    producers = [of_partition.ProducerState(**each, **rest) for each in (busy, idle)]
    topics = [
        of_topic(
            name=topic.name,
            partitions=[
                of_partition(partition_index=number, error_code=CODES.get(topic.name, 0), error_message=None, active_producers=producers)
                for number in topic.partition_indexes
            ],
        )
        for topic in request.topics
    ]
    return DescribeProducersResponse(topics=topics)


@pytest.fixture
def broker(broker):
    for tp in (ORDERS, HIDDEN, ODD):
        broker.log(*tp)
    broker.answers[DescribeProducersRequest] = tell
    return broker


@pytest.fixture
def cluster(broker):
    with Cluster("east", broker.settings, 0.5) as made:
        yield made


def test_producers_are_known_by_partition_and_a_topic_that_fails_is_told_apart(cluster, broker):
    refused = {}
    found = active_producers(cluster, [HIDDEN, ORDERS, ODD], refused)
    assert found == {ORDERS: (ActiveProducer(7, 1, 1_000, 0), ActiveProducer(8, 0, None, None))}
    assert {name: type(error) for name, error in refused.items()} == {"hidden": AuthorizationRefused, "odd": KafkaFailure}


def test_a_topic_that_is_gone_is_told_apart_too(cluster, broker):
    refused = {}
    assert active_producers(cluster, [TopicPartition("gone", 0)], refused) == {}
    assert refused["gone"].reason == "UNKNOWN_TOPIC_OR_PARTITION"


def test_what_a_broker_leads_that_is_too_old_to_tell_is_left_out_and_no_error(cluster, broker):
    broker.versions.update(KAFKA_2_1)
    refused = {}
    assert active_producers(cluster, [ORDERS], refused) == {}
    assert refused == {}


def test_an_answer_about_other_partitions_is_none(cluster, broker):
    broker.answers[DescribeProducersRequest] = lambda _request: DescribeProducersResponse(topics=[])
    with pytest.raises(KafkaFailure, match="other partitions"):
        active_producers(cluster, [ORDERS], {})


def test_a_cluster_that_cannot_be_asked_is_an_error():
    with pytest.raises(ClusterUnreachable):
        active_producers(Cluster("east", {"bootstrap.servers": "127.0.0.1:1"}, 0.5), [ORDERS], {})


def test_no_partitions_ask_nobody(cluster, broker):
    assert active_producers(cluster, [], {}) == {}
    assert broker.of(MetadataRequest) == []
