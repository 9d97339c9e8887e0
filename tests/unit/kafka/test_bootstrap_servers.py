"""Asking on where a broker's answer is in doubt: each bootstrap server alone, and over new connections."""

from typing import Any

import pytest

from kafka_mirror.errors import ClusterUnreachable, DeadlineExceeded, LedgerDamaged, MirrorError, StaleAnswer
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.broker_connection import BrokerConnection
from kafka_mirror.kafka.broker_pool import ask_with_server, begin_at_server
from kafka_mirror.kafka.client_login import python_settings
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.idle_connections import IDLE, login_of
from tests.unit.copy.batches.conftest import batch_of
from tests.unit.copy.batches.wire_broker import WireBroker

SERVERS = "bootstrap.servers"
THREE = {"bootstrap.servers": "a:1,b:1,c:1", "client.id": "reader"}
LATE = DeadlineExceeded("the end was not reached")
STALE = StaleAnswer(("ledger", 0), 5, 8)
DOWN = ClusterUnreachable("west", "b:1", 5)


def asked(settings: dict[str, Any], *answers: MirrorError | str) -> tuple[str, list[str]]:
    """What comes of these answers, and who was asked."""
    left, servers = list(answers), []

    def look(settings: Any) -> str:
        servers.append(settings["bootstrap.servers"])
        answer = left.pop(0)
        if isinstance(answer, MirrorError):
            raise answer
        return answer

    try:
        return ask_with_server(settings, look), servers
    except MirrorError as error:
        return error.code, servers


@pytest.mark.parametrize("failure", [LATE, STALE])
def test_what_one_broker_does_not_have_is_asked_of_the_others_one_by_one(failure: MirrorError) -> None:
    assert asked(THREE, "all") == ("all", ["a:1,b:1,c:1"])
    assert asked(THREE, failure, "all") == ("all", ["a:1,b:1,c:1", "b:1"])
    assert asked(THREE, failure, DOWN, "all") == ("all", ["a:1,b:1,c:1", "b:1", "c:1"])


def test_what_nobody_has_is_the_error_of_who_was_asked_first() -> None:
    assert asked(THREE, LATE, DOWN, STALE, LATE) == ("DeadlineExceeded", ["a:1,b:1,c:1", "b:1", "c:1", "a:1"])
    assert asked({"bootstrap.servers": "a:1"}, LATE) == ("DeadlineExceeded", ["a:1"])


def test_what_asking_again_does_not_mend_is_said_at_once() -> None:
    assert asked(THREE, LedgerDamaged("ledger-0@3", "it is a tombstone"))[1] == ["a:1,b:1,c:1"]
    assert asked(THREE, DOWN)[1] == ["a:1,b:1,c:1"]
    assert asked(THREE, LATE, LedgerDamaged("ledger-0@3", "it is a tombstone")) == ("LedgerDamaged", ["a:1,b:1,c:1", "b:1"])


def begins_at(server):
    if server.settings[SERVERS] == "c:9092":
        raise ClusterUnreachable("east", "c:9092", 5, "connecting")
    return server.settings[SERVERS], server.timeout


def test_each_server_is_asked_alone_and_one_that_tells_nothing_is_told_apart():
    with Cluster("east", {SERVERS: "a:9092, b:9092,c:9092"}, 30) as cluster:
        answers, silent = cluster.ask_each_server(begins_at)
    assert {server: began for server, (began, _) in answers.items()} == {"a:9092": "a:9092", "b:9092": "b:9092"}
    assert all(seconds < cluster.timeout for _, seconds in answers.values()), "one that does not answer keeps nobody for long"
    assert [(server, type(error)) for server, error in silent.items()] == [("c:9092", ClusterUnreachable)]


def test_an_only_server_is_asked_as_it_is_and_what_it_says_is_raised():
    with Cluster("east", {SERVERS: "a:9092"}, 30) as cluster:
        assert cluster.ask_each_server(lambda server: server is cluster) == ({"a:9092": True}, {})
    with Cluster("east", {SERVERS: "c:9092"}, 30) as cluster, pytest.raises(ClusterUnreachable):
        cluster.ask_each_server(begins_at)


# ---------------------------------------------------------------- connections that this process keeps


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
    assert end(begin_at_server(settings, 1)) == TOLD


def test_who_asks_on_is_not_led_there_again(settings):
    def look(ours):
        found = end(ours)
        if found < TRUE:
            raise StaleAnswer(ORDERS, found, TRUE)
        return found

    assert ask_with_server(settings, look) == TRUE


def test_who_asks_every_server_is_not_led_there(settings):
    with Cluster("west", settings, 2.0) as cluster:
        answers, _ = cluster.ask_each_server(lambda server: server.offsets([ORDERS], "latest")[ORDERS])
    assert set(answers.values()) == {TRUE}
