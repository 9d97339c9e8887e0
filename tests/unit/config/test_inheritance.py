"""Golden tests of the specification's flattening rules (§1.4 to §1.8)."""

import pytest

from kafka_mirror.config import inheritance
from kafka_mirror.config.catalogue import TOP_LEVEL
from kafka_mirror.config.properties import parse
from kafka_mirror.config.setting import Setting

EXAMPLE = """
clusters=A,B
A.bootstrap.servers=a:1
B.bootstrap.servers=b:1
security.protocol=SSL
A.consumer.fetch.max.bytes=9
B.producer.linger.ms=5
B.offset.flush.interval.ms=5000
tasks.max=4
consumer.max.poll.records=7
A->B.enabled=true
A->B.topics=x
A->B.producer.override.acks=1
"""


def _raw(text):
    return {key: Setting(value, key) for key, value in parse(text).items()}


def _text(settings):
    return {key: setting.text for key, setting in settings.items()}


def cluster(text, alias="A"):
    return _text(inheritance.cluster_properties(_raw(text), alias))


def connector(text):
    return _text(inheritance.connector_properties(_raw(text), "A", "B", TOP_LEVEL))


def worker(text):
    return _text(inheritance.worker_properties(_raw(text), "A", "B"))


def client(text, side, role):
    return _text(inheritance.client_properties(inheritance.connector_properties(_raw(text), "A", "B", TOP_LEVEL), side, role))


def data_producer(text):
    raw = _raw(text)
    return _text(
        inheritance.data_producer_properties(
            inheritance.worker_properties(raw, "A", "B"), inheritance.connector_properties(raw, "A", "B", TOP_LEVEL)
        )
    )


def test_the_example_of_the_specification_as_connector_properties():
    assert connector(EXAMPLE) == {
        "security.protocol": "SSL",
        "tasks.max": "4",
        "source.cluster.bootstrap.servers": "a:1",
        "source.cluster.security.protocol": "SSL",
        "source.consumer.bootstrap.servers": "a:1",
        "source.producer.bootstrap.servers": "a:1",
        "source.admin.bootstrap.servers": "a:1",
        "source.consumer.security.protocol": "SSL",
        "source.producer.security.protocol": "SSL",
        "source.admin.security.protocol": "SSL",
        "source.consumer.fetch.max.bytes": "9",
        "target.cluster.bootstrap.servers": "b:1",
        "target.cluster.security.protocol": "SSL",
        "target.consumer.bootstrap.servers": "b:1",
        "target.producer.bootstrap.servers": "b:1",
        "target.admin.bootstrap.servers": "b:1",
        "target.consumer.security.protocol": "SSL",
        "target.producer.security.protocol": "SSL",
        "target.admin.security.protocol": "SSL",
        "target.cluster.offset.flush.interval.ms": "5000",
        "target.producer.linger.ms": "5",
        "name": "MirrorSourceConnector",
        "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
        "source.cluster.alias": "A",
        "target.cluster.alias": "B",
        "enabled": "true",
        "topics": "x",
        "producer.override.acks": "1",
    }


def test_the_example_of_the_specification_as_worker_properties():
    found = worker(EXAMPLE)

    assert found["bootstrap.servers"] == "b:1"
    assert found["security.protocol"] == "SSL"
    assert found["producer.linger.ms"] == "5"
    assert found["offset.flush.interval.ms"] == "5000"
    assert found["group.id"] == "A-mm2"
    assert found["client.id"] == "A->B"
    assert found["offset.storage.topic"] == "mm2-offsets.A.internal"
    assert found["status.storage.topic"] == "mm2-status.A.internal"
    assert found["config.storage.topic"] == "mm2-configs.A.internal"
    assert found["value.converter"] == "org.apache.kafka.connect.converters.ByteArrayConverter"
    assert "topics" not in found
    assert "consumer.max.poll.records" not in found


def test_the_example_of_the_specification_as_the_data_producers_settings():
    assert data_producer(EXAMPLE) == {"bootstrap.servers": "b:1", "security.protocol": "SSL", "linger.ms": "5", "acks": "1"}


def test_security_of_a_role_beats_that_of_the_cluster_which_beats_the_top_level():
    found = cluster("security.protocol=SSL\nA.security.protocol=PLAINTEXT\nA.producer.security.protocol=SASL_SSL")

    assert found["producer.security.protocol"] == "SASL_SSL"
    assert found["consumer.security.protocol"] == "PLAINTEXT"
    assert found["admin.security.protocol"] == "PLAINTEXT"
    assert found["security.protocol"] == "PLAINTEXT"


def test_the_top_level_fills_what_a_cluster_leaves_out():
    assert cluster("sasl.mechanism=PLAIN\nssl.key.password=x\nbootstrap.servers=c:1") == {
        f"{role}{key}": value
        for key, value in {"sasl.mechanism": "PLAIN", "ssl.key.password": "x", "bootstrap.servers": "c:1"}.items()
        for role in ("", "producer.", "consumer.", "admin.")
    }


@pytest.mark.parametrize("key", ["security.providers", "client.dns.lookup", "request.timeout.ms", "ssl.client.auth", "ssl.whatever"])
def test_only_the_inherited_names_go_from_cluster_to_roles(key):
    assert cluster(f"A.{key}=x\n{key}=y") == {key: "x"}


def test_top_level_role_settings_reach_nobody():
    text = "consumer.fetch.min.bytes=1\nproducer.linger.ms=2\nadmin.retries=3"

    assert cluster(text) == {}
    assert not {key for key in connector(text) if "fetch" in key or "linger" in key or "retries" in key}


