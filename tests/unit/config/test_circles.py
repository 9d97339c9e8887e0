"""What shows only when all flows are seen together: circles, flows of one id, flows that several files define."""

from dataclasses import replace
from itertools import pairwise, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.config import inheritance
from kafka_mirror.config.catalogue import TOP_LEVEL
from kafka_mirror.config.catalogue.mm2 import IDENTITY_POLICY
from kafka_mirror.config.flow import Flow
from kafka_mirror.config.load import flows_leading_back
from kafka_mirror.config.policies import topic_selection
from kafka_mirror.config.references import References
from kafka_mirror.config.setting import Setting
from kafka_mirror.errors import TopicGoesRound

TOPICS = ("x", "y", "z", "xy", "x.y", "x-y", "xzy", "x-1")
PATTERNS = st.lists(
    st.sampled_from((*TOPICS, ".*", "x.*", "[xy]", "x|z", r"x\.y", "y?", "(?i)X", "x[-.]?.", "(?!y).*")),
    min_size=1,
    max_size=3,
    unique=True,
)
EXCLUDED = st.lists(st.sampled_from((*TOPICS, "x.", ".*y")), max_size=2, unique=True)
PAIRS = st.lists(st.sampled_from(list(permutations("abcde", 2))), max_size=10, unique=True)


def made(source: str, target: str, topics: list[str], excluded: list[str]) -> Flow:
    texts = {
        "source.cluster.alias": source,
        "target.cluster.alias": target,
        "topics": ",".join(topics),
        "topics.exclude": ",".join(excluded),
        "replication.policy.class": IDENTITY_POLICY,
    }
    return Flow(source, target, {name: Setting(text, name) for name, text in texts.items()}, {}, References({}))


def together(flows: list[Flow]) -> list[Flow]:
    """The flows as a configuration has them: each with those that lead back."""
    leading_back = flows_leading_back(flows)
    return [replace(flow, leading_back=leading_back[flow.name]) for flow in flows]


@st.composite
def meshes(draw: st.DrawFn) -> list[Flow]:
    return [made(source, target, draw(PATTERNS), draw(EXCLUDED)) for source, target in draw(PAIRS)]


def going_round(flows: list[Flow], topic: str) -> set[str]:
    """The flows over which this topic comes back to where it was, if each flow chooses by itself."""
    edges = {(flow.source, flow.target) for flow in flows if topic_selection(flow).should_replicate(topic)}
    ways = set(edges)
    while True:
        longer = {(one, end) for one, middle in ways for begin, end in edges if middle == begin} | ways
        if longer == ways:
            return {f"{source}->{target}" for source, target in edges if (target, source) in ways}
        ways = longer


@given(meshes())
def test_exactly_the_topics_that_would_go_round_are_left_out_by_exactly_the_flows_of_their_circle(flows: list[Flow]) -> None:
    selections = {flow.name: topic_selection(flow) for flow in together(flows)}
    for topic in TOPICS:
        refused = {name for name, selection in selections.items() if isinstance(selection.refusal(topic), TopicGoesRound)}
        assert refused == going_round(flows, topic)
        assert not any(selections[name].should_replicate(topic) for name in refused)


@given(meshes())
def test_every_way_that_is_written_out_is_one_over_flows_that_take_the_topic(flows: list[Flow]) -> None:
    alone = {flow.name: topic_selection(flow) for flow in flows}
    for flow in together(flows):
        for topic in TOPICS:
            error = topic_selection(flow).refusal(topic)
            if isinstance(error, TopicGoesRound):
                assert error.way[:2] == (flow.source, flow.target)
                assert error.way[-1] == flow.source
                assert all(alone[f"{source}->{target}"].should_replicate(topic) for source, target in pairwise(error.way))


def test_in_a_large_mesh_each_cluster_is_visited_once_for_a_topic() -> None:
    aliases = [f"c{number}" for number in range(12)]
    downwards = [made(one, other, [".*"], []) for place, one in enumerate(aliases) for other in aliases[place + 1 :]]
    assert not any(flow.leading_back for flow in together(downwards))
    *flows, upwards = (topic_selection(flow) for flow in together([*downwards, made("c11", "c0", ["x"], [])]))
    errors = [selection.refusal("x") for selection in (*flows, upwards)]
    assert {error.way[::3] for error in errors if isinstance(error, TopicGoesRound) and error.way[:2] == ("c0", "c11")} == {("c0",)}
    assert [error is None for error in errors] == [False] * len(errors)
    assert {selection.refusal("y") for selection in flows} == {None}


