"""What our own connections say of a cluster: a clean answer, or none at all, for librdkafka's client to ask again."""

import pytest
from kafka.protocol.consumer import FetchRequest, ListOffsetsRequest
from kafka.protocol.metadata import ApiVersionsRequest, MetadataRequest

from mirror.kafka import cluster_connections
from mirror.kafka.cluster_answers import EARLIEST, LATEST
from mirror.kafka.cluster_connections import ClusterConnections, OffsetQuestion
from mirror.kafka.model import End, Partition
from mirror.kafka.record_builder import keyed_batches
from mirror.offsets.partition import TopicPartition
from tests.unit.copy.batches.wire_broker import WireBroker
from tests.unit.copy.batches.wire_protocol import FENCED_LEADER_EPOCH, KAFKA_2_8, UNKNOWN_TOPIC_OR_PARTITION

ORDERS, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1)
START, STABLE, END = OffsetQuestion(EARLIEST), OffsetQuestion(LATEST, committed=True), OffsetQuestion(LATEST)


@pytest.fixture
def broker():
    made = WireBroker()
    made.log(*ORDERS).epoch = 3
    for key, value in ((b"a", b"1"), (b"b", b"2"), (b"a", b"3")):
        (batch,) = keyed_batches([(key, value)], 1000)
        made.log(*ORDERS).append(bytes(batch.data))
    made.log(*OTHER)
    yield made
    made.close()


@pytest.fixture
def connections(broker, monkeypatch):
    monkeypatch.setattr(cluster_connections, "_SECONDS", 0.5)
    made = ClusterConnections("west", broker.settings, 30.0)
    yield made
    made.close()


def test_topics_come_with_their_partitions_over_one_connection(connections, broker):
    (orders,) = connections.topics(["orders"])
    assert orders.topic.partitions == (Partition(0, 1, (1,), (1,)), Partition(1, 1, (1,), (1,)))
    assert connections.cluster_id() == "W"
    assert [request.allow_auto_topic_creation for request in broker.of(MetadataRequest)] == [False, False]


def test_the_id_that_counts_is_that_of_a_broker_where_clients_end(connections, broker):
    assert (connections.advertised_cluster_id(), len(broker.of(MetadataRequest))) == ("W", 1)
    assert (connections.advertised_cluster_id(), len(broker.of(MetadataRequest))) == ("W", 1), "what is known is not asked again"
    other = WireBroker()
    other.cluster_id = "of another cluster"
    try:
        broker.advertised_port = other.port
        connections.topics(["orders"])
        assert connections.advertised_cluster_id() == "of another cluster"
        assert connections.cluster_id() == "W"
    finally:
        other.close()


@pytest.mark.parametrize("versions", [{}, KAFKA_2_8])
def test_all_questions_are_asked_at_once_in_their_order_with_the_leader_epoch(connections, broker, versions):
    broker.versions.update(versions)
    start, stable, end = connections.offsets([ORDERS, OTHER], [START, STABLE, END])
    assert (start, stable, end) == ({ORDERS: End(0, 3), OTHER: End(0, 0)}, end, {ORDERS: End(3, 3), OTHER: End(0, 0)})
    requests = broker.of(ListOffsetsRequest)
    assert [(request.topics[0].partitions[0].timestamp, request.isolation_level) for request in requests] == [(-2, 0), (-1, 1), (-1, 0)]
    assert [row.current_leader_epoch for row in requests[0].topics[0].partitions] == [3, 0]


def test_a_partition_of_another_leader_is_left_out_and_its_leader_is_asked_for_again(connections, broker):
    assert connections.offsets([ORDERS, OTHER], [END]) == [{ORDERS: End(3, 3), OTHER: End(0, 0)}]
    broker.log(*ORDERS).epoch = 4
    assert connections.offsets([ORDERS, OTHER], [END]) == [{OTHER: End(0, 0)}]
    assert connections.offsets([ORDERS, OTHER], [END]) == [{ORDERS: End(3, 4), OTHER: End(0, 0)}]


