"""Which names the filters take."""

import pytest

from kafka_mirror.errors import ConfigurationError
from kafka_mirror.policy.filters import DefaultConfigPropertyFilter, DefaultGroupFilter, DefaultTopicFilter

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
