"""Both directions of two clusters, chains and rings of three, and names that are kept: MirrorMaker 2's own scenarios, and more.

README.md beside this file says which Java test each answers to.
"Exact" means that the witness finds both sides equal record by record.
"""

from collections.abc import Callable

import pytest

from kafka_mirror.config import load
from kafka_mirror.config.policies import topic_selection
from kafka_mirror.errors import TopicGoesRound
from kafka_mirror.policy import IdentityReplicationPolicy
from kafka_mirror.status.steps import run_step
from tests.integration.scenarios.conftest import Mesh

IDENTITY = {"replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"}
BOTH = ("primary->backup", "backup->primary")
JAVA = {
    "topics": "test-topic-.*, primary.test-topic-.*, backup.test-topic-.*",
    "groups": "consumer-group-.*",
    "config.properties.exclude": r"delete\.retention\..*",
}


@pytest.fixture
def active_active(make_mesh: Callable[..., Mesh]) -> Mesh:
    """What the Java tests begin with: both flows, and topics of a hundred records each."""
    mesh: Mesh = make_mesh("primary", "backup")
    mesh.configure(*BOTH, **JAVA)
    mesh.create("primary", "test-topic-1", cleanup_policy="compact")
    mesh.create("backup", "test-topic-1")
    for alias in ("primary", "backup"):
        mesh.produce(alias, "test-topic-1")
    return mesh


def assert_names(mesh: Mesh, alias: str, *topics: str) -> None:
    """These topics and no other: nothing was mirrored back."""
    assert mesh.topics(alias) == set(topics)


def test_both_directions_mirror_each_others_topics_and_nothing_comes_back(active_active: Mesh) -> None:
    mesh = active_active
    assert mesh.beat() == list(BOTH)

    for _ in range(3):  # what the first round brought is there for the next ones to mirror back
        mesh.copy(*BOTH)

    assert_names(mesh, "primary", "test-topic-1", "backup.test-topic-1", "heartbeats", "backup.heartbeats")
    assert_names(mesh, "backup", "test-topic-1", "primary.test-topic-1", "heartbeats", "primary.heartbeats")
    for flow in BOTH:
        assert mesh.flow(flow).assert_mirrored("test-topic-1").records == 100
        assert mesh.flow(flow).assert_mirrored("heartbeats").records == 1
    assert (mesh.count("primary", "test-topic-1"), mesh.count("backup", "test-topic-1")) == (100, 100)
    assert mesh.configs("backup", "primary.test-topic-1")["cleanup.policy"] == "compact"


def test_clients_see_by_heartbeats_who_is_mirrored_here(active_active: Mesh) -> None:
    mesh = active_active
    mesh.beat()
    mesh.copy(*BOTH)
    for here, other in (("primary", "backup"), ("backup", "primary")):
        with mesh.client(here) as client:
            assert client.upstream_clusters() == {other}
            assert client.replication_hops(other) == 1
            assert client.heartbeat_topics() == {"heartbeats", f"{other}.heartbeats"}
            assert client.remote_topics() == {f"{other}.test-topic-1", f"{other}.heartbeats"}


def test_topics_that_are_created_later_and_single_partitions_follow(active_active: Mesh) -> None:
    mesh = active_active
    mesh.copy(*BOTH)
    mesh.create("primary", "test-topic-2", 3, delete_retention_ms="2000", retention_bytes="1000")
    mesh.create("backup", "test-topic-3", 1)
    mesh.produce("primary", "test-topic-2", partitions=1)
    mesh.produce("backup", "test-topic-3", partitions=1)
    mesh.copy(*BOTH)

    assert mesh.flow(BOTH[0]).assert_mirrored("test-topic-2").records == 10
    assert mesh.flow(BOTH[1]).assert_mirrored("test-topic-3").records == 10
    carried = mesh.configs("backup", "primary.test-topic-2")
    assert carried["retention.bytes"] == "1000"
    assert "delete.retention.ms" not in carried
    mesh.produce("primary", "test-topic-1", partitions=1, first=100)
    mesh.copy(*BOTH)
    assert mesh.flow(BOTH[0]).assert_mirrored("test-topic-1").records == 110


def test_one_way_leaves_nothing_on_the_source_but_the_beats_of_the_way_back(make_mesh: Callable[..., Mesh]) -> None:
    mesh: Mesh = make_mesh("A", "B")
    mesh.configure("A->B", **{"emit.offset-syncs.enabled": "false", "emit.checkpoints.enabled": "false"})
    mesh.create("A", "test-topic-1", 1)
    mesh.produce("A", "test-topic-1", partitions=1, records=11)
    mesh.create("B", "test-topic-1", 1)
    mesh.produce("B", "test-topic-1", partitions=1)
    assert mesh.beat() == ["A->B", "B->A"]
    mesh.copy("A->B")

    assert mesh.flow("A->B").assert_mirrored("test-topic-1").records == 11
    assert_names(mesh, "A", "test-topic-1", "heartbeats")
    assert_names(mesh, "B", "test-topic-1", "A.test-topic-1", "heartbeats", "A.heartbeats")
    assert mesh.internal_topics("A") == set()