def test_the_top_level_beats_the_target_for_the_workers_own_prefixes():
    text = """
B.offset.storage.replication.factor=1
offset.storage.replication.factor=3
B.group.id=b
replication.policy.separator=_
tasks.max=2
"""

    found = worker(text)

    assert found["offset.storage.replication.factor"] == "3"
    assert found["group.id"] == "b"
    assert found["replication.policy.separator"] == "_"
    assert found["tasks.max"] == "2"


def test_flow_keys_never_reach_the_worker():
    text = "A->B.offset.flush.interval.ms=1\noffset.flush.interval.ms=2\nA->B.producer.linger.ms=3"

    assert not {key for key in worker(text) if "flush" in key or "linger" in key}


def test_flow_prefix_overrides_top_level():
    assert connector("topics=a\nA->B.topics=b\nB->A.topics=c")["topics"] == "b"
    assert connector("topics=a")["topics"] == "a"


def test_our_own_properties_follow_the_same_precedence():
    assert connector("mirror.lanes=4\nA->B.mirror.lanes=8")["mirror.lanes"] == "8"
    assert connector("mirror.lanes=4")["mirror.lanes"] == "4"


@pytest.mark.parametrize(
    "key",
    [
        "use.defaults.from",
        "exactly.once.support",
        "transaction.boundary",
        "offsets.storage.topic",
        "topic.creation.groups",
        "transforms.a.type",
        "consumer.x",
        "my.own.filter.property",
    ],
)
def test_the_top_level_drops_what_needs_the_flows_prefix(key):
    assert key not in connector(f"{key}=x")
    assert connector(f"A->B.{key}=x")[key] == "x"


@pytest.mark.parametrize(
    "key", ["replication.policy.class", "replication.policy.mine", "config.providers", "config.providers.a.class", "transforms"]
)
def test_the_top_level_passes_policies_providers_and_defined_names(key):
    assert connector(f"{key}=x")[key] == "x"


def test_cluster_settings_stand_under_their_side():
    found = connector("A.consumer.x=1\nA.administrator.x=2\nA.foo=3\nB.admin.y=4\nB.bar=5")

    assert found["source.consumer.x"] == "1"
    assert found["source.administrator.x"] == "2"
    assert found["source.cluster.foo"] == "3"
    assert found["target.admin.y"] == "4"
    assert found["target.cluster.bar"] == "5"


def test_the_driver_says_disabled_unless_the_flow_says_otherwise():
    assert connector("")["enabled"] == "false"
    assert connector("A->B.enabled=TRUE")["enabled"] == "TRUE"


def test_a_top_level_alias_beats_the_flows_own():
    assert connector("source.cluster.alias=")["source.cluster.alias"] == ""


@pytest.mark.parametrize("role", ["consumer", "producer", "admin"])
@pytest.mark.parametrize(("side", "alias"), [("source", "A"), ("target", "B")])
def test_precedence_of_a_clients_settings(side, alias, role):
    lines = [f"{alias}.ssl.key.password=1", f"A->B.{role}.ssl.key.password=2", f"A->B.{side}.{role}.ssl.key.password=3"]

    # What the cluster says is filled into its roles, and so beats the flow's `<role>.`.
    assert client(lines[0], side, role)["ssl.key.password"] == "1"
    assert client(lines[1], side, role)["ssl.key.password"] == "2"
    assert client("\n".join(lines[:2]), side, role)["ssl.key.password"] == "1"
    assert client("\n".join(lines), side, role)["ssl.key.password"] == "3"


def test_the_clusters_role_beats_the_flows_role_on_its_side_only():
    text = "A.consumer.fetch.min.bytes=1\nA->B.consumer.fetch.min.bytes=2"

    assert client(text, "source", "consumer") == {"fetch.min.bytes": "1"}
    assert client(text, "target", "consumer") == {"fetch.min.bytes": "2"}


def test_other_cluster_settings_do_not_reach_the_clients():
    assert client("A.request.timeout.ms=5\nA.admin.request.timeout.ms=6", "source", "admin") == {"request.timeout.ms": "6"}
    assert client("A.request.timeout.ms=5", "source", "consumer") == {}


def test_connector_properties_that_look_like_client_settings_are_swallowed():
    assert client("consumer.poll.timeout.ms=5", "source", "consumer") == {"poll.timeout.ms": "5"}
    assert client("A->B.producer.override.acks=1", "source", "producer") == {"override.acks": "1"}


def test_the_data_producer_takes_the_target_then_the_flows_override():
    text = "B.bootstrap.servers=b:1\nB.producer.linger.ms=1\nB.producer.acks=all\nA->B.producer.override.linger.ms=2"

    assert data_producer(text) == {"bootstrap.servers": "b:1", "linger.ms": "2", "acks": "all"}


@pytest.mark.parametrize(
    "line", ["A->B.producer.linger.ms=1", "A->B.target.producer.linger.ms=1", "A.producer.linger.ms=1", "producer.linger.ms=1"]
)
def test_what_looks_like_the_data_producers_setting_but_is_not(line):
    assert "linger.ms" not in data_producer(line)


def test_the_data_producer_can_have_brokers_of_its_own():
    assert data_producer("B.bootstrap.servers=b:1\nB.producer.bootstrap.servers=b:2")["bootstrap.servers"] == "b:2"


def test_every_value_keeps_the_key_that_the_user_wrote():
    settings = inheritance.connector_properties(_raw("ssl.key.password=x\nA.bootstrap.servers=a:1\nA->B.topics=t"), "A", "B", TOP_LEVEL)

    assert settings["target.admin.ssl.key.password"].origin == "ssl.key.password"
    assert settings["source.consumer.bootstrap.servers"].origin == "A.bootstrap.servers"
    assert settings["topics"].origin == "A->B.topics"
    assert settings["name"].origin == "(default)"