KEPT = "replication.policy.class = org.apache.kafka.connect.mirror.IdentityReplicationPolicy\n"


@pytest.fixture
def way(configuration):
    """`way(lines, topic)`: how the topic would come back over the enabled flows of a, b and c, by the first of them."""

    def find(lines, topic="orders", enabled=("a->b", "b->a"), clusters="abc"):
        aliases = "".join(f"{alias}.bootstrap.servers = h:{port}\n" for port, alias in enumerate(clusters, start=1))
        named = "".join(f"{name}.enabled = true\n" for name in enabled)
        found = configuration(f"clusters = {', '.join(clusters)}\n{aliases}{named}{lines}\n")
        assert not found.invalid
        error = topic_selection(found.flow(enabled[0])).refusal(topic)
        return " ".join(error.way) if isinstance(error, TopicGoesRound) else error

    return find


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("", "a b a"),
        ("a->b.topics = or.*\nb->a.topics = a, orders", "a b a"),
        ("a->b.topics = order.\nb->a.topics = (?i)ORDERS", "a b a"),
        ("b->a.topics = clicks", None),
        ("a->b.topics.exclude = ord.*", None),
        ("b->a.mirror.way.back = true", None),
        ("a->b.mirror.way.back = true", None),
        ("b->a.replication.policy.class = org.apache.kafka.connect.mirror.DefaultReplicationPolicy", None),
    ],
)
def test_a_kept_name_comes_back_by_the_opposite_flow_that_takes_it(way, lines, expected):
    assert way(KEPT + lines) == expected


def test_a_dot_takes_any_character(way):
    lines = KEPT + "a->b.topics = orders-v1, orders.v1\nb->a.topics = {}"
    assert way(lines.format("orders.v1"), "orders-v1") == "a b a"
    assert way(lines.format(r"orders\\.v1"), "orders-v1") is None


def test_a_longer_way_round_is_found_and_a_chain_is_none(way):
    around = ("a->b", "b->c", "c->a")
    assert way(KEPT, enabled=around) == "a b c a"
    assert way(KEPT, enabled=("a->b", "b->c", "a->c")) is None
    assert way(KEPT + "b->c.topics = x-.*", enabled=around) is None
    # A flow in between knows of no cutover.
    assert way(KEPT + "c->a.mirror.way.back = true", enabled=around) == "a b c a"


def test_heartbeats_of_flows_that_keep_names_have_the_alias_in_front_and_do_not_come_back(way):
    assert way(KEPT, "heartbeats") is None


def test_the_default_policy_brings_nothing_back_but_where_an_alias_has_the_separator_in_it(way):
    dotted = {"enabled": ("dc1.a->b", "b->dc1.a"), "clusters": ("dc1.a", "b")}
    assert way("") is None
    assert way("", **dotted) == "dc1.a b dc1.a"
    assert way("replication.policy.separator = _", **dotted) is None
    assert way("b->dc1.a.topics = clicks", **dotted) is None
    assert way("", enabled=("dc1.a->b",), clusters=("dc1.a", "b")) is None


def test_a_run_that_was_planned_before_a_circle_was_configured_is_planned_again(configuration):
    head = f"clusters = a, b\na.bootstrap.servers = h:1\nb.bootstrap.servers = h:2\n{KEPT}a->b.enabled = true\n"
    alone, opposed = (configuration(head + lines).flow("a->b").config_hash for lines in ("", "b->a.enabled = true\n"))
    assert alone != opposed


HEAD = "clusters = a, b\na.bootstrap.servers = h:1\nb.bootstrap.servers = h:2\na->b.enabled = true\nb->a.enabled = true\n"
IDENTITY = "replication.policy.class = org.apache.kafka.connect.mirror.IdentityReplicationPolicy\n"


@pytest.fixture
def told(configuration):
    """Flow -> what its notices say of the naming."""

    def notices(lines):
        found = configuration(HEAD + lines)
        assert not found.invalid
        return {flow.name: [each for each in flow.notices if "name remote topics differently" in each] for flow in found.flows}

    return notices


def test_another_separator_on_the_way_back_is_told_to_both_with_both_keys(told):
    found = told("a->b.replication.policy.separator = _\n")
    assert found["a->b"] == found["b->a"] != []
    assert "replication.policy.separator of a->b is '_' by a->b.replication.policy.separator, but " in found["a->b"][0]
    assert "replication.policy.separator of b->a is '.' by default" in found["a->b"][0]