def test_without_heartbeats_there_are_none(make_mesh: Callable[..., Mesh]) -> None:
    mesh: Mesh = make_mesh("A", "B")
    mesh.configure("A->B", **{"emit.heartbeats.enabled": "false"})
    mesh.create("A", "test-topic-1", 1)
    mesh.produce("A", "test-topic-1", partitions=1)
    assert mesh.beat() == []
    mesh.copy("A->B")
    assert_names(mesh, "B", "A.test-topic-1")
    assert_names(mesh, "A", "test-topic-1")


def test_heartbeats_that_are_not_to_be_mirrored_stay_where_they_are(make_mesh: Callable[..., Mesh]) -> None:
    mesh: Mesh = make_mesh("A", "B")
    mesh.configure("A->B", **{"heartbeats.replication.enabled": "false", "A->B.topics": "test-.*"})
    mesh.create("A", "test-topic-1", 1)
    mesh.beat()
    mesh.copy("A->B")
    assert_names(mesh, "B", "A.test-topic-1", "heartbeats")


def test_a_target_of_a_strange_name_is_a_target_like_any_other(make_mesh: Callable[..., Mesh]) -> None:
    strange = "B- ._~:/?#[]@!$&'()*+;=\"<>%{}|\\^`618"
    mesh: Mesh = make_mesh("A", strange)
    mesh.configure(
        f"A->{strange}",
        **{
            "offset-syncs.topic.location": "target",
            f"{strange}->A.emit.heartbeats.enabled": "false",
        },
    )
    mesh.create("A", "test-topic-1", 2)
    mesh.produce("A", "test-topic-1", partitions=2)
    assert mesh.beat() == [f"A->{strange}"]
    mesh.copy(f"A->{strange}")
    mesh.create("A", "test-topic-2", 1)
    mesh.produce("A", "test-topic-2", partitions=1)
    mesh.copy(f"A->{strange}")

    flow = mesh.flow(f"A->{strange}")
    assert flow.assert_mirrored("test-topic-1").records == 20
    assert flow.assert_mirrored("test-topic-2").records == 10
    assert_names(mesh, strange, "A.test-topic-1", "A.test-topic-2", "heartbeats")
    assert_names(mesh, "A", "test-topic-1", "test-topic-2")


def test_a_chain_carries_topics_and_heartbeats_with_their_path(make_mesh: Callable[..., Mesh]) -> None:
    mesh: Mesh = make_mesh("A", "B", "C")
    chain = ("A->B", "B->C")
    mesh.configure(*chain)
    mesh.create("A", "orders", 3)
    mesh.produce("A", "orders", partitions=3)
    assert len(mesh.beat()) == 6
    for _ in range(2):
        mesh.copy(*chain)

    assert_names(mesh, "A", "orders", "heartbeats")
    assert_names(mesh, "B", "A.orders", "heartbeats", "A.heartbeats")
    assert_names(mesh, "C", "B.A.orders", "heartbeats", "B.heartbeats", "B.A.heartbeats")
    end = mesh.flow("A->B")
    assert end.assert_mirrored("orders").records == 30
    assert mesh.flow("B->C").assert_mirrored("A.orders").records == 30
    with mesh.client("C") as client:
        assert (client.replication_hops("A"), client.replication_hops("B"), client.replication_hops("C")) == (2, 1, None)
        assert client.upstream_clusters() == {"A", "B"}
    mesh.produce("A", "orders", partitions=3, first=10)
    mesh.copy(*chain)
    assert mesh.flow("B->C").assert_mirrored("A.orders").records == 60


def test_a_ring_lets_every_topic_go_once_round_and_no_further(make_mesh: Callable[..., Mesh]) -> None:
    mesh: Mesh = make_mesh("A", "B", "C")
    ring = ("A->B", "B->C", "C->A")
    mesh.configure(*ring, **{"emit.heartbeats.enabled": "false"})
    for alias in mesh.bootstraps:
        mesh.create(alias, "orders", 2)
        mesh.produce(alias, "orders", partitions=2)
    for _ in range(4):
        mesh.copy(*ring)

    assert_names(mesh, "A", "orders", "C.orders", "C.B.orders")
    assert_names(mesh, "B", "orders", "A.orders", "A.C.orders")
    assert_names(mesh, "C", "orders", "B.orders", "B.A.orders")
    for flow, topics in (("A->B", ("orders", "C.orders")), ("B->C", ("orders", "A.orders")), ("C->A", ("orders", "B.orders"))):
        for topic in topics:
            assert mesh.flow(flow).assert_mirrored(topic).records == 20


