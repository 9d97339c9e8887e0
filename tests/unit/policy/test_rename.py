"""Topics under other names: what a rule means, that it can be read backwards, and that no two topics come to one name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.policy import DefaultReplicationPolicy, IdentityReplicationPolicy
from kafka_mirror.policy.rename import RenameRefused, RenameRule, Renames, RenamingPolicy

REMOTE_NAMES = DefaultReplicationPolicy({})


def policy(*rules, of=REMOTE_NAMES, aliases=("east", "west", "north")):
    return RenamingPolicy(of, {"east": Renames.parse(rules)}, aliases)


@pytest.mark.parametrize(
    ("rule", "topic", "name"),
    [
        ("orders -> sales", "orders", "sales"),
        ("orders -> sales", "orders2", None),
        ("shop.(.+) -> store.$1", "shop.orders", "store.orders"),
        ("shop.(.+) -> store.$1", "shopXorders", None),
        (r"shop\.(.+)\.v1 -> store.$1", "shop.orders.v1", "store.orders"),
        ("shop[.](.+) -> $1", "shop.orders", "orders"),
        ("(eu|us)-(.*) -> $2_$1", "eu-orders", "orders_eu"),
        ("(eu|us)-(.*) -> $2_$1", "ap-orders", None),
        ("t((a|b){2}) -> $1", "tab", "ab"),
        (r"(v[)]?\d) -> x$1", "v1", "xv1"),
    ],
)
def test_a_rule_renames_what_it_matches_as_a_whole_and_back(rule, topic, name):
    parsed = RenameRule.parse(rule)
    assert parsed.rename(topic) == name
    assert name is None or parsed.restore(name) == topic


@pytest.mark.parametrize(
    ("rule", "complaint"),
    [
        ("orders", "is no rule; it must be pattern -> replacement"),
        (" -> sales", "neither side may be empty"),
        ("orders -> ", "neither side may be empty"),
        ("shop.* -> store", r"put '\*' into"),
        ("shop.(.+) -> store", "each group of the pattern has to stand once"),
        ("shop.(.+) -> $1.$1", "each group of the pattern has to stand once"),
        ("shop -> $1", "each group of the pattern has to stand once"),
        ("shop.(?:a|b) -> x", "a plain one"),
        ("shop.(a -> x$1", "a group is not closed"),
        ("shop.([a) -> x$1", "a group is not closed"),
        (r"shop.((a)\1) -> x$1", "."),
        ("orders -> sales/eu", "not '/'"),
    ],
)
def test_what_cannot_be_read_backwards_is_refused_with_what_is_wrong(rule, complaint):
    with pytest.raises(ValueError, match=complaint):
        RenameRule.parse(rule)


def test_the_first_rule_that_is_for_a_topic_counts():
    renames = Renames.parse(("shop.orders -> sales", "shop.(.+) -> store.$1"))
    assert [renames.rename(topic) for topic in ("shop.orders", "shop.clicks", "other")] == ["sales", "store.clicks", "other"]
    assert renames.restore("store.clicks") == "shop.clicks"
    assert renames.restore("store.orders") == "store.orders", "the first rule takes shop.orders elsewhere"
    assert renames.restore("shop.clicks") is None


RULES = st.lists(
    st.sampled_from(
        [
            "a(.*) -> b$1",
            "b(.*) -> a$1",
            "(.*)-(.*) -> $2-$1",
            "a.(b+) -> $1",
            "(a|b)(.*)b -> x.$2$1",
            "a -> b",
            "x(.) -> $1",
            "(a*)(b*) -> $2$1",
            "a-(x*) -> $1",
            "x([^.]*) -> $1",
        ]
    ),
    max_size=4,
    unique=True,
)
NAMES = st.text("abx.-", min_size=1, max_size=6).filter(lambda name: name.strip("."))


@given(RULES, st.lists(NAMES, min_size=2, max_size=8, unique=True))
def test_no_two_topics_come_to_one_name_and_each_is_told_back(rules, topics):
    renamed, remotes = policy(*rules), {}
    for topic in topics:
        try:
            remotes[topic] = renamed.format_remote_topic("east", topic)
        except RenameRefused:
            continue
    assert len(set(remotes.values())) == len(remotes)
    assert {topic: renamed.upstream_topic(remote) for topic, remote in remotes.items()} == {topic: topic for topic in remotes}


@pytest.mark.parametrize(
    ("rules", "topic", "complaint"),
    [
        (("orders -> sales",), "sales", "is by mirror.rename that of 'orders', whether there is such a topic or not"),
        (("(.*)-(.*) -> $2-$1",), "a-b-c", "by mirror.rename"),
        (("orders -> heartbeats",), "orders", "one of the mirror's own"),
        (("orders -> mm2-offset-syncs.x.internal",), "orders", "one of the mirror's own"),
        (("north.(.+) -> hq.$1",), "north.orders", "which clusters the topic came through"),
        (("v1-([^.]*) -> $1",), "v1-", "is empty after the prefix"),
        (("(.+) -> west.$1",), "orders", "which clusters the topic came through"),
    ],
)
def test_a_name_that_is_not_the_topics_alone_is_refused(rules, topic, complaint):
    with pytest.raises(RenameRefused, match=complaint):
        policy(*rules).format_remote_topic("east", topic)


def test_heartbeats_and_internal_topics_keep_their_names():
    renamed = policy("(.+) -> x.$1")
    assert renamed.format_remote_topic("east", "heartbeats") == "east.heartbeats"
    assert renamed.upstream_topic("east.heartbeats") == "heartbeats"
    for topic in ("ledger_topic", "control_topic", "checkpoints_topic", "offset_syncs_topic"):
        assert getattr(renamed, topic)("east") == getattr(REMOTE_NAMES, topic)("east")
    for asked in ("is_heartbeats_topic", "is_checkpoints_topic", "is_mm2_internal_topic", "is_internal_topic"):
        for topic in ("heartbeats", "east.checkpoints.internal", "mm2-offset-syncs.east.internal", "__consumer_offsets", "orders"):
            assert getattr(renamed, asked)(topic) == getattr(REMOTE_NAMES, asked)(topic)


def test_only_topics_of_the_cluster_that_the_rules_are_of_are_renamed():
    renamed = policy("orders -> sales")
    assert renamed.format_remote_topic("north", "orders") == "north.orders"
    assert (renamed.upstream_topic("north.sales"), renamed.upstream_topic("east.sales")) == ("sales", "orders")
    assert renamed.upstream_topic("east.orders") == "orders", "it was mirrored before the rule, or by others"
    assert renamed.upstream_topic("sales") is None


def test_where_names_are_kept_the_rules_alone_name_topics():
    renamed = policy("shop.(.+) -> store.$1", of=IdentityReplicationPolicy({"source.cluster.alias": "east"}))
    assert renamed.format_remote_topic("east", "shop.orders") == "store.orders"
    assert renamed.upstream_topic("store.orders") == "shop.orders"
    assert renamed.original_topic("store.orders") == "shop.orders"
