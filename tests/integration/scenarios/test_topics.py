"""MirrorMaker 2's own scenarios about topics, their configs and ACLs, and where a copy begins.

README.md beside this file says which Java test each answers to.
"""

from dataclasses import replace

import pytest

from kafka_mirror.config import load
from kafka_mirror.status.steps import run_step
from services.flow_in_process import Mirroring
from services.oracle import Record
from services.waiting import eventually
from tests.integration.access import acl

# Kafka 4 has min.insync.replicas as a dynamic default of the cluster, which is carried where it is not excluded.
JAVA = {"source->target.config.properties.exclude": r"delete\.retention\..*, min\.insync\.replicas"}
LOGIN = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": 'org.apache.kafka.common.security.plain.PlainLoginModule required username="mirror" password="mirror";',
}
STEPS = ("refresh-topics", "topic-configs", "topic-acls", "heartbeats", "refresh-groups", "checkpoints")


def configs(mirroring, remote):
    return dict(mirroring.oracle.topics(mirroring.target, [remote])[remote].configs)


def assert_synced(mirroring, remote, expected):
    """A broker shows what the controller answered for a moment later."""
    assert run_step("topic-configs", mirroring.flow).errors == ()
    eventually(lambda: configs(mirroring, remote) == expected)


def topic_of(mirroring, partitions=1, **settings):
    topic = mirroring.pair.topic("test-topic")
    mirroring.oracle.create_topic(mirroring.source, topic, partitions, {name.replace("_", "."): value for name, value in settings.items()})
    mirroring.refresh()
    return topic, mirroring.pair.remote(topic)


def test_an_override_of_the_target_stays_where_the_property_is_excluded_and_is_overwritten_where_it_is_not(pair, make_mirroring):
    mirroring = make_mirroring(pair, JAVA)
    _, remote = topic_of(mirroring, delete_retention_ms="1000", retention_bytes="1000")
    assert configs(mirroring, remote) == {"retention.bytes": "1000"}
    mirroring.oracle.alter_configs(mirroring.target, remote, {"delete.retention.ms": "2000", "retention.bytes": "2000"})
    assert_synced(mirroring, remote, {"delete.retention.ms": "2000", "retention.bytes": "1000"})


def test_with_the_sources_defaults_an_override_of_the_target_becomes_the_sources_default(pair, make_mirroring):
    mirroring = make_mirroring(pair, {**JAVA, "source->target.use.defaults.from": "source"})
    _, remote = topic_of(mirroring)
    mirroring.oracle.alter_configs(mirroring.target, remote, {"delete.retention.ms": "2000", "retention.bytes": "1000"})
    assert run_step("topic-configs", mirroring.flow).errors == ()
    eventually(lambda: configs(mirroring, remote)["retention.bytes"] == "-1")
    assert configs(mirroring, remote)["delete.retention.ms"] == "2000"


def test_with_the_targets_defaults_what_is_taken_away_on_the_source_goes_back_to_them(pair, make_mirroring):
    mirroring = make_mirroring(pair, JAVA)
    topic, remote = topic_of(mirroring, retention_bytes="1000")
    mirroring.oracle.alter_configs(mirroring.target, remote, {"delete.retention.ms": "2000"})
    assert_synced(mirroring, remote, {"retention.bytes": "1000", "delete.retention.ms": "2000"})
    mirroring.oracle.alter_configs(mirroring.source, topic, {"retention.bytes": None})
    assert_synced(mirroring, remote, {"delete.retention.ms": "2000"})


def ten_each(mirroring, topic, first):
    """Ten records into each of ten partitions."""
    records = [Record(str(n).encode(), b"value", partition=p) for n in range(first, first + 10) for p in range(10)]
    mirroring.oracle.produce_records(mirroring.source, topic, records)