def test_names_that_are_kept_go_one_way_and_heartbeats_still_tell_the_way(make_mesh: Callable[..., Mesh]) -> None:
    mesh: Mesh = make_mesh("primary", "backup")
    mesh.configure("primary->backup", **{**JAVA, **IDENTITY, "topics": "test-topic-.*"})
    mesh.create("primary", "test-topic-1", cleanup_policy="compact")
    mesh.produce("primary", "test-topic-1")
    mesh.beat()
    mesh.copy("primary->backup")
    mesh.create("primary", "test-topic-2", 1)
    mesh.produce("primary", "test-topic-2", partitions=1)
    mesh.copy("primary->backup")

    flow = mesh.flow("primary->backup")
    assert flow.assert_mirrored("test-topic-1", "test-topic-1").records == 100
    assert flow.assert_mirrored("test-topic-2", "test-topic-2").records == 10
    assert flow.assert_mirrored("heartbeats").records == 1
    assert mesh.configs("backup", "test-topic-1")["cleanup.policy"] == "compact"
    assert_names(mesh, "primary", "test-topic-1", "test-topic-2", "heartbeats")
    assert_names(mesh, "backup", "test-topic-1", "test-topic-2", "heartbeats", "primary.heartbeats")
    kept = {"replication.policy.class": IDENTITY["replication.policy.class"], "source.cluster.alias": "primary"}
    with mesh.client("backup", **kept) as client:
        assert isinstance(client.replication_policy, IdentityReplicationPolicy)
        assert (client.upstream_clusters(), client.replication_hops("primary")) == ({"primary"}, 1)


def test_kept_names_in_a_circle_are_left_out_by_every_flow_and_exact_where_topics_part(make_mesh: Callable[..., Mesh]) -> None:
    mesh: Mesh = make_mesh("A", "B", "C")
    ring = ("A->B", "B->C", "C->A")
    mesh.configure(*ring, **IDENTITY)
    mesh.create("A", "round", 2)
    mesh.produce("A", "round", partitions=2)
    for flow in ring:
        refused = run_step("refresh-topics", load([mesh.file]).flow(flow)).errors
        assert [(error.code, error.topic) for error in refused] == ([("TopicGoesRound", "round")] if flow == "A->B" else [])
    verdict = mesh.flow("A->B").copy()
    assert [(error.code, error.topic) for error in verdict.errors] == [("TopicGoesRound", "round")]
    assert "A -> B -> C -> A" in verdict.errors[0].message
    assert [mesh.topics(alias) for alias in "ABC"] == [{"round"}, set(), set()], "nothing was made, and nothing copied"

    apart = {"A->B.topics": "of-a", "B->C.topics": "of-a, of-b", "C->A.topics": "of-b"}
    mesh.configure(*ring, **IDENTITY, **apart)
    for alias, topic in (("A", "of-a"), ("B", "of-b")):
        mesh.create(alias, topic, 2)
        mesh.produce(alias, topic, partitions=2)
    for _ in range(3):
        mesh.copy(*ring)
    assert [mesh.topics(alias) - {"round"} for alias in "ABC"] == [{"of-a", "of-b"}] * 3
    assert [mesh.count(alias, topic) for alias in "ABC" for topic in ("of-a", "of-b")] == [20] * 6
    assert mesh.flow("B->C").assert_mirrored("of-a", "of-a").records == 20
    assert mesh.flow("C->A").assert_mirrored("of-b", "of-b").records == 20


def test_a_dot_in_a_kept_name_is_any_character_so_that_it_may_close_a_circle(make_mesh: Callable[..., Mesh]) -> None:
    mesh: Mesh = make_mesh("A", "B")
    both = ("A->B", "B->A")
    mesh.configure(*both, **IDENTITY, **{"A->B.topics": "orders.v1", "B->A.topics": "orders-v.*"})
    refused = [topic_selection(flow).refusal("orders-v1") for flow in load([mesh.file]).flows]
    assert [error.way for error in refused if isinstance(error, TopicGoesRound)] == [("A", "B", "A"), ("B", "A", "B")]

    mesh.configure(*both, **IDENTITY, **{"A->B.topics": r"orders\.v1", "B->A.topics": "orders-v.*"})
    for alias, topic in (("A", "orders.v1"), ("B", "orders-v1")):
        mesh.create(alias, topic, 2)
        mesh.produce(alias, topic, partitions=2)
    for _ in range(3):
        mesh.copy(*both)
    assert [mesh.count(alias, topic) for alias in "AB" for topic in ("orders.v1", "orders-v1")] == [20] * 4
