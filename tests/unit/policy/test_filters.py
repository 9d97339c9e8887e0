"""Which names the filters take; members of `topics` and `groups` that take nothing now; and patterns that no name can match."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.errors import ConfigurationError
from kafka_mirror.policy import DefaultReplicationPolicy, IdentityReplicationPolicy, TopicFilter, TopicSelection
from kafka_mirror.policy.filters import (
    ANY_TEXT,
    IN_NAMES,
    LONGEST,
    DefaultConfigPropertyFilter,
    DefaultGroupFilter,
    DefaultTopicFilter,
    explain_impossible,
)
from kafka_mirror.policy.java_regex import compile_java

DEFAULT_EXCLUDES = (r"mm2.*\.internal", r".*\.replica", "__.*")


def accepted(include: tuple[str, ...], exclude: tuple[str, ...], names: list[str]) -> list[str]:
    topics = DefaultTopicFilter(include, exclude)
    groups = DefaultGroupFilter(include, exclude)
    found = [name for name in names if topics.should_replicate(name)]
    assert found == [name for name in names if groups.should_replicate(name)]
    return found


def test_a_member_has_to_match_the_whole_name() -> None:
    assert accepted(("orders", "pay.*"), (), ["orders", "orders2", "xorders", "pay", "payments"]) == ["orders", "pay", "payments"]


def test_an_exclude_wins() -> None:
    assert accepted((".*",), DEFAULT_EXCLUDES, ["a", "a.replica", "__x", "mm2-offsets.a.internal", "a.internal"]) == ["a", "a.internal"]


def test_an_empty_include_takes_nothing() -> None:
    assert accepted((), (), ["a", ""]) == []


def test_members_are_joined_as_text_so_that_a_flag_reaches_the_next() -> None:
    assert accepted(("(?i)a", "b"), (), ["A", "B"]) == ["A", "B"]


def test_a_topic_written_like_a_name_is_expected_on_the_source() -> None:
    assert DefaultTopicFilter(("orders", "eu.pay", "x.*", "a|b"), ()).literal_names == ("orders", "eu.pay")


def test_every_wrong_list_is_named_with_its_wrong_member() -> None:
    with pytest.raises(ConfigurationError) as refusal:
        DefaultTopicFilter(("fine", "a(b"), ("*x",))
    assert [(problem.property, problem.value) for problem in refusal.value.problems] == [("topics", "a(b"), ("topics.exclude", "*x")]
    assert "not closed" in str(refusal.value)


def test_configs_are_taken_unless_excluded() -> None:
    config_filter = DefaultConfigPropertyFilter(("min.insync.replicas", "follower.*"))
    names = ["retention.ms", "min.insync.replicas", "follower.replication.throttled.replicas"]
    assert [name for name in names if config_filter.should_replicate(name)] == ["retention.ms"]
    assert DefaultConfigPropertyFilter(()).should_replicate("min.insync.replicas")


@pytest.mark.parametrize(("word", "expected"), [("source", True), ("target", False), ("Source", False), ("", False)])
def test_only_the_word_source_takes_defaults_from_the_source(word: str, expected: bool) -> None:
    assert DefaultConfigPropertyFilter((), word).use_defaults_from_source is expected


POLICY = DefaultReplicationPolicy({})


def idle(topics, names, exclude=(), **fields):
    selection = TopicSelection("east", "west", POLICY, DefaultTopicFilter(topics, exclude), **fields)
    return selection.idle_members(names)


def test_a_misspelt_member_is_named_beside_one_that_takes_a_topic():
    found = idle(["bils", "orders.*", "x[0-9]"], ["bills", "orders.v1"])
    assert (found.members, found.is_whole_list, found.is_amiss) == (("bils", "x[0-9]"), False, False)
    assert str(found) == "topics: no topic of east is taken by 'bils', 'x[0-9]'; all that others take is."


@pytest.mark.parametrize("names", [[], ["bills"], ["west.bils", "__bils", "mm2-bils.internal"]])
def test_a_list_that_takes_nothing_is_amiss(names):
    found = idle(["bils"], names)
    assert found.is_amiss and "No topic of east is taken by topics ('bils')" in str(found)


def test_what_is_excluded_or_came_from_the_target_is_not_taken():
    assert idle(["orders"], ["orders"], ["ord.*"]).is_amiss
    assert idle(["west.*"], ["west.orders", "west.x"]).is_amiss


def test_nothing_is_said_where_every_member_takes_a_topic():
    assert idle([".*", "orders"], ["orders"]) is None


@pytest.mark.parametrize("names", [[], ["west.orders", "west.heartbeats", "__consumer_offsets"]])
def test_a_flow_of_everything_waits_for_the_first_topic_and_nothing_is_amiss(names):
    found = idle(["^(?!__.*$).*"], names)
    assert found.is_whole_list and not found.is_amiss
    assert str(found) == "east has no topic yet that this flow takes (topics); the first one that comes is taken."


def test_a_topic_that_a_cutover_moved_counts_as_taken_and_a_way_back_waits_for_one():
    assert idle(["orders"], ["orders"], moved=frozenset({"orders"})) is None
    assert idle(["orders"], [], returned=frozenset()) is None


def test_members_that_only_mean_something_together_are_judged_together():
    assert idle(["(a", "b)c"], ["x"]).members == ("(a|b)c",)
    assert idle(["(?i)x", "orders"], ["ORDERS"]) is None


def test_an_empty_list_takes_nothing():
    assert "topics (empty)" in str(idle([], ["orders"]))


def test_heartbeats_that_come_whatever_the_list_says_do_not_make_it_whole():
    assert idle(["ordres"], ["heartbeats", "orders"]).is_amiss


class OwnFilter(TopicFilter):
    def should_replicate(self, topic):
        return topic.startswith("own")


@pytest.mark.parametrize(("names", "amiss"), [(["x"], True), (["own"], False)])
def test_a_filter_of_ones_own_has_no_members_and_is_asked_as_a_whole(names, amiss):
    found = TopicSelection("east", "west", POLICY, OwnFilter()).idle_members(names)
    assert (found is not None and found.is_amiss) is amiss
    assert found is None or "by topic.filter.class: nothing" in str(found)


def test_with_names_kept_both_ways_a_side_without_topics_of_its_own_is_not_amiss():
    keeps = IdentityReplicationPolicy({"source.cluster.alias": "east"})
    selection = TopicSelection("east", "west", keeps, DefaultTopicFilter([".*"], ["a[.].*"]))
    assert not selection.idle_members(["a.orders", "a.pay"]).is_amiss


PIECES = ["a", "B", "7", "-", "_", r"\.", ".", "[a-c]", "[^a]", r"\d", r"\W", '"', "'", " ", "\r", ",", "é", r"\[", "[ -]", "[ !]"]
NAMES = st.text(alphabet="aBc7-_.", min_size=1, max_size=6)


@st.composite
def patterns(draw, pieces=tuple(PIECES), depth=2):
    """Patterns of pieces, groups, alternatives and counts."""
    alternatives = []
    for _ in range(draw(st.integers(1, 2))):
        parts = []
        for _ in range(draw(st.integers(1, 3))):
            is_group = depth and draw(st.integers(0, 3)) == 0
            part = f"({draw(patterns(pieces, depth - 1))})" if is_group else draw(st.sampled_from(pieces))
            parts.append(part + draw(st.sampled_from(["", "", "", "?", "{2}", "*", "+", "{0,2}"])))
        alternatives.append("".join(parts))
    return "|".join(alternatives)


def takes(pattern):
    try:
        compile_java(pattern)
    except ValueError:
        return False
    return True


@given(patterns((*PIECES, "^", "$", "(?=x)", "(?!a)")).filter(takes), NAMES)
def test_a_pattern_that_matches_some_name_is_possible(pattern, name):
    if compile_java(pattern).matches(name):
        assert explain_impossible(pattern, IN_NAMES, LONGEST) == ""


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ('"orders', "'\"' cannot stand there"),
        ("'orders'", "''' cannot stand there"),
        ("orders payments", "' ' cannot stand there"),
        (".*\replica", r"'\r' cannot stand there"),
        (r"orders\[0\]", r"'\[' cannot stand there"),
        ("orders;payments", "';' cannot stand there"),
        ("orders/payments", "'/' cannot stand there"),
        ("$ENV-orders", "'E' cannot stand there"),
        ("orders-($ENV|^x)", "'E' cannot stand there"),
        ("orders^", "'^' cannot stand there"),
        ("[ ,]orders|#.*", "'[ ,]' cannot stand there"),
        ("é.*", "'é' cannot stand there"),
        ("(ab){125}", "it takes 250 characters at least, and a name has at most 249"),
    ],
)
def test_what_stands_in_no_name_is_named(pattern, why):
    assert explain_impossible(pattern, IN_NAMES, LONGEST) == why


@pytest.mark.parametrize(
    "pattern",
    [
        ".*", "orders", "^orders$", "^(?!__.*$).*", "", "^$", "$^", "(?:)", '"?orders"*', "[^ ]+", r'(orders|"payments")', "(?i)ORDERS",
        r"\Qa.b\E", r"[\"'a]+", "(^a|b)c", "a{249}", "(a$|b)c", "(^a){1}", "a$b?", r"mm2.*\.internal", "(?! ).*", '(?<!")orders',
    ],
)  # fmt: skip
def test_what_may_match_a_name_is_possible(pattern):
    assert explain_impossible(pattern, IN_NAMES, LONGEST) == ""


def test_text_of_any_kind_may_hold_any_character_but_none_stands_behind_its_end():
    for pattern in ('"shop"', "a b", "\r", "日本", "x$\n", "shop-$"):
        assert explain_impossible(pattern, ANY_TEXT) == ""
    for pattern in ("shop-$ENV", "a^b"):
        assert explain_impossible(pattern, ANY_TEXT)