def test_another_policy_on_the_way_back_is_told(told):
    found = told("b->a.replication.policy.class = org.apache.kafka.connect.mirror.IdentityReplicationPolicy\n")
    assert "by b->a.replication.policy.class" in found["b->a"][0]


@pytest.mark.parametrize(
    "lines",
    [
        "",
        "replication.policy.separator = _\n",
        "a->b.replication.policy.separator = _\nb->a.replication.policy.separator = _\n",
        "a->b.replication.policy.separator = _\na->b.topics = orders\nb->a.topics = clicks\n",
    ],
)
def test_flows_that_agree_or_mirror_different_topics_are_left_in_peace(told, lines):
    assert told(lines) == {"a->b": [], "b->a": []}


def test_flows_that_do_not_lead_back_may_name_as_they_like(configuration):
    text = HEAD.replace("a, b", "a, b, c").replace("b->a", "b->c") + "c.bootstrap.servers = h:3\na->b.replication.policy.separator = _\n"
    assert [flow.notices for flow in configuration(text).flows] == [(), ()]


@pytest.mark.parametrize(
    ("lines", "is_told"),
    [
        (IDENTITY, True),
        (IDENTITY + "a->b.topics = x, orders\nb->a.topics = orders\n", True),
        (IDENTITY + "a->b.topics = orders\nb->a.topics = clicks\n", False),
        (IDENTITY + "b->a.mirror.way.back = true\n", False),
        ("replication.policy.separator = a\n", True),
        ("", False),
    ],
)
def test_two_flows_that_name_the_same_topics_are_told_where_a_remote_name_does_not_tell_its_origin(configuration, lines, is_told):
    found = configuration(HEAD + lines)
    assert not found.invalid
    told = [[notice for notice in flow.notices if "TopicGoesRound" in notice] for flow in found.flows]
    assert told[0] == told[1]
    assert bool(told[0]) == is_told


AGREED = (
    *("topics", "topics.exclude", "topic.filter.class", "offset-syncs.topic.location", "emit.offset-syncs.enabled"),
    *("replication.policy.class", "replication.policy.separator", "replication.policy.internal.topic.separator.enabled"),
)
CONNECTORS = ("MirrorSourceConnector", "MirrorCheckpointConnector", "MirrorHeartbeatConnector")
PREFIXES = (
    *("", "a->b.", "a.", "b.", "source.", "target.", "checkpoint.", "heartbeat.", "source.connector.", "checkpointConnector."),
    *(f"{before}{name}." for name in CONNECTORS for before in ("", "a->b.", "b.")),
)


@given(st.dictionaries(st.builds(str.__add__, st.sampled_from(PREFIXES), st.sampled_from(AGREED)), st.sampled_from(["x", "y", "_"])))
def test_no_file_gives_one_connector_of_a_flow_what_the_others_do_not_get(file):
    """What the connectors have to agree upon is one object of the flow, so a disagreement could not even be read from a file."""
    raw = {key: Setting(text, key) for key, text in file.items()}
    maps = [inheritance.connector_properties(raw, "a", "b", TOP_LEVEL, connector) for connector in CONNECTORS]
    agreed = [{key: value for key, value in each.items() if key not in ("name", "connector.class")} for each in maps]
    assert agreed[0] == agreed[1] == agreed[2]


@pytest.mark.parametrize("key", ["MirrorCheckpointConnector.topics", "a->b.checkpoint.offset-syncs.topic.location"])
def test_a_key_for_one_connector_alone_is_told_to_have_no_effect(configuration, key):
    found = configuration(HEAD + f"{key} = x\n")
    told = [*found.notices, *(notice for flow in found.flows for notice in flow.notices)]
    assert [f"{key} has no effect, in MirrorMaker 2 neither" in notice for notice in told] == [True]


@pytest.mark.parametrize("lines", ["", IDENTITY])
def test_two_flows_that_are_each_others_way_back_are_both_refused(configuration, lines):
    found = configuration(f"{HEAD}{lines}a->b.mirror.way.back = true\nb->a.mirror.way.back = true\n")
    said = {str(problem) for each in found.invalid for problem in each.error.problems}
    assert {each.name for each in found.invalid} == {"a->b", "b->a"}
    assert len([each for each in said if "neither ever copies a topic" in each and "mirror.way.back" in each]) == 2, said


def test_one_way_back_is_not_refused(configuration):
    assert not configuration(f"{HEAD}b->a.mirror.way.back = true\n").invalid
