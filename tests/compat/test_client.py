"""MirrorClient and RemoteClusterUtils of Java beside `kafka_mirror.client`, on a real broker that both of them ask."""

import re

import pytest

from kafka_mirror.client import MirrorClient, translate_offsets, translate_offsets_matching
from kafka_mirror.errors import CheckpointsMissing, ClusterUnreachable, DeadlineExceeded
from kafka_mirror.formats.mm2 import Checkpoint
from kafka_mirror.formats.offsets.partition import TopicPartition
from services.java import ROOT
from services.kafka import KafkaCluster
from services.oracle import Record

IDENTITY = {"replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"}


@pytest.fixture(scope="module")
def cluster(services_directory, oracle):
    """A broker of these tests' own, for everything on it is in the answers: topics of every kind, and checkpoints."""
    made = KafkaCluster(services_directory / "client", "client")
    made.start()
    names = (
        *("heartbeats", "a.heartbeats", "b.a.heartbeats", "b.heartbeats", "d.c.b.a.heartbeats", "a-heartbeats", "x__heartbeats"),
        *("topic", "a.topic", "b.a.topic", "a.foo.internal", "a..b", "mm2-offsets.a.internal", "mm2-x.a.internal", "c__topic"),
        *("a.checkpoints.internal", "b.checkpoints.internal", "checkpoints.internal", "x__checkpoints__internal", "a-internal"),
    )
    for name in names:
        oracle.create_topic(made.bootstrap, name)
    yield made
    made.discard()


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"replication.policy.separator": "__"},
        IDENTITY,
        IDENTITY | {"source.cluster.alias": "a"},
        {"consumer.bootstrap.servers": "BOOTSTRAP", "bootstrap.servers": "127.0.0.1:1", "admin.bootstrap.servers": "BOOTSTRAP"},
    ],
    ids=["default", "separator", "identity", "identity with alias", "overrides"],
)
def test_what_names_of_topics_say_is_what_java_says(cluster, peer, more):
    aliases = ["a", "b", "c", "d", "x", "target", ""]
    properties = {"bootstrap.servers": cluster.bootstrap} | {
        name: text.replace("BOOTSTRAP", cluster.bootstrap) for name, text in more.items()
    }
    told = peer.ask("client_topics", properties=properties, aliases=aliases)
    with MirrorClient(properties) as client:
        found = {
            "heartbeat_topics": sorted(client.heartbeat_topics()),
            "checkpoint_topics": sorted(client.checkpoint_topics()),
            "upstream_clusters": sorted(client.upstream_clusters()),
            "remote_topics": sorted(client.remote_topics()),
            "hops": {alias: client.replication_hops(alias) or -1 for alias in aliases},
            "remote_topics_of": {alias: sorted(client.remote_topics(alias)) for alias in aliases},
        }
    assert found == told
    assert found["remote_topics"]
    peer.cases["answers of MirrorClient"] += 1


def test_offsets_are_translated_as_java_translates_them(cluster, peer, oracle):
    properties = {"bootstrap.servers": cluster.bootstrap}
    made = [
        Checkpoint("orders", "a.topic", 0, 1, 5, "first"),
        Checkpoint("orders", "a.topic", 0, 7, 9, "nöte"),
        Checkpoint("orders", "a.other", 3, 7, 0),
        Checkpoint("orders-2", "a.topic", 0, 7, 2**40),
        Checkpoint("Bestellungen ä", "a.topic", 0, 1, 4),
    ]
    broken = [Record(b"\x00", b"\x00"), Record(made[0].key, b"\x00\x00\x00")]
    records = [Record(each.key, each.value) for each in made]
    oracle.produce_records(cluster.bootstrap, "a.checkpoints.internal", [*records[:2], *broken, *records[2:]])

    with MirrorClient(properties) as client:
        for group in ("orders", "orders-2", "Bestellungen ä", "order", ""):
            told = peer.ask("translated", properties=properties, alias="a", group=group)
            assert shown(client.remote_consumer_offsets("a", group)) == told
            assert shown(translate_offsets(properties, "a", group)) == told
            peer.cases["translated groups"] += 1
        assert client.remote_consumer_offsets("a", "orders")[TopicPartition("a.topic", 0)] == (9, "nöte")
        for pattern in ("orders", ".*", "order", "orders.*", "(?i)BEST.*", "nobody", ""):
            told = peer.ask("translated_matching", properties=properties, alias="a", pattern=pattern)
            found = client.remote_consumer_offsets_matching("a", pattern)
            assert {group: shown(offsets) for group, offsets in found.items()} == told
            assert translate_offsets_matching(properties, "a", pattern) == found
            peer.cases["translated groups"] += 1
        assert set(client.remote_consumer_offsets_matching("a", re.compile("orders(-2)?"))) == {"orders", "orders-2"}
        assert client.remote_consumer_offsets("b", "orders") == {}

    # Where Java ends in an exception or with half an answer, this one is better.
    oracle.produce_records(cluster.bootstrap, "a.checkpoints.internal", [Record(made[3].key, None)])
    with MirrorClient(properties, seconds=10) as client:
        assert client.remote_consumer_offsets("a", "orders-2") == {}
        assert shown(client.remote_consumer_offsets("a", "orders")) == {"a.topic-0": [9, "nöte"], "a.other-3": [0, ""]}
        with pytest.raises(CheckpointsMissing, match=r"no topic nowhere\.checkpoints\.internal"):
            client.remote_consumer_offsets("nowhere", "orders")
        assert "nowhere.checkpoints.internal" not in client.checkpoint_topics(), "asking does not create it"
        cluster.pause()
        try:
            with pytest.raises((DeadlineExceeded, ClusterUnreachable)):
                MirrorClient(properties, seconds=2).remote_consumer_offsets("a", "orders")
        finally:
            cluster.resume()


def test_the_example_of_the_handbook_runs(cluster, oracle, capsys):
    made = Checkpoint("billing", "a.topic", 0, 7, 9)
    oracle.produce_records(cluster.bootstrap, "a.checkpoints.internal", [Record(made.key, made.value)])
    page = (ROOT / "docs" / "guides" / "python-client.md").read_text()
    (example,) = re.findall(r"<!-- example: client -->\n```python\n(.*?)```", page, flags=re.DOTALL)
    exec(example.replace("west-1:9093", cluster.bootstrap).replace("SSL", "PLAINTEXT").replace('"east"', '"a"'), {})
    assert "a.topic-0 9" in capsys.readouterr().out


def shown(offsets):
    return {str(partition): list(each) for partition, each in offsets.items()}
