"""Which topics a flow mirrors: filter, internal topics and circles together, also where source and target are one cluster."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kafka_mirror.errors import RemoteNameUnusable
from kafka_mirror.policy import DefaultReplicationPolicy, IdentityReplicationPolicy, ReplicationPolicy, TopicSelection
from kafka_mirror.policy.filters import DefaultTopicFilter
from kafka_mirror.policy.rename import Renames, RenamingPolicy

DEFAULT = DefaultReplicationPolicy({})
IDENTITY = IdentityReplicationPolicy({})


def selection(policy: ReplicationPolicy, *topics: str, target: str = "target", heartbeats: bool = True) -> TopicSelection:
    return TopicSelection("source", target, policy, DefaultTopicFilter(topics or (".*",), ()), heartbeats)


@pytest.mark.parametrize(
    ("topic", "default", "identity"),
    [
        ("topic1", True, True),
        ("source.topic1", True, True),
        ("target.topic1", False, True),
        ("target.source.topic1", False, True),
        ("source.target.topic1", False, True),
        ("target.source.target.topic1", False, True),
        ("source.target.source.topic1", False, True),
        ("heartbeats", True, True),
        ("othersource.heartbeats", True, True),
        ("target.heartbeats", False, False),
        ("source.target.heartbeats", False, False),
        ("source.checkpoints.internal", False, False),
        ("mm2-offset-syncs.source.internal", False, False),
        ("mm2-configs.target.internal", False, False),
        ("__consumer_offsets", False, False),
        ("user.internal", True, True),
        ("connect-offsets", True, True),
    ],
)
def test_circles_and_internal_topics_are_left_out(topic: str, default: bool, identity: bool) -> None:
    assert selection(DEFAULT).should_replicate(topic) is default
    assert selection(IDENTITY).should_replicate(topic) is identity


def test_a_circle_is_found_at_every_level_of_the_name() -> None:
    assert not selection(DEFAULT, target="backup").should_replicate("payments.backup.events")


def test_heartbeats_pass_a_filter_that_leaves_them_out_unless_switched_off() -> None:
    assert selection(DEFAULT, "orders").should_replicate("svc.heartbeats")
    assert not selection(DEFAULT, "orders", heartbeats=False).should_replicate("heartbeats")
    assert selection(DEFAULT, "heartbeats", heartbeats=False).should_replicate("heartbeats")


@pytest.mark.parametrize("policy", [DEFAULT, IDENTITY, DefaultReplicationPolicy({"replication.policy.separator": "_"})])
@pytest.mark.parametrize("kind", ["mm2-ledger", "mm2-control"])
def test_ledger_and_control_topics_are_never_mirrored(policy: ReplicationPolicy, kind: str) -> None:
    names = [f"{kind}.x.internal", f"{kind}_x_internal", f"east.{kind}.x.internal", f"east_{kind}_x_internal", f"a.b.{kind}__x__internal"]
    chosen = selection(policy, ".*", *names)
    assert [name for name in names if chosen.should_replicate(name)] == []


def test_the_remote_name_carries_the_source() -> None:
    assert selection(DEFAULT).remote("orders") == "source.orders"
    assert selection(IDENTITY).remote("orders") == "orders"


class Swapping(DefaultReplicationPolicy):
    """A policy whose names lead round in a circle."""

    def topic_source(self, topic: str) -> str | None:
        return "elsewhere"

    def upstream_topic(self, topic: str) -> str | None:
        return {"a": "b", "b": "a"}[topic]


def test_a_policy_that_leads_in_a_circle_does_not_hang() -> None:
    assert selection(Swapping({})).should_replicate("a")


LONG = "x" * 249
"""As long as a topic's name may be; with a prefix it is too long."""


def test_a_topic_whose_remote_name_kafka_would_not_take_is_meant_and_not_mirrored() -> None:
    chosen = selection(DEFAULT)
    assert (chosen.takes(LONG), chosen.should_replicate(LONG)) == (True, False)
    refusal = chosen.refusal(LONG)
    assert refusal is not None
    assert (refusal.code, refusal.topic, refusal.retriable) == ("RemoteNameUnusable", LONG, False)
    assert "has 256 characters, and Kafka takes 249 at most" in refusal.message
    assert "topics.exclude" in refusal.next
    assert chosen.display_name(LONG) == f"source.{LONG}"
    with pytest.raises(RemoteNameUnusable):
        chosen.remote(LONG)
    assert selection(IDENTITY).should_replicate(LONG)


@pytest.mark.parametrize("topic", ["orders", "left-out", "target.x", "__consumer_offsets"])
def test_of_every_other_topic_nothing_is_refused(topic: str) -> None:
    assert selection(DEFAULT, "orders").refusal(topic) is None


def test_a_topic_that_is_not_meant_is_not_refused_whatever_its_name() -> None:
    assert selection(DEFAULT, "orders").refusal(LONG) is None


class Fragile(DefaultReplicationPolicy):
    """A policy that fails at names which its author did not expect."""

    def format_remote_topic(self, alias: str, topic: str) -> str:
        return {"slash": "a/b", "empty": "", "dots": "..", "none": None}.get(topic, f"{alias}.{topic.index('o')}.{topic}")  # type: ignore[return-value]

    def topic_source(self, topic: str) -> str | None:
        return {"heartless": None}.get(topic) if topic != "unreadable" else [][0]


@pytest.mark.parametrize("topic", ["slash", "empty", "dots", "none", "heap", "unreadable"])
def test_a_policy_of_the_users_that_fails_leaves_out_the_topic_at_which_it_fails(topic: str) -> None:
    chosen = selection(Fragile({}))
    assert isinstance(chosen.refusal(topic), RemoteNameUnusable)
    assert not chosen.should_replicate(topic)
    assert chosen.should_replicate("orders")
    assert chosen.upstream(topic) is None
    assert chosen.from_target(topic) is None
    assert selection(Fragile({}), "orders").refusal(topic) is None, "the filter leaves it out"


def test_no_topic_came_from_one_whose_name_kafka_would_not_take() -> None:
    chosen = selection(DefaultReplicationPolicy({"replication.policy.separator": "_"}))
    assert (chosen.upstream("source_."), chosen.from_target("target_.."), chosen.from_target("target_x")) == (None, None, "x")


def test_topics_that_share_a_remote_name_are_refused_but_for_one_that_was_mirrored_before() -> None:
    class Shouting(DefaultReplicationPolicy):
        def format_remote_topic(self, alias: str, topic: str) -> str:
            return f"{alias}.{topic.upper()}"

    chosen = selection(Shouting({}))
    assert set(chosen.with_shared_remote_name(["a", "A", "b"])) == {"a", "A"}
    (refused,) = chosen.with_shared_remote_name(["a", "A", "b"], {"a"}).values()
    assert (refused.topic, "'source.A' is the remote name of 'a' too" in refused.message) == ("A", True), "both are named"


OF_EAST = IdentityReplicationPolicy({"source.cluster.alias": "east"})
NAMES = st.lists(st.sampled_from(["east", "west", "orders", "heartbeats", "v1"]), min_size=1, max_size=4).map(".".join)
POLICIES = st.sampled_from(
    [
        *(DefaultReplicationPolicy({"replication.policy.separator": each}) for each in (".", "_", "-", "..")),
        OF_EAST,
        RenamingPolicy(DefaultReplicationPolicy({}), {"east": Renames.parse(["orders.(.+) -> west.$1"])}, ("east", "west")),
        RenamingPolicy(
            OF_EAST,
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
    refusal = flow(OF_EAST, ".*").refusal(name)
    assert refusal is not None
    assert "is that of the topic itself" in refusal.message
