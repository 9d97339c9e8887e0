"""Names of remote and internal topics, and the clusters that a topic came through: the rows and examples of MirrorMaker 2's own classes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.errors import ConfigurationError
from kafka_mirror.policy import DefaultReplicationPolicy, IdentityReplicationPolicy, is_ledger_of, is_ledger_or_control_topic, replication

SEPARATOR = "replication.policy.separator"
FLAG = "replication.policy.internal.topic.separator.enabled"
DOT = DefaultReplicationPolicy({})
UNDERSCORE = DefaultReplicationPolicy({SEPARATOR: "_"})
HYPHEN = DefaultReplicationPolicy({SEPARATOR: "-"})
LETTER = DefaultReplicationPolicy({SEPARATOR: "x"})
DOUBLE = DefaultReplicationPolicy({SEPARATOR: "__"})
IDENTITY = IdentityReplicationPolicy({"source.cluster.alias": "A"})


@pytest.mark.parametrize(
    ("topic", "source", "upstream", "original"),
    [
        ("topic", None, None, "topic"),
        ("A.my.topic", "A", "my.topic", "topic"),
        ("B.my.topic", "B", "my.topic", "topic"),
        ("payments.events", "payments", "events", "events"),
        ("a.", None, None, "a."),
        (".", None, None, "."),
        ("a..", None, None, "a.."),
        ("a..b", "a", ".b", "b"),
        (".b", "", "b", "b"),
        ("heartbeats", None, None, "heartbeats"),
        ("A.heartbeats", "A", "heartbeats", "heartbeats"),
        ("B.A.heartbeats", "B", "A.heartbeats", "heartbeats"),
        ("checkpoints.internal", "checkpoints", "internal", "internal"),
        ("foo.internal", "foo", "internal", "internal"),
        ("A.mm2-x.internal", "A", "mm2-x.internal", "internal"),
    ],
)
def test_default_policy_takes_the_first_part_for_the_source(topic: str, source: str | None, upstream: str | None, original: str) -> None:
    assert (DOT.topic_source(topic), DOT.upstream_topic(topic), DOT.original_topic(topic)) == (source, upstream, original)


@pytest.mark.parametrize(
    ("topic", "heartbeats", "checkpoints", "mm2", "internal"),
    [
        ("topic", False, False, False, False),
        (".b", False, False, False, True),
        ("heartbeats", True, False, False, False),
        ("A.heartbeats", True, False, False, False),
        ("B.A.heartbeats", True, False, False, False),
        ("svc.heartbeats", True, False, False, False),
        ("source1-heartbeats", False, False, False, False),
        ("heartbeats!", False, False, False, False),
        ("A.checkpoints.internal", False, True, True, True),
        ("checkpoints.internal", False, False, False, False),
        ("foo-internal", False, False, False, False),
        ("foo.internal", False, False, False, False),
        ("mm2-offsets.CLUSTER.internal", False, False, True, True),
        ("mm2.internal", False, False, True, True),
        ("mm2x.internal", False, False, True, True),
        ("A.mm2-x.internal", False, False, False, False),
        ("__consumer_offsets", False, False, False, True),
        ("mm2-offsets_CLUSTER_internal", False, False, False, False),
    ],
)
def test_default_policy_recognizes_internal_topics(topic: str, heartbeats: bool, checkpoints: bool, mm2: bool, internal: bool) -> None:
    found = (
        DOT.is_heartbeats_topic(topic),
        DOT.is_checkpoints_topic(topic),
        DOT.is_mm2_internal_topic(topic),
        DOT.is_internal_topic(topic),
    )
    assert found == (heartbeats, checkpoints, mm2, internal)


def test_default_policy_names_the_internal_topics() -> None:
    assert DOT.format_remote_topic("A", "topic") == "A.topic"
    assert DOT.heartbeats_topic() == "heartbeats"
    assert DOT.offset_syncs_topic("A") == "mm2-offset-syncs.A.internal"
    assert DOT.checkpoints_topic("A") == "A.checkpoints.internal"
    assert DOT.ledger_topic("A") == "mm2-ledger.A.internal"
    assert DOT.control_topic("A") == "mm2-control.A.internal"


def test_another_separator_reaches_the_internal_topics_too() -> None:
    assert (UNDERSCORE.topic_source("A_topic"), UNDERSCORE.topic_source("A.topic")) == ("A", None)
    assert [UNDERSCORE.is_internal_topic(t) for t in ("x.internal", "mm2-a.internal", "mm2-a_internal", "A_checkpoints_internal")] == [
        False,
        False,
        True,
        True,
    ]
    assert UNDERSCORE.offset_syncs_topic("A") == "mm2-offset-syncs_A_internal"
    assert UNDERSCORE.checkpoints_topic("A") == "A_checkpoints_internal"
    assert UNDERSCORE.ledger_topic("A") == "mm2-ledger_A_internal"
    assert UNDERSCORE.heartbeats_topic() == "heartbeats"


def test_a_separator_of_two_characters_is_taken_whole() -> None:
    assert DOUBLE.offset_syncs_topic("CLUSTER") == "mm2-offset-syncs__CLUSTER__internal"
    assert DOUBLE.checkpoints_topic("CLUSTER") == "CLUSTER__checkpoints__internal"
    assert not DOUBLE.is_heartbeats_topic("us-west.heartbeats")
    assert DOUBLE.is_heartbeats_topic("us_west__heartbeats")
    assert (DOUBLE.topic_source("a___"), DOUBLE.upstream_topic("a___"), DOUBLE.topic_source("a____")) == ("a", "_", None)


def test_the_internal_separator_can_be_switched_off_beside_a_separator() -> None:
    policy = DefaultReplicationPolicy({SEPARATOR: "_", FLAG: "false"})
    assert policy.format_remote_topic("A", "t") == "A_t"
    assert policy.offset_syncs_topic("A") == "mm2-offset-syncs.A.internal"
    assert policy.checkpoints_topic("A") == "A.checkpoints.internal"
    assert policy.ledger_topic("A") == "mm2-ledger.A.internal"


@pytest.mark.parametrize(("word", "separator"), [("TRUE", "_"), ("true ", "."), (" true", "."), ("", ".")])
def test_only_the_very_word_true_keeps_the_internal_separator(word: str, separator: str) -> None:
    assert DefaultReplicationPolicy({SEPARATOR: "_", FLAG: word}).checkpoints_topic("A") == f"A{separator}checkpoints{separator}internal"


def test_the_separator_keeps_its_blanks_and_may_not_be_empty() -> None:
    assert DefaultReplicationPolicy({SEPARATOR: " "}).format_remote_topic("A", "t") == "A t"
    with pytest.raises(ConfigurationError, match="IdentityReplicationPolicy"):
        DefaultReplicationPolicy({SEPARATOR: ""})


@pytest.mark.parametrize(
    ("topic", "remote", "source", "upstream", "original"),
    [
        ("topic", "topic", "A", "topic", "topic"),
        ("B.topic", "B.topic", "A", "B.topic", "B.topic"),
        ("heartbeats", "A.heartbeats", None, None, "heartbeats"),
        ("B.heartbeats", "A.B.heartbeats", "B", "heartbeats", "heartbeats"),
        ("myheartbeats", "A.myheartbeats", None, None, "myheartbeats"),
    ],
)
def test_identity_policy_keeps_names_but_those_of_heartbeats(
    topic: str, remote: str, source: str | None, upstream: str | None, original: str
) -> None:
    assert IDENTITY.format_remote_topic("A", topic) == remote
    assert (IDENTITY.topic_source(topic), IDENTITY.upstream_topic(topic), IDENTITY.original_topic(topic)) == (source, upstream, original)


def test_identity_policy_without_alias_knows_no_source_and_names_internal_topics_as_the_default() -> None:
    assert IdentityReplicationPolicy({}).topic_source("topic") is None
    assert IDENTITY.checkpoints_topic("A") == DOT.checkpoints_topic("A")
    assert IDENTITY.offset_syncs_topic("A") == DOT.offset_syncs_topic("A")
    assert IDENTITY.ledger_topic("A") == DOT.ledger_topic("A")


@given(st.sampled_from([DOT, UNDERSCORE, DOUBLE]), st.text("abc", min_size=1), st.text("ab._-", min_size=1))
def test_a_remote_topic_leads_back_to_its_source(policy: DefaultReplicationPolicy, alias: str, topic: str) -> None:
    remote = policy.format_remote_topic(alias, topic)
    if topic.replace(policy.separator, ""):
        assert (policy.topic_source(remote), policy.upstream_topic(remote)) == (alias, topic)


@pytest.mark.parametrize("policy", [DOT, UNDERSCORE, DOUBLE, HYPHEN, LETTER])
@pytest.mark.parametrize("alias", ["east", "us-west", "a.b", "_", "1"])
def test_ledger_and_control_topics_are_known_under_any_policy(policy: DefaultReplicationPolicy, alias: str) -> None:
    for own in (policy.ledger_topic(alias), policy.control_topic(alias)):
        remote = policy.format_remote_topic("north", own)
        assert [is_ledger_or_control_topic(name) for name in (own, remote, f"east.{remote}")] == [True, True, True]


@pytest.mark.parametrize(
    "topic",
    [
        "mm2-ledger",
        "ledger.east.internal",
        "mm2-offset-syncs.east.internal",
        "mm2-ledger.east",
        "mm2-ledger.east.internal.x",
        "mm2-control_internal",
    ],
)
def test_other_topics_are_no_ledgers(topic: str) -> None:
    assert not is_ledger_or_control_topic(topic)


def test_a_ledger_is_known_by_its_source_under_any_separator():
    names = ["mm2-ledger.east.internal", "mm2-ledger-east-internal", "mm2-ledger__east__internal"]
    assert [is_ledger_of(name, "east") for name in names] == [True] * len(names)
    for other in (
        "mm2-ledger.east2.internal",
        "mm2-ledger.north.east.internal",
        "mm2-control.east.internal",
        "west.mm2-ledger.east.internal",
    ):
        assert not is_ledger_of(other, "east")


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
