"""A flow whose source and target are one cluster (mirror.one.cluster): it never mirrors what it made itself."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kafka_mirror.policy import DefaultReplicationPolicy, IdentityReplicationPolicy, ReplicationPolicy, TopicSelection
from kafka_mirror.policy.filters import DefaultTopicFilter
from kafka_mirror.policy.rename import Renames, RenamingPolicy

IDENTITY = IdentityReplicationPolicy({"source.cluster.alias": "east"})
NAMES = st.lists(st.sampled_from(["east", "west", "orders", "heartbeats", "v1"]), min_size=1, max_size=4).map(".".join)
POLICIES = st.sampled_from(
    [
        *(DefaultReplicationPolicy({"replication.policy.separator": each}) for each in (".", "_", "-", "..")),
        IDENTITY,
        RenamingPolicy(DefaultReplicationPolicy({}), {"east": Renames.parse(["orders.(.+) -> west.$1"])}, ("east", "west")),
        RenamingPolicy(
            IDENTITY,
            {"east": Renames.parse(["orders -> v1", "v1 -> orders"])},
            ("east",),
        ),
    ]
)


def flow(policy: ReplicationPolicy, *topics: str, target: str = "west") -> TopicSelection:
    return TopicSelection("east", target, policy, DefaultTopicFilter(topics, ()), is_one_cluster=True)


def refreshed(selection: TopicSelection, names: frozenset[str]) -> frozenset[str]:
    """What the cluster holds once the remote topics are made."""
    return names | {selection.remote(name) for name in names if selection.should_replicate(name)}


@given(st.frozensets(NAMES, min_size=1, max_size=6), POLICIES, st.sampled_from([".*", ".*orders", "orders.*", ".+[.].+"]))
def test_a_second_refresh_makes_nothing_whatever_the_names(names: frozenset[str], policy: ReplicationPolicy, pattern: str) -> None:
    once = refreshed(flow(policy, pattern), names)
    assert refreshed(flow(policy, pattern), once) == once


@given(st.frozensets(NAMES, min_size=1, max_size=6), st.sampled_from([".", "_", "-"]))
def test_two_flows_of_opposite_directions_come_to_an_end(names: frozenset[str], separator: str) -> None:
    assume(not any(name.split(".")[0] in ("east", "west") for name in names))
    policy = DefaultReplicationPolicy({"replication.policy.separator": separator})
    there = flow(policy, ".*")
    back = TopicSelection("west", "east", policy, DefaultTopicFilter((".*",), ()), is_one_cluster=True)
    once = refreshed(back, refreshed(there, names))
    assert refreshed(back, refreshed(there, once)) == once


def test_topics_that_only_look_so_are_left_out_where_one_cluster_is_meant_and_taken_elsewhere() -> None:
    policy = DefaultReplicationPolicy({})
    assert not flow(policy, ".*").should_replicate("east.orders")
    assert flow(policy, "east.orders").should_replicate("east.orders"), "the flow does not take orders, so this is not its mirror"
    assert TopicSelection("east", "west", policy, DefaultTopicFilter((".*",), ())).should_replicate("east.orders")


@pytest.mark.parametrize("name", ["orders", "v1"])
def test_a_topic_that_would_be_its_own_mirror_is_named(name: str) -> None:
    refusal = flow(IDENTITY, ".*").refusal(name)
    assert refusal is not None
    assert "is that of the topic itself" in refusal.message
