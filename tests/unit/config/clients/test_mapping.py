"""From Java's client settings to librdkafka's: those of the admin, its only client, are given to a real one."""

import pytest
from confluent_kafka.admin import AdminClient

from kafka_mirror.config.clients.catalogue import CLIENT_PROPERTIES
from kafka_mirror.config.clients.mapping import client_settings
from kafka_mirror.config.setting import Client, Setting
from kafka_mirror.errors import ConfigurationError
from tests.unit.config.clients.java_client import complaints_of, map_java

LARGEST = str(2**31 - 1)
SAMPLES = {
    "client.dns.lookup": ["use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"],
    "client.id": ["mine"],
    "metadata.recovery.strategy": ["none", "REBOOTSTRAP"],
    "enable.metrics.push": ["false", "TRUE"],
}


def mapped(java, role="consumer", side="source", files=False):
    return map_java(java, role, side, files)


def complaints(java, role="consumer", **more):
    return complaints_of(map_java(java, role, **more))


@pytest.mark.parametrize("name", [each.name for each in CLIENT_PROPERTIES.values() if each.librdkafka and "admin" in each.roles])
def test_librdkafka_takes_every_mapped_setting_at_its_limits(name):
    for text in SAMPLES.get(name, ["-1", "0", "1", LARGEST]):
        found = mapped({name: text}, "admin")
        assert found.problems == []
        AdminClient(found.settings)  # fails if librdkafka does not take them; nothing is connected to


def test_librdkafka_takes_the_defaults():
    found = mapped({}, "admin")
    assert found.problems == []
    AdminClient(found.settings)


@pytest.mark.parametrize(
    ("java", "role", "expected"),
    [
        ({"fetch.max.wait.ms": "500"}, "consumer", {"fetch.wait.max.ms": 500}),
        ({"fetch.max.bytes": "5000"}, "consumer", {"fetch.max.bytes": 5000}),
        ({"request.timeout.ms": "40000"}, "admin", {"socket.timeout.ms": 40_000}),
        ({"receive.buffer.bytes": "-1"}, "admin", {"socket.receive.buffer.bytes": 0}),
        ({"reconnect.backoff.ms": "20000"}, "admin", {"reconnect.backoff.ms": 20_000, "reconnect.backoff.max.ms": 20_000}),
        ({"reconnect.backoff.max.ms": "50"}, "admin", {"reconnect.backoff.ms": 50, "reconnect.backoff.max.ms": 50}),
        ({"metadata.max.age.ms": "99999999"}, "admin", {"topic.metadata.refresh.interval.ms": 3_600_000}),
        ({"compression.type": "GZIP"}, "producer", {"compression.type": "gzip"}),
        ({"bootstrap.servers": " a:1 , b:2,a:1"}, "admin", {"bootstrap.servers": "a:1,b:2"}),
        ({"bootstrap.servers": "[::1]:9092"}, "admin", {"bootstrap.servers": "[::1]:9092"}),
    ],
)
def test_what_settings_become(java, role, expected):
    found = mapped(java, role)

    assert found.problems == []
    assert found.settings | expected == found.settings


def test_only_what_is_committed_is_read_unless_it_is_said_otherwise():
    assert mapped({}, "consumer").settings["isolation.level"] == "read_committed"
    assert mapped({"isolation.level": "read_uncommitted"}, "consumer").settings["isolation.level"] == "read_uncommitted"


def test_records_are_packed_unless_it_is_said_otherwise():
    assert mapped({}, "producer", "target").settings["compression.type"] == "lz4"
    assert mapped({"compression.type": "none"}, "producer").settings["compression.type"] == "none"


def test_client_ids_are_extended_as_in_mm2_but_for_the_producer_of_the_records():
    assert mapped({}, "consumer").settings["client.id"] == "east->west|mirror|source-consumer"
    assert mapped({"client.id": "mine"}, "consumer").settings["client.id"] == "mine|east->west|mirror|source-consumer"
    assert mapped({"client.id": "mine"}, "producer", "target").settings["client.id"] == "mine"
    assert "client.id" not in mapped({}, "producer", "target").settings, "each lane has its own"


