"""Connections to a broker that speaks the protocol: patient while they are opened, and never mended."""

import fcntl
import resource
import socket
import time

import pytest
from kafka.protocol.metadata import FindCoordinatorRequest, MetadataRequest

from mirror.errors import AuthorizationRefused, ClusterUnreachable, KafkaFailure
from mirror.kafka.broker_pool import BrokerPool, receive
from mirror.offsets.partition import TopicPartition
from tests.unit.copy.batches.wire_broker import WireBroker

ORDERS = TopicPartition("orders", 0)
FD_SETSIZE = 1024
"""More file descriptors than select() knows."""
LEADER_NOT_AVAILABLE, TOPIC_AUTHORIZATION_FAILED, COORDINATOR_NOT_AVAILABLE = 5, 29, 15


@pytest.fixture
def broker():
    made = WireBroker()
    made.log(*ORDERS).epoch = 3
    yield made
    made.close()


@pytest.fixture
def pool(broker):
    made = BrokerPool("west", broker.settings, 2.0)
    yield made
    made.close()


def test_leaders_are_told_with_their_epoch_and_are_connected_once(pool, broker):
    broker.log("orders", 1)
    leaders = pool.leaders([ORDERS, TopicPartition("orders", 1)])
    assert {tp: leader[:2] for tp, leader in leaders.items()} == {ORDERS: (1, 3), TopicPartition("orders", 1): (1, 0)}
    assert pool.to(1) is pool.some()
    assert len(pool.connections) == 1


def test_no_topic_is_created_by_asking_for_it(pool, broker):
    pool.leaders([ORDERS])
    assert [request.allow_auto_topic_creation for request in broker.of(MetadataRequest)] == [False]


def test_a_leader_that_is_being_elected_is_waited_for(pool, broker):
    broker.refusals[MetadataRequest, None].extend([LEADER_NOT_AVAILABLE] * 2)
    assert pool.leaders([ORDERS])[ORDERS].node == 1


def test_a_coordinator_that_moves_is_waited_for(pool, broker):
    broker.refusals[FindCoordinatorRequest, None].extend([COORDINATOR_NOT_AVAILABLE] * 2)
    assert pool.coordinator("mirror.4.east.1.0") == 1


def test_a_partition_that_never_appears_is_an_error_in_the_end(broker):
    pool = BrokerPool("west", broker.settings, 0.3)
    with pytest.raises(KafkaFailure, match="UNKNOWN_TOPIC_OR_PARTITION"):
        pool.leaders([TopicPartition("orders", 9)])


def test_what_we_may_not_see_is_said_at_once(pool, broker):
    broker.refusals[MetadataRequest, None].append(TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(AuthorizationRefused):
        pool.leaders([ORDERS])
    assert len(broker.of(MetadataRequest)) == 1


def test_the_second_bootstrap_server_is_asked_where_the_first_is_gone(broker):
    pool = BrokerPool("west", {"bootstrap.servers": f"127.0.0.1:1,127.0.0.1:{broker.port}"}, 2.0)
    assert pool.leaders([ORDERS])
    pool.close()


def test_a_cluster_that_is_gone_is_named_with_its_address():
    pool = BrokerPool("west", {"bootstrap.servers": "127.0.0.1:1"}, 0.3)
    with pytest.raises(ClusterUnreachable, match=r"Cluster 'west' did not answer at 127\.0\.0\.1:1"):
        pool.leaders([ORDERS])


def test_a_login_that_ends_soon_gets_a_new_connection_when_nothing_is_under_way(pool):
    pool.leaders([ORDERS])
    old = pool.to(1)
    old.renew_at = time.monotonic() - 1
    old.send(MetadataRequest(version=9, topics=[], allow_auto_topic_creation=False), lambda _: None)
    assert pool.to(1) is old
    receive([pool], 2.0)
    assert pool.to(1) is not old


def test_answers_are_handed_over_in_the_order_of_the_requests(pool):
    connection, found = pool.some(), []
    for number in range(3):
        connection.send(FindCoordinatorRequest(version=4, key_type=1, coordinator_keys=[f"{number}"]), found.append)
    while connection.in_flight:
        receive([pool], 2.0)
    assert [answer.coordinators[0].key for answer in found] == ["0", "1", "2"]


@pytest.fixture
def many_files():
    """Lets this process have file descriptors of any number up to 4096; a machine that allows fewer fails here."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4096), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_process_with_thousands_of_open_files_receives_answers(pool, many_files):
    connection = pool.some()
    connection._socket = socket.socket(fileno=fcntl.fcntl(connection._socket, fcntl.F_DUPFD, 2000))
    answers = []
    connection.send(MetadataRequest(version=9, topics=[], allow_auto_topic_creation=False), answers.append)
    deadline = time.monotonic() + 10
    while not answers and time.monotonic() < deadline:
        receive([pool], 1.0)
    assert [broker.node_id for broker in answers[0].brokers] == [1]
