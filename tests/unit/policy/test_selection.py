"""Which topics a flow mirrors: filter, internal topics and circles together."""

import pytest

from mirror.policy import DefaultReplicationPolicy, IdentityReplicationPolicy, ReplicationPolicy, TopicSelection
from mirror.policy.filters import DefaultTopicFilter

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
