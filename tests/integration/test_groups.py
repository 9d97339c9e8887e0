"""The adapter for consumer groups on real brokers: what there is, what was committed, and what brokers refuse."""

import time

import pytest

from kafka_mirror.errors import AuthorizationRefused, ClusterUnreachable, MirrorError
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.groups import Committed, Groups
from kafka_mirror.kafka.reader import BoundedReader
from services.consumers import groups_of, member, read, set_offsets


def test_groups_of_both_protocols_are_known_with_their_state(pair, oracle, topic):
    classic, modern, offsets_only = (f"{name}-{pair.mark}" for name in ("classic", "modern", "offsets"))
    with groups_of(pair.source_bootstrap) as groups:
        with member(pair.source_bootstrap, classic, topic) as consumer:
            read(consumer, 60)
            assert not groups.list_groups()[classic].is_idle
        with member(pair.source_bootstrap, modern, topic, "consumer") as consumer:
            read(consumer, 60)
            assert not groups.list_groups()[modern].is_idle
        set_offsets(pair.source_bootstrap, offsets_only, {(topic, 0): 7})
        found = groups.list_groups()
        known = {name: (found[name].type, found[name].protocol, found[name].is_idle) for name in (classic, modern, offsets_only)}
        assert known == {
            classic: ("classic", "consumer", True),
            modern: ("consumer", "consumer", True),
            offsets_only: ("classic", "", True),
        }
        assert all(found[name].has_offsets for name in known)
        errors = {}
        offsets = groups.read_committed([classic, modern, offsets_only, f"none-{pair.mark}"], errors)
    assert not errors
    assert sum(each.offset for each in offsets[classic].values()) == sum(each.offset for each in offsets[modern].values()) == 60
    assert offsets[offsets_only] == {TopicPartition(topic, 0): Committed(7)}
    assert offsets[f"none-{pair.mark}"] == {}


def test_metadata_arrives_byte_for_byte(pair, topic):
    group, note = f"notes-{pair.mark}", "ä note"
    set_offsets(pair.source_bootstrap, group, {(topic, 0): 3}, note)
    with groups_of(pair.source_bootstrap) as groups:
        assert groups.read_committed([group], {})[group] == {TopicPartition(topic, 0): Committed(3, note)}
    settings = {"bootstrap.servers": pair.source_bootstrap}
    with Cluster("seen", settings) as cluster:
        partitions = [TopicPartition("__consumer_offsets", number) for number in range(4)]
        ends = cluster.offsets(partitions, "latest")
    written = [
        message.value
        for message in BoundedReader("seen", settings, committed=False).read({tp: (0, end) for tp, end in ends.items()}, 30)
        if message.value and group.encode() in (message.key or b"") and topic.encode() in (message.key or b"")
    ]
    text = note.encode()
    assert bytes([len(text) + 1]) + text in written[-1], "its length is its own, without a NUL byte behind it"


def test_a_group_with_members_refuses_and_the_others_are_committed(pair, topic):
    active, modern, idle = (f"{name}-{pair.mark}" for name in ("active", "modern", "idle"))
    missing = f"missing-{pair.mark}"
    with (
        member(pair.source_bootstrap, active, topic),
        member(pair.source_bootstrap, modern, topic, "consumer"),
        groups_of(pair.source_bootstrap) as groups,
    ):
        errors = {}
        at = {TopicPartition(topic, 0): Committed(5)}
        refused = groups.commit({active: at, modern: at, idle: {**at, TopicPartition(missing, 0): Committed(1)}}, errors)
        assert not errors
        assert refused[active] == {TopicPartition(topic, 0): "UNKNOWN_MEMBER_ID"}
        assert set(refused[modern].values()) <= {"UNKNOWN_MEMBER_ID", "STALE_MEMBER_EPOCH"}
        assert refused[modern]
        assert refused[idle] == {TopicPartition(missing, 0): "UNKNOWN_TOPIC_OR_PARTITION"}
        assert groups.read_committed([idle], errors)[idle] == at


def test_a_cluster_that_is_down_is_one_sentence_within_the_deadline():
    settings = {"bootstrap.servers": "127.0.0.1:1"}
    with Cluster("gone", settings, 3) as cluster, pytest.raises(ClusterUnreachable) as raised:
        Groups(cluster).list_groups()
    assert raised.value.retriable


def test_a_network_that_falls_silent_ends_within_the_deadline_and_a_broken_connection_is_made_anew(east):
    settings = {"bootstrap.servers": east.proxied_bootstrap}
    with Cluster("far", settings, 3) as cluster:
        groups = Groups(cluster)
        before = groups.list_groups()
        east.network.drop()
        assert groups.list_groups().keys() >= before.keys()
        east.network.hold()
        try:
            began = time.monotonic()
            with pytest.raises(MirrorError) as raised:
                groups.list_groups()
            assert time.monotonic() - began < 20, "the client's own deadline is thirty seconds"
        finally:
            east.network.heal()
        assert (raised.value.code, raised.value.retriable) == ("ClusterUnreachable", True)
        assert groups.list_groups().keys() >= before.keys()


def test_a_group_that_may_not_be_described_does_not_hide_the_others(make_cluster, oracle):
    cluster = make_cluster("guarded", users={"reader": "reader-secret"})
    oracle.create_topic(cluster.bootstrap, "orders")
    for name in ("seen-1", "hidden", "seen-2"):
        set_offsets(cluster.bootstrap, name, {("orders", 0): 0})
    oracle.create_acls(
        cluster.bootstrap,
        [
            {"type": "GROUP", "name": "seen-", "pattern": "PREFIXED", "principal": "User:reader", "operation": "DESCRIBE"},
            {"type": "TOPIC", "name": "orders", "principal": "User:reader", "operation": "DESCRIBE"},
        ],
    )
    settings = {
        "bootstrap.servers": cluster.secure_bootstrap,
        "security.protocol": "sasl_plaintext",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "reader",
        "sasl.password": "reader-secret",
    }
    with Cluster("guarded", settings) as admin:
        groups, errors = Groups(admin), {}
        found = groups.read_committed(["seen-1", "hidden", "seen-2"], errors)
        assert (sorted(found), list(errors)) == (["seen-1", "seen-2"], ["hidden"])
        assert isinstance(errors["hidden"], AuthorizationRefused)
        assert "DESCRIBE on the group hidden" in errors["hidden"].message
        refused = {}
        assert groups.commit({"seen-1": {TopicPartition("orders", 0): Committed(0)}}, refused) == {}
        assert "READ on the group seen-1" in refused["seen-1"].message
