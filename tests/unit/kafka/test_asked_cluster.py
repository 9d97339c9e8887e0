"""What a cluster that is asked over our own connections says of itself and of its logs, and with how much patience."""

import pytest
from kafka.protocol.consumer import FetchRequest, ListOffsetsRequest
from kafka.protocol.metadata import ApiVersionsRequest, MetadataRequest

from kafka_mirror.errors import AuthorizationRefused, ClusterUnreachable, KafkaFailure, TokenUnavailable
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka import asked_cluster
from kafka_mirror.kafka.asked_cluster import AskedCluster
from kafka_mirror.kafka.broker_pool import BrokerPool
from kafka_mirror.kafka.cluster_answers import EARLIEST, LATEST
from kafka_mirror.kafka.idle_connections import IDLE
from kafka_mirror.kafka.log_reader import stored_records
from kafka_mirror.kafka.model import End, Partition
from kafka_mirror.kafka.offset_questions import OffsetQuestion, ask_leaders
from kafka_mirror.kafka.produce_request import keyed_batches
from tests.unit.copy.batches.wire_broker import WireBroker
from tests.unit.copy.batches.wire_protocol import FENCED_LEADER_EPOCH, KAFKA_2_1, KAFKA_2_8, UNKNOWN_TOPIC_OR_PARTITION

ORDERS, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1)
UNKNOWN_SERVER_ERROR, LEADER_NOT_AVAILABLE, TOPIC_AUTHORIZATION_FAILED, OFFSET_NOT_AVAILABLE = -1, 5, 29, 78
READ, WRITE = 3, 4
START, STABLE, END = OffsetQuestion(EARLIEST), OffsetQuestion(LATEST, committed=True), OffsetQuestion(LATEST)


@pytest.fixture
def broker(broker):
    broker.log(*ORDERS).elect(0, epochs=3)
    for key, value in ((b"a", b"1"), (b"b", b"2"), (b"a", b"3")):
        (batch,) = keyed_batches([(key, value)], 1000)
        broker.log(*ORDERS).append(bytes(batch.data))
    broker.log(*OTHER)
    return broker


@pytest.fixture
def cluster(broker, monkeypatch):
    monkeypatch.setattr(asked_cluster, "_PAUSES", (0.0, 0.0))
    made = AskedCluster("west", broker.settings, 5.0)
    yield made
    made.close()


def test_topics_come_with_their_partitions_over_one_connection(cluster, broker):
    (orders,) = cluster.describe_topics(["orders"])
    assert orders.topic.partitions == (Partition(0, 1, (1,), (1,)), Partition(1, 1, (1,), (1,)))
    assert cluster.cluster_id() == "W"
    assert [request.allow_auto_topic_creation for request in broker.of(MetadataRequest)] == [False]


def test_the_id_that_counts_is_that_of_a_broker_where_clients_end(cluster, broker):
    assert (cluster.find_ids(), len(broker.of(MetadataRequest))) == ({"W"}, 1)
    assert (cluster.find_ids(), len(broker.of(MetadataRequest))) == ({"W"}, 1), "what is known is not asked again"
    other = WireBroker()
    other.cluster_id = "of another cluster"
    try:
        broker.advertised_port = other.port
        cluster.describe_topics(["orders"])
        assert cluster.find_ids() == {"W", "of another cluster"}
    finally:
        other.close()


@pytest.mark.parametrize("versions", [{}, KAFKA_2_8, KAFKA_2_1])
def test_all_questions_are_asked_at_once_in_their_order_with_the_leader_epoch(cluster, broker, versions):
    broker.versions.update(versions)
    answers, refused = cluster.list_offsets([ORDERS, OTHER], [START, STABLE, END])
    end = {ORDERS: End(3, 3), OTHER: End(0, 0)}
    assert (answers, refused) == ([{ORDERS: End(0, 3), OTHER: End(0, 0)}, end, end], {})
    requests = broker.of(ListOffsetsRequest)
    assert [(request.topics[0].partitions[0].timestamp, request.isolation_level) for request in requests] == [(-2, 0), (-1, 1), (-1, 0)]
    assert [row.current_leader_epoch for row in requests[0].topics[0].partitions] == [3, 0]


