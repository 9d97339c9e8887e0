"""Values are parsed as Kafka parses them, and rules by topic as the handbook says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.config.catalogue.values import (
    FACTOR,
    StartPosition,
    allow_one_of,
    between,
    parse_list,
    parse_value,
    regexes,
    reset_position,
    start_position,
)


@pytest.mark.parametrize(("text", "value"), [("true", True), ("FALSE", False), (" True\t", True)])
def test_booleans_are_trimmed_and_of_any_case(text, value):
    assert parse_value("BOOLEAN", text) is value


@pytest.mark.parametrize("text", ["", "yes", "1", "true false", "\u00a0true"])
def test_other_words_are_no_booleans(text):
    with pytest.raises(ValueError, match="must be true or false"):
        parse_value("BOOLEAN", text)


@pytest.mark.parametrize(
    ("type_", "least", "most"), [("SHORT", -(2**15), 2**15 - 1), ("INT", -(2**31), 2**31 - 1), ("LONG", -(2**63), 2**63 - 1)]
)
def test_integers_keep_to_their_size(type_, least, most):
    assert parse_value(type_, f" {least} ") == least
    assert parse_value(type_, f"+{most}") == most
    for beyond in (least - 1, most + 1):
        with pytest.raises(ValueError, match="whole number"):
            parse_value(type_, str(beyond))


@pytest.mark.parametrize("text", ["", "1.0", "1e3", "1_000", "0x10", "\u0661", "1 000", "--1"])
def test_other_texts_are_no_integers(text):
    with pytest.raises(ValueError, match="whole number of 64 bits"):
        parse_value("LONG", text)


@pytest.mark.parametrize("type_", ["STRING", "PASSWORD", "CLASS"])
def test_texts_are_trimmed(type_):
    assert parse_value(type_, " a b\t") == "a b"


@pytest.mark.parametrize(
    ("text", "members"),
    [("", ()), ("  ", ()), ("a", ("a",)), (" a , b\t,\n c ", ("a", "b", "c")), ("a,b,a", ("a", "b")), ("a b,c", ("a b", "c"))],
)
def test_lists_are_split_at_commas_and_lose_their_duplicates(text, members):
    assert parse_list(text) == members


@pytest.mark.parametrize("text", [",", "a,", ",a", "a,,b", "a, ,b"])
def test_an_empty_member_is_an_error(text):
    with pytest.raises(ValueError, match="empty member"):
        parse_list(text)


@given(st.lists(st.text("ab.*", min_size=1), unique=True), st.sampled_from([",", " , ", ",\n"]))
def test_a_joined_list_is_split_again(members, separator):
    assert parse_list(separator.join(members)) == tuple(members)


def test_valid_values():
    assert between(1, 3).check(3) is None
    assert between(1, 3).check(4) == "must be 1 to 3"
    assert between(10).check(9) == "must be at least 10"
    assert allow_one_of("a", "b").check("c") == "must be a or b"
    assert allow_one_of("a", "b").check(("a", "c")) == "must be a or b"
    assert FACTOR.check(-1) is None
    assert FACTOR.check(0) is not None


def test_regexes_are_judged_joined_as_mm2_joins_them_and_the_wrong_one_is_named():
    assert regexes("topic").check(("orders", r"a{1}", r"\p{Alpha}+")) is None
    assert regexes("topic").check(("(a", "b)")) is None
    assert "'a('" in str(regexes("topic").check(("b", "a(")))
    # The comma has split a{1,2}; each half alone is what Java refuses.
    assert regexes("topic").check(("a{1", "2}")) is not None


DAY = 86_400_000


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("earliest", StartPosition("earliest")),
        ("latest", StartPosition("latest")),
        ("offset:0", StartPosition("offset", 0)),
        ("offset:9223372036854775807", StartPosition("offset", 2**63 - 1)),
        ("timestamp:1970-01-02", StartPosition("timestamp", DAY)),
        ("timestamp:1970-01-02T00:00:00", StartPosition("timestamp", DAY)),
        ("timestamp:1970-01-02T02:00:00+02:00", StartPosition("timestamp", DAY)),
        ("timestamp:1970-01-02T00:00:00.001Z", StartPosition("timestamp", DAY + 1)),
        ("timestamp:1970-01-02T00:00:00.000001Z", StartPosition("timestamp", DAY + 1)),
    ],
)
def test_starts(word, expected):
    assert start_position(word) == expected


@pytest.mark.parametrize(
    "word",
    [
        "",
        "Earliest",
        "none",
        "offset:-1",
        "offset:",
        "offset:9223372036854775808",
        "timestamp:12:00",
        "timestamp:P1D",
        "timestamp:1700000000000",
        "timestamp:2026-02-30",
        "timestamp:1969-12-31",
        "by_duration:P1D",
    ],
)
def test_what_is_no_start(word):
    with pytest.raises(ValueError, match=r"no start|no time|before 1970"):
        start_position(word)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("earliest", StartPosition("earliest")),
        (" LATEST ", StartPosition("latest")),
        ("by_duration:P1D", StartPosition("timestamp", 9 * DAY, from_now=True)),
        ("by_duration:PT1H30M", StartPosition("timestamp", 10 * DAY - 5_400_000, from_now=True)),
        ("by_duration:P1DT0.5S", StartPosition("timestamp", 9 * DAY - 500, from_now=True)),
        ("by_duration:P99999D", StartPosition("timestamp", 0, from_now=True)),
    ],
)
def test_reset_policies(text, expected):
    assert reset_position(text, now_ms=10 * DAY) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("none", "say where to begin"),
        ("", "must be earliest, latest or by_duration"),
        ("by_duration:", "the duration must be"),
        ("by_duration:P", "the duration must be"),
        ("by_duration:P1DT", "the duration must be"),
        ("by_duration:P1M", "the duration must be"),
        ("by_duration:P1W", "the duration must be"),
        ("by_duration:-P1D", "the duration must be"),
    ],
)
def test_what_is_no_reset_policy(text, reason):
    with pytest.raises(ValueError, match=reason):
        reset_position(text)


@given(st.integers(0, 4_000_000_000_000))
def test_a_written_timestamp_is_read_back(milliseconds):
    import pendulum

    text = pendulum.from_timestamp(0).add(seconds=milliseconds // 1000, microseconds=milliseconds % 1000 * 1000).isoformat()
    assert start_position("timestamp:" + text) == StartPosition("timestamp", milliseconds)


def test_the_first_rule_that_matches_the_whole_topic_wins(flow):
    made = flow("mirror.start = audit\\\\..*=latest, a=offset:5, ab?=earliest, timestamp:2026-01-01T00:00:00Z")

    assert made.per_topic("mirror.start", "audit.x") == StartPosition("latest")
    assert made.per_topic("mirror.start", "a") == StartPosition("offset", 5)
    assert made.per_topic("mirror.start", "ab") == StartPosition("earliest")
    assert made.per_topic("mirror.start", "abc") == StartPosition("timestamp", 1_767_225_600_000)


def test_the_start_follows_the_source_consumer_where_no_rule_matches(flow):
    lines = "east.consumer.auto.offset.reset = latest\nmirror.start = a=earliest"

    assert flow(lines).per_topic("mirror.start", "a") == StartPosition("earliest")
    assert flow(lines).per_topic("mirror.start", "b") == StartPosition("latest")
    assert flow().per_topic("mirror.start", "b") == StartPosition("earliest")
    assert flow("west.consumer.auto.offset.reset = latest").per_topic("mirror.start", "b") == StartPosition("earliest")


def test_gaps_are_skipped_only_in_repartition_topics_unless_told_so(flow):
    assert flow().per_topic("mirror.on.gap", "app-store-repartition") == "skip-and-record"
    assert flow().per_topic("mirror.on.gap", "orders") == "fail"
    assert flow("mirror.on.gap = orders=skip-and-record").per_topic("mirror.on.gap", "orders") == "skip-and-record"
    assert flow("mirror.on.gap = orders=skip-and-record").per_topic("mirror.on.gap", "other") == "fail"
    assert flow("mirror.on.gap = skip-and-record").per_topic("mirror.on.gap", "other") == "skip-and-record"


def test_an_unexplained_target_fails_unless_told_so(flow):
    assert flow().per_topic("mirror.on.unexplained.target", "a") == "fail"
    assert flow("mirror.on.unexplained.target = a=append").per_topic("mirror.on.unexplained.target", "a") == "append"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("mirror.start = sometimes", "is no start"),
        ("mirror.start = a(=latest", "a group is not closed"),
        ("mirror.on.gap = ignore", "must be fail or skip-and-record"),
        ("mirror.on.gap = fail, a=skip-and-record", "nothing after it is ever used"),
        ("mirror.on.unexplained.target = a=overwrite", "must be fail or append"),
        ("mirror.on.gap = fail,", "empty member"),
    ],
)
def test_wrong_rules_are_problems(problems, line, reason):
    found = problems(line)
    assert reason in found[line.partition(" ")[0]]