def test_a_partition_that_nobody_leads_is_left_out_and_looked_for_again(connections, broker):
    late = TopicPartition("orders", 2)
    assert connections.offsets([OTHER, late], [END]) == [{OTHER: End(0, 0)}]
    broker.log(*late)
    assert connections.offsets([OTHER, late], [END]) == [{OTHER: End(0, 0), late: End(0, 0)}]


def test_a_refused_partition_is_left_out(connections, broker):
    broker.refusals[ListOffsetsRequest, ORDERS].append(FENCED_LEADER_EPOCH)
    assert connections.offsets([ORDERS, OTHER], [END]) == [{OTHER: End(0, 0)}]


def test_records_are_those_of_the_range(connections):
    records = connections.records({ORDERS: (1, 3), OTHER: (0, 0)})
    assert [(str(record), record.key, record.value) for record in records] == [("orders-0@1", b"b", b"2"), ("orders-0@2", b"a", b"3")]


def test_records_of_an_aborted_transaction_are_none(connections, broker):
    (batch,) = keyed_batches([(b"c", b"4")], 1000)
    header, rest = batch.by_producer(7, 0, 0)
    broker.log(*ORDERS).append(header + bytes(rest))
    broker.log(*ORDERS).aborted.append((7, 3))
    assert [record.offset for record in connections.records({ORDERS: (0, 4)})] == [0, 1, 2]


def test_a_range_whose_end_is_not_there_has_no_clean_answer(connections):
    assert connections.records({ORDERS: (0, 4)}) is None


def test_records_with_a_wrong_checksum_have_no_clean_answer(connections, broker):
    spoilt = bytearray(broker.log(*ORDERS).batches[1])
    spoilt[-1] ^= 1
    broker.log(*ORDERS).batches[1] = bytes(spoilt)
    assert connections.records({ORDERS: (0, 3)}) is None


def test_records_that_are_refused_have_no_clean_answer(connections, broker):
    broker.refusals[FetchRequest, ORDERS].append(UNKNOWN_TOPIC_OR_PARTITION)
    assert connections.records({ORDERS: (0, 3)}) is None
    assert len(connections.records({ORDERS: (0, 3)})) == 3


def test_an_error_of_one_topic_leaves_all_of_them_to_the_other_client_and_the_next_question_is_asked(connections, broker):
    broker.refusals[MetadataRequest, None].append(UNKNOWN_TOPIC_OR_PARTITION)
    assert connections.topics(["orders"]) is None
    assert connections.topics(["orders"]) is not None


def test_a_broken_connection_is_opened_anew_for_the_next_question(connections, broker):
    assert connections.cluster_id() == "W"
    broker.hang_up()
    assert connections.cluster_id() is None
    assert connections.cluster_id() == "W"


def test_a_broker_that_says_nothing_is_not_asked_for_ever(connections, broker):
    broker.is_silent_on = MetadataRequest
    assert [connections.cluster_id() for _ in range(4)] == [None] * 4
    assert len(broker.of(MetadataRequest)) == 2


def test_a_cluster_that_cannot_be_reached_has_no_answer(broker):
    broker.close()
    away = ClusterConnections("west", broker.settings, 30.0)
    assert (away.cluster_id(), away.topics(None), away.offsets([ORDERS], [END]), away.records({ORDERS: (0, 1)})) == (None,) * 4


def test_settings_that_are_not_understood_here_have_no_answer(broker):
    unknown = {**broker.settings, "security.protocol": "sasl_plaintext", "sasl.mechanism": "GSSAPI"}
    assert ClusterConnections("west", unknown, 30.0).cluster_id() is None


def test_connecting_ahead_leaves_one_connection_for_the_first_question(connections, broker):
    connections.open_ahead()
    assert connections.topics(["orders"]) is not None
    assert len(broker.of(ApiVersionsRequest)) == 1
