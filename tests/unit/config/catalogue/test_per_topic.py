import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.config.catalogue.values import StartPosition, reset_position, start_position

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