@pytest.mark.parametrize(
    ("java", "role", "reason"),
    [
        ({"acks": "1"}, "producer", "must be all"),
        ({"acks": "0"}, "producer", "must be all"),
        ({"enable.idempotence": "false"}, "producer", "must be true"),
        ({"transactional.id": "x"}, "producer", "each lane has its own"),
        ({"transaction.two.phase.commit.enable": "true"}, "producer", "would never end"),
        ({"interceptor.classes": "my.Interceptor"}, "consumer", "a Java class cannot be loaded"),
        ({"security.providers": "my.Provider"}, "admin", "a Java class cannot be loaded"),
        ({"value.deserializer": "my.Deserializer"}, "consumer", "byte for byte"),
        ({"key.serializer": "my.Serializer"}, "producer", "byte for byte"),
        ({"isolation.level": "read-committed"}, "consumer", "must be read_committed or read_uncommitted"),
        ({"compression.type": "brotli"}, "producer", "must be none or gzip"),
        ({"fetch.min.bytes": "many"}, "consumer", "whole number"),
        ({"check.crcs": "yes"}, "consumer", "must be true or false"),
        ({"bootstrap.servers": "host"}, "admin", "list of host:port"),
        ({"bootstrap.servers": "host:99999"}, "admin", "list of host:port"),
        ({"bootstrap.servers": "a:1,,b:2"}, "admin", "empty member"),
        ({"bootstrap.servers": " "}, "admin", "is empty"),
    ],
)
def test_what_is_refused(java, role, reason):
    (name,) = java
    assert reason in complaints(java, role)[f"east.{name}"]


@pytest.mark.parametrize(
    ("java", "role"),
    [
        ({"acks": "-1"}, "producer"),
        ({"acks": "ALL", "enable.idempotence": "True"}, "producer"),
        ({"interceptor.classes": ""}, "consumer"),
        ({"key.serializer": "org.apache.kafka.common.serialization.ByteArraySerializer"}, "producer"),
        ({"acks": "1"}, "consumer"),
    ],
)
def test_what_holds_anyway_is_not_refused(java, role):
    assert complaints(java, role) == {}


def test_what_has_no_effect_is_said_with_the_reason():
    found = mapped({"max.poll.records": "5", "group.id": "x", "auto.offset.reset": "latest", "default.api.timeout.ms": "3"}, "consumer")

    assert set(found.without_effect) == {"east.max.poll.records", "east.group.id", "east.default.api.timeout.ms"}
    assert "ledger" in found.without_effect["east.group.id"]
    assert "group.id" not in found.settings


def test_what_is_not_resolved_yet_is_not_judged():
    settings = {
        name: Setting("${env:X}", f"east.{name}", unresolved=True)
        for name in ("bootstrap.servers", "security.protocol", "fetch.min.bytes", "interceptor.classes")
    }
    assert client_settings(settings, Client("east->west", "east", "source", "consumer")).problems == []


def test_the_maps_text_holds_no_setting():
    assert "hidden" not in repr(mapped({"client.id": "hidden"}))


def test_references_are_resolved_when_a_client_is_asked_for(flow):
    environ = {"CODEC": "zstd"}
    made = flow("west.producer.compression.type = ${env:CODEC}\nwest.producer.client.id = ${env:LATER}", environ)

    with pytest.raises(ConfigurationError, match=r"west\.producer\.client\.id: the reference \$\{env:LATER\} cannot be read"):
        made.client("target", "producer")
    environ["LATER"] = "x"
    assert made.client("target", "producer") | {"compression.type": "zstd", "client.id": "x"} == made.client("target", "producer")
    assert made.client("source", "producer")["compression.type"] == "lz4"


def test_a_resolved_value_that_is_wrong_is_refused_without_showing_it(flow):
    made = flow("west.producer.compression.type = ${env:CODEC}", {"CODEC": "hidden"})

    with pytest.raises(ConfigurationError, match=r"west\.producer\.compression\.type: must be none or gzip") as raised:
        made.client("target", "producer")
    assert "hidden" not in str(raised.value)


def test_each_side_and_role_has_its_own_settings(flow):
    made = flow("""
east.consumer.fetch.min.bytes = 2
west.consumer.fetch.min.bytes = 3
west.producer.compression.type = gzip
east->west.producer.override.retry.backoff.ms = 5
east->west.source.consumer.fetch.max.wait.ms = 6
east->west.target.producer.compression.type = zstd
""")
    assert made.client("source", "consumer")["fetch.min.bytes"] == 2
    assert made.client("source", "consumer")["fetch.wait.max.ms"] == 6
    assert made.client("target", "consumer")["fetch.min.bytes"] == 3
    assert made.client("target", "producer")["compression.type"] == "gzip"
    assert made.client("target", "producer")["retry.backoff.ms"] == 5
    assert made.client("source", "admin")["bootstrap.servers"] == "127.0.0.1:9001"
    assert made.client("target", "admin")["bootstrap.servers"] == "127.0.0.1:9002"
