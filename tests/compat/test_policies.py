"""Names of remote and internal topics, and the choice of topics, as MirrorMaker 2's own classes give them."""

from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.policy import DefaultReplicationPolicy, IdentityReplicationPolicy, TopicSelection, is_ledger_or_control_topic
from kafka_mirror.policy.filters import DefaultTopicFilter
from tests.compat.peer import Peer, compared
from tests.compat.strategies import ALIASES, policy_properties, topic_names

_ABOUT_TOPICS = (
    "topic_source",
    "upstream_topic",
    "original_topic",
    "is_heartbeats_topic",
    "is_checkpoints_topic",
    "is_mm2_internal_topic",
    "is_internal_topic",
)


def policy_of(properties: Mapping[str, str], identity: bool) -> DefaultReplicationPolicy:
    return (IdentityReplicationPolicy if identity else DefaultReplicationPolicy)(properties)


@compared(400)
@given(policy_properties(), st.booleans(), st.lists(topic_names(), min_size=6, max_size=20), st.lists(ALIASES, min_size=1, max_size=3))
def test_a_policy_names_and_takes_apart_as_in_mirrormaker_2(
    peer: Peer, properties: dict[str, str], identity: bool, topics: Sequence[str], aliases: Sequence[str]
) -> None:
    policy = policy_of(properties, identity)
    told = peer.ask("policy", properties=properties, identity=identity, topics=topics, aliases=aliases)
    for topic, expected in zip(topics, told["topics"], strict=True):
        peer.cases["topic names"] += 1
        assert {name: getattr(policy, name)(topic) for name in _ABOUT_TOPICS} == expected, topic
    for alias, expected in zip(aliases, told["aliases"], strict=True):
        assert {
            "offset_syncs_topic": policy.offset_syncs_topic(alias),
            "checkpoints_topic": policy.checkpoints_topic(alias),
            "heartbeats_topic": policy.heartbeats_topic(),
            "remote": [policy.format_remote_topic(alias, topic) for topic in topics],
        } == expected, alias


@compared(400)
@given(
    policy_properties(),
    st.booleans(),
    st.tuples(ALIASES, ALIASES),
    st.booleans(),
    st.sampled_from([".*", "orders", "o.*,.*heartbeats", ""]),
    st.lists(topic_names(), min_size=6, max_size=20),
)
def test_a_flow_mirrors_the_topics_that_mirrormaker_2_mirrors(
    peer: Peer, properties: dict[str, str], identity: bool, flow: tuple[str, str], heartbeats: bool, include: str, topics: Sequence[str]
) -> None:
    source, target = flow
    properties = {**properties, "topics": include, "topics.exclude": ""}
    members = tuple(include.split(",")) if include else ()
    selection = TopicSelection(source, target, policy_of(properties, identity), DefaultTopicFilter(members, ()), heartbeats)
    expected = peer.ask(
        "selection", properties=properties, identity=identity, source=source, target=target, heartbeats=heartbeats, topics=topics
    )
    for topic, mirrored in zip(topics, expected, strict=True):
        peer.cases["choices of topics"] += 1
        if is_ledger_or_control_topic(topic):
            assert not selection.should_replicate(topic)
        else:
            assert selection.takes(topic) is mirrored, topic
