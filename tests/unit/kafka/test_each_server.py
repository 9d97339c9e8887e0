"""Asking a cluster by each of its bootstrap servers alone."""

import pytest

from kafka_mirror.errors import ClusterUnreachable
from kafka_mirror.kafka.cluster import Cluster

SERVERS = "bootstrap.servers"


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
