"""What has to agree: between the connectors of a flow, which no file can set apart, and between flows of opposite directions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.config import inheritance
from kafka_mirror.config.catalogue import TOP_LEVEL
from kafka_mirror.config.setting import Setting

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