def test_brokers_before_2_8_tell_topics_without_ids(cluster, broker):
    (of_today,) = cluster.describe_topics(["orders"])
    cluster.close()
    IDLE.close()
    broker.versions.update(KAFKA_2_1)
    (orders,) = cluster.describe_topics(["orders"])
    assert (orders.topic.partitions, orders.leaders) == (of_today.topic.partitions, of_today.leaders)
    assert {orders.id} == {"A" * 22}
    assert orders.permits(3)


def test_a_partition_whose_leader_moves_is_asked_for_again_with_all_questions_and_no_other_one(cluster, broker):
    broker.refusals[ListOffsetsRequest, ORDERS].extend([0, 0, FENCED_LEADER_EPOCH])
    answers, refused = cluster.list_offsets([ORDERS, OTHER], [START, STABLE, END])
    assert ([answer[ORDERS] for answer in answers], refused) == ([End(0, 3), End(3, 3), End(3, 3)], {})
    assert [len(request.topics[0].partitions) for request in broker.of(ListOffsetsRequest)] == [2, 2, 2, 1, 1, 1]


def test_a_leader_is_looked_for_again_when_it_has_moved(cluster, broker):
    assert cluster.list_offsets([ORDERS, OTHER], [END]).answers == [{ORDERS: End(3, 3), OTHER: End(0, 0)}]
    broker.log(*ORDERS).epoch = 4
    assert cluster.list_offsets([ORDERS, OTHER], [END]).answers == [{ORDERS: End(3, 4), OTHER: End(0, 0)}]


def test_whoever_waits_for_leaders_itself_is_answered_at_once(cluster, broker):
    broker.refusals[ListOffsetsRequest, ORDERS].append(FENCED_LEADER_EPOCH)
    assert cluster.list_offsets([ORDERS, OTHER], [END], patient=False).answers == [{OTHER: End(0, 0)}]
    assert len(broker.of(ListOffsetsRequest)) == 1


@pytest.mark.parametrize("code", [FENCED_LEADER_EPOCH, UNKNOWN_TOPIC_OR_PARTITION, OFFSET_NOT_AVAILABLE])
def test_a_partition_whose_leader_goes_on_moving_is_absent(cluster, broker, code):
    broker.refusals[ListOffsetsRequest, ORDERS].extend([code] * 3)
    assert cluster.list_offsets([ORDERS, OTHER], [END]) == ([{OTHER: End(0, 0)}], {})


def test_what_is_gone_is_absent_without_patience(cluster, broker):
    gone, other = TopicPartition("gone", 0), TopicPartition("orders", 2)
    assert cluster.list_offsets([gone, OTHER, other], [END]) == ([{OTHER: End(0, 0)}], {})
    assert len(broker.of(ListOffsetsRequest)) == 1


def test_what_stands_there_by_the_next_question_is_found(cluster, broker):
    late = TopicPartition("orders", 2)
    assert cluster.list_offsets([late], [END]).answers == [{}]
    broker.log(*late)
    assert cluster.list_offsets([late], [END]).answers == [{late: End(0, 0)}]


def test_what_a_leader_refuses_of_one_topic_hides_no_other(cluster, broker):
    pay = TopicPartition("pay", 0)
    broker.log(*pay)
    broker.refusals[ListOffsetsRequest, pay].append(UNKNOWN_SERVER_ERROR)
    assert cluster.list_offsets([pay, OTHER], [END]) == ([{OTHER: End(0, 0)}], {"pay": UNKNOWN_SERVER_ERROR})


def test_a_leader_that_is_gone_costs_its_own_partitions_alone(cluster, broker):
    other = WireBroker()
    try:
        other.log(*OTHER)
        leaders = {1: {ORDERS: 3}, 2: {OTHER: 0}}
        pool = BrokerPool("west", broker.settings, 5.0)
        pool.learn({1: ("127.0.0.1", broker.port), 2: ("127.0.0.1", other.port)})
        assert [len(answer) for answer in ask_leaders(pool, leaders, [END])[0]] == [2]
        other.hangs_up_on = ListOffsetsRequest
        listed, lost = ask_leaders(pool, leaders, [END])
        assert (list(listed[0]), type(lost)) == ([ORDERS], ConnectionResetError)
        other.close()
        listed, lost = ask_leaders(pool, leaders, [END])
        assert (list(listed[0]), type(lost)) == ([ORDERS], ConnectionRefusedError)
    finally:
        other.close()