def test_from_latest_nothing_older_than_the_first_run_is_mirrored_and_all_that_follows_is(pair, make_mirroring):
    mirroring = make_mirroring(pair, {"source.consumer.auto.offset.reset": "latest"})
    topic, remote = topic_of(mirroring, 10)
    ten_each(mirroring, topic, 0)
    mirroring.copy()
    ten_each(mirroring, topic, 10)
    assert mirroring.copy().state == "done"
    assert [each.records for each in mirroring.oracle.count(mirroring.target, remote)] == [10] * 10
    mirroring.assert_mirrored(topic, start=dict.fromkeys(range(10), 10))


# ---------------------------------------------------------------- both ways, on clusters with SASL and an authorizer


@pytest.fixture
def both_ways(guarded, make_pair, oracle, allow):
    """The flows there and back, logged in as a principal that may do everything."""
    pair = make_pair(*guarded)
    everything = [
        acl("mirror", name, "ALL", kind=kind)
        for kind, name in (("TOPIC", "*"), ("GROUP", "*"), ("TRANSACTIONAL_ID", "*"), ("CLUSTER", "kafka-cluster"))
    ]
    for cluster in guarded:
        allow(cluster, *everything, acl("dummy", pair.topic("test-topic-1"), "DESCRIBE"))
        oracle.create_topic(cluster.bootstrap, pair.topic("test-topic-1"), 10)
        oracle.produce(cluster.bootstrap, pair.topic("test-topic-1"), 100, seed=1)
    logins = {
        f"{side}.{name}": value
        for side, cluster in zip(("source", "target"), guarded, strict=True)
        for name, value in {"bootstrap.servers": cluster.secure_bootstrap, **LOGIN}.items()
    }
    back = replace(
        pair, source=pair.target, target=pair.source, source_bootstrap=pair.target_bootstrap, target_bootstrap=pair.source_bootstrap
    )
    back_again = {
        f"{back.flow}.enabled": "true",
        f"{back.flow}.topics": f".*-{pair.mark}",
        "mirror.lanes": "2",
        "refresh.groups.interval.seconds": "1",
    }
    file = pair.properties(extra={**logins, **back_again})
    yield [Mirroring(each, oracle, load([file]).flow(each.flow)) for each in (pair, back)]
    for cluster in guarded:
        if oracle.topic_id(cluster.bootstrap, "heartbeats"):
            oracle.delete_topic(cluster.bootstrap, "heartbeats")


def run_all(mirrorings):
    """What MirrorMaker 2 does all the time, once."""
    for mirroring in mirrorings:
        assert mirroring.copy().errors == ()
        for step in STEPS:
            assert run_step(step, mirroring.flow).errors == (), step


def test_topics_partitions_configs_and_acls_arrive_both_ways_under_sasl_and_an_authorizer(both_ways, oracle):
    topic = both_ways[0].pair.topic("test-topic-1")
    run_all(both_ways)
    for mirroring in both_ways:
        pair, there = mirroring.pair, oracle.topics(mirroring.target)
        assert there[pair.remote(topic)].partitions == 10
        assert {"heartbeats", f"{pair.source}.checkpoints.internal", f"mm2-ledger.{pair.source}.internal"} <= set(there)
        assert f"mm2-offset-syncs.{pair.target}.internal" in oracle.topics(mirroring.source)
        assert pair.remote(topic) in {each["name"] for each in oracle.acls(mirroring.target) if each["principal"] == "User:dummy"}
        assert mirroring.assert_mirrored(topic).records == 100

    for mirroring in both_ways:
        oracle.create_partitions(mirroring.source, topic, 11)
        oracle.alter_configs(mirroring.source, topic, {"cleanup.policy": "compact"})
    run_all(both_ways)
    for mirroring in both_ways:
        remote = mirroring.pair.remote(topic)
        assert oracle.topics(mirroring.target, [remote])[remote].partitions == 11
        eventually(lambda mirroring=mirroring, remote=remote: configs(mirroring, remote) == {"cleanup.policy": "compact"})
