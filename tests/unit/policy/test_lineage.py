"""Which clusters a topic came through, with the examples of MirrorMaker 2's MirrorClientTest."""

import pytest

from kafka_mirror.policy import DefaultReplicationPolicy, IdentityReplicationPolicy, replication

POLICY = DefaultReplicationPolicy({})
HEARTBEATS = ("heartbeats", "source1.heartbeats", "source2.source1.heartbeats", "source3.heartbeats")
OTHERS = ("topic", "source4.topic", "source1-heartbeats", "source1.checkpoints.internal", "mm2-offsets.source1.internal")


@pytest.mark.parametrize(
    ("topic", "alias", "hops"),
    [
        ("source1.topic", "source1", 1),
        ("source2.source1.topic", "source1", 2),
        ("source3.source2.source1.topic", "source1", 3),
        ("source3.source2.source1.topic", "source4", None),
        ("source", "source", None),
        ("a.b.a.topic", "a", 1),
        ("a.b.a.c.topic", "c", None),  # a circle is not followed twice
    ],
)
def test_hops_are_counted_from_the_nearest_cluster_on(topic, alias, hops):
    assert replication.hops(POLICY, topic, alias) == hops


def test_the_shortest_way_counts_and_only_heartbeats_show_one():
    found = {alias: replication.fewest_hops(POLICY, HEARTBEATS + OTHERS, alias) for alias in ("source1", "source2", "source3", "source4")}
    assert found == {"source1": 1, "source2": 1, "source3": 1, "source4": None}
    assert replication.fewest_hops(POLICY, ("source2.source1.heartbeats", "c.source2.source1.heartbeats"), "source1") == 2
    assert replication.fewest_hops(POLICY, (), "source1") is None


def test_upstream_clusters_are_all_in_the_names_of_heartbeats():
    assert replication.upstream_clusters(POLICY, HEARTBEATS + OTHERS) == {"source1", "source2", "source3"}
    assert replication.upstream_clusters(POLICY, ("heartbeats",)) == set()


def test_upstream_clusters_under_the_identity_policy():
    policy = IdentityReplicationPolicy({"source.cluster.alias": "primary"})
    assert replication.upstream_clusters(policy, ("a.heartbeats", "c.b.heartbeats", "topic", "d.topic", "heartbeats")) == {"a", "b", "c"}


def test_remote_topics_are_those_with_a_source_and_not_internal():
    topics = ("topic", "heartbeats", "source1.topic", "source2.source1.topic", "source1.checkpoints.internal", "source1.foo.internal")
    assert replication.remote_topics(POLICY, topics) == {"source1.topic", "source2.source1.topic", "source1.foo.internal"}
    assert replication.remote_topics(POLICY, topics, "source2") == {"source2.source1.topic"}


def test_remote_topics_with_another_separator():
    policy = DefaultReplicationPolicy({"replication.policy.separator": "__"})
    assert replication.remote_topics(policy, ("source1__topic", "source1.topic", "source1__checkpoints__internal")) == {"source1__topic"}


def test_remote_topics_under_the_identity_policy_need_the_alias():
    topics = ("topic1", "topic2", "heartbeats", "backup.heartbeats")
    assert replication.remote_topics(IdentityReplicationPolicy({}), topics) == {"backup.heartbeats"}
    policy = IdentityReplicationPolicy({"source.cluster.alias": "primary"})
    assert replication.remote_topics(policy, topics) == {"topic1", "topic2", "backup.heartbeats"}
    assert replication.remote_topics(policy, topics, "primary") == {"topic1", "topic2"}