def test_where_no_leader_can_be_reached_that_is_the_error(cluster, broker):
    broker.advertised_port = 1
    with pytest.raises(ClusterUnreachable, match=r"Connecting to '127\.0\.0\.1:1' failed: Connection refused"):
        cluster.list_offsets([ORDERS], [END])


def test_records_are_those_of_the_range(cluster):
    records = stored_records(cluster, cluster.settings, {ORDERS: (1, 3), OTHER: (0, 0)})
    assert [(str(record), record.key, record.value) for record in records] == [("orders-0@1", b"b", b"2"), ("orders-0@2", b"a", b"3")]


def test_a_batch_with_a_wrong_checksum_is_an_error_that_names_it(cluster, broker):
    spoilt = bytearray(broker.log(*ORDERS).batches[1])
    spoilt[-1] ^= 1
    broker.log(*ORDERS).batches[1] = bytes(spoilt)
    with pytest.raises(KafkaFailure, match=r"orders-0@1 cannot be read: its checksum"):
        stored_records(cluster, cluster.settings, {ORDERS: (0, 3)})


def test_a_refusal_that_passes_is_asked_again_and_another_one_is_the_error(cluster, broker):
    broker.refusals[FetchRequest, ORDERS].append(UNKNOWN_TOPIC_OR_PARTITION)
    assert len(stored_records(cluster, cluster.settings, {ORDERS: (0, 3)})) == 3
    broker.refusals[FetchRequest, ORDERS].append(TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(AuthorizationRefused, match="READ") as raised:
        stored_records(cluster, cluster.settings, {ORDERS: (0, 3)})
    assert raised.value.topic == "orders"


def test_topics_come_with_their_error_codes_and_one_that_passes_is_waited_for(cluster, broker):
    broker.refusals[MetadataRequest, None].extend([LEADER_NOT_AVAILABLE, TOPIC_AUTHORIZATION_FAILED])
    assert [(topic.name, topic.error_code) for topic in cluster.describe_topics(["orders"])] == [("orders", TOPIC_AUTHORIZATION_FAILED)]
    assert [(topic.name, topic.error_code) for topic in cluster.describe_topics(["gone"])] == [("gone", UNKNOWN_TOPIC_OR_PARTITION)]


def test_a_broken_connection_is_opened_anew(cluster, broker):
    assert [topic.name for topic in cluster.describe_topics(["orders"])] == ["orders"]
    broker.hang_up()
    assert [topic.name for topic in cluster.describe_topics(["orders"])] == ["orders"]


def test_a_cluster_that_cannot_be_reached_is_told_by_every_question(broker):
    broker.close()
    away = AskedCluster("west", broker.settings, 0.2)
    questions = (away.cluster_id, lambda: away.only_checks, lambda: away.describe_topics(None), lambda: away.list_offsets([ORDERS], [END]))
    for question in (
        *questions,
        lambda: away.describe_configs(["orders"], None),
        lambda: stored_records(away, away.settings, {ORDERS: (0, 1)}),
    ):
        with pytest.raises(ClusterUnreachable):
            question()
    assert away.find_epoch_ends({ORDERS: 0}) == {}


def test_without_a_login_nothing_is_asked(broker):
    unknown = {**broker.settings, "security.protocol": "sasl_plaintext", "sasl.mechanism": "GSSAPI"}
    with pytest.raises(TokenUnavailable):
        AskedCluster("west", unknown, 30.0).cluster_id()
    assert broker.of(ApiVersionsRequest) == []


def test_what_we_may_do_is_told_as_far_as_the_broker_tells(cluster, broker):
    (orders,) = cluster.describe_topics(["orders"], operations=True)
    assert orders.permits(READ)
    broker.operations = {WRITE}
    (orders,) = cluster.describe_topics(["orders"], operations=True)
    assert (orders.permits(READ), orders.permits(WRITE), cluster.list_operations()) == (False, True, {"WRITE"})


def test_connecting_ahead_leaves_one_connection_for_the_first_question(cluster, broker):
    cluster.open_ahead()
    assert cluster.describe_topics(["orders"]) is not None
    assert len(broker.of(ApiVersionsRequest)) == 1
