"""Connections that this process keeps and that lead to a broker that is cut off: whoever doubts its answer asks another one."""

import pytest

from kafka_mirror.errors import StaleAnswer
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.bootstrap_servers import asking_on, beginning_at
from kafka_mirror.kafka.broker_connection import BrokerConnection
from kafka_mirror.kafka.client_login import python_settings
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.idle_connections import IDLE, login_of
from tests.unit.copy.batches.conftest import batch_of
from tests.unit.copy.batches.wire_broker import WireBroker

ORDERS = TopicPartition("orders", 0)
TOLD, TRUE = 3, 12


def broker(records):
    made = WireBroker()
    made.log(*ORDERS)
    for _ in range(records // 3):
        made.log(*ORDERS).append(batch_of([b"value"] * 3))
    return made


@pytest.fixture
def settings():
    """Of a cluster of two addresses, behind both of which this process has a connection to the broker that is cut off."""
    deposed, true = broker(TOLD), broker(TRUE)
    ours = {"bootstrap.servers": f"127.0.0.1:{true.port},localhost:{true.port}"}
    for host in ("127.0.0.1", "localhost"):
        there = BrokerConnection(("127.0.0.1", deposed.port), python_settings(deposed.settings), 2.0)
        IDLE.put((host, true.port), login_of(ours), there)
    yield ours
    for each in (deposed, true):
        each.close()
    IDLE.close()


def end(settings):
    with Cluster("west", settings, 2.0) as cluster:
        return cluster.offsets([ORDERS], "latest")[ORDERS]


def test_a_connection_that_was_kept_is_used_until_somebody_doubts_what_comes_of_it(settings):
    assert end(settings) == TOLD
    assert end(beginning_at(settings, 1)) == TOLD


def test_who_asks_on_is_not_led_there_again(settings):
    def look(ours):
        found = end(ours)
        if found < TRUE:
            raise StaleAnswer(ORDERS, found, TRUE)
        return found

    assert asking_on(settings, look) == TRUE


def test_who_asks_every_server_is_not_led_there(settings):
    with Cluster("west", settings, 2.0) as cluster:
        answers, _ = cluster.ask_each_server(lambda server: server.offsets([ORDERS], "latest")[ORDERS])
    assert set(answers.values()) == {TRUE}
