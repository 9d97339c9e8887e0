"""Connections that wait for the next who needs one: only those that are whole, and not for long."""

import os
import time

import pytest
from kafka.protocol.metadata import ApiVersionsRequest, MetadataRequest

from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.broker_pool import BrokerPool, ask_metadata
from kafka_mirror.kafka.idle_connections import IDLE, IdleConnections, login_of


@pytest.fixture
def broker(broker):
    broker.log("orders", 0)
    yield broker
    IDLE.close()


def used(broker, **settings):
    """What a pool of these settings opens, once it was let go of."""
    pool = BrokerPool("west", {**broker.settings, **settings}, 2.0)
    pool.find_leaders([TopicPartition("orders", 0)])
    (connection,) = pool.connections
    pool.release()
    return connection


def opened(broker):
    """How many connections were opened: each begins with this request."""
    return len(broker.of(ApiVersionsRequest))


def test_the_next_pool_goes_on_with_a_connection_that_was_let_go_of(broker):
    assert used(broker) is used(broker)
    assert opened(broker) == 1


@pytest.mark.parametrize("settings", [{"client.id": "lane-3"}, {"sasl.password": "another"}])
def test_a_connection_of_another_client_is_not_taken(broker, settings):
    used(broker)
    used(broker, **settings)
    assert opened(broker) == 2


def test_two_pools_never_share_one(broker):
    used(broker)
    pools = [BrokerPool("west", broker.settings, 2.0) for _ in range(2)]
    assert len({id(pool.pick_connection()) for pool in pools}) == 2


def test_a_connection_that_the_broker_closed_is_not_taken(broker):
    used(broker)
    broker.hang_up()
    time.sleep(0.05)
    assert used(broker) is not None
    assert opened(broker) == 2


def test_a_connection_with_a_question_under_way_is_closed(broker):
    broker.is_silent_on = MetadataRequest
    pool = BrokerPool("west", broker.settings, 0.2)
    with pytest.raises(TimeoutError):
        ask_metadata(pool.pick_connection(), ["orders"])
    (connection,) = pool.connections
    pool.release()
    assert connection.fileno() == -1
    assert IDLE.take(connection.address, login_of(broker.settings), 2.0) is None


def test_what_an_error_left_behind_is_closed(broker):
    pool = BrokerPool("west", broker.settings, 2.0)
    connection = pool.pick_connection()
    pool.close()
    assert connection.fileno() == -1
    used(broker)
    assert opened(broker) == 2


def test_answers_may_take_as_long_as_the_next_user_says(broker):
    used(broker)
    pool = BrokerPool("west", broker.settings, 7.0)
    assert pool.pick_connection().seconds == 7.0


def test_a_connection_that_nobody_takes_is_closed_after_a_while(broker):
    idle = IdleConnections(idle_seconds=0.05)
    connection = BrokerPool("west", broker.settings, 2.0).pick_connection()
    idle.put(connection.address, (), connection)
    deadline = time.monotonic() + 5
    while connection.fileno() >= 0 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert connection.fileno() == -1


def test_where_there_are_enough_the_one_that_waits_longest_is_closed(broker):
    """A worker that has asked many brokers goes on with those that it asked last."""
    idle = IdleConnections(most=2)
    first, second, third = (BrokerPool("west", broker.settings, 2.0).pick_connection() for _ in range(3))
    for connection in (first, second, third):
        idle.put(connection.address, (), connection)
    assert first.fileno() == -1
    assert [idle.take(third.address, (), 2.0) for _ in range(3)] == [third, second, None]


def test_a_login_that_ends_soon_is_not_used_again(broker):
    connection = used(broker)
    connection.renew_at = time.monotonic() - 1
    assert used(broker) is not connection


def test_a_child_process_does_not_use_its_parents_connections(broker):
    connection = used(broker)
    child = os.fork()
    if not child:
        os._exit(0 if IDLE.take(connection.address, login_of(broker.settings), 2.0) is None else 1)
    assert os.waitpid(child, 0)[1] == 0
