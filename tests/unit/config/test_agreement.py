"""Flows of opposite directions that name remote topics differently."""

import pytest

HEAD = "clusters = a, b\na.bootstrap.servers = h:1\nb.bootstrap.servers = h:2\na->b.enabled = true\nb->a.enabled = true\n"


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
