"""Whether the source has topics that a plan did not know: what counts as one, and how the lanes of a process share the question."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_mirror.config import Flow, load
from kafka_mirror.config.policies import topic_selection
from kafka_mirror.copy.follow_turn import Discovery, digest_of, known_topics
from kafka_mirror.errors import ClusterUnreachable
from kafka_mirror.kafka.cluster_answers import DescribedTopic

CONFIGURATION = """
clusters = east, west
east.bootstrap.servers = 127.0.0.1:1
west.bootstrap.servers = 127.0.0.1:1
east->west.enabled = true
east->west.topics = orders.*, unusable
east->west.topics.exclude = orders-not
"""


@pytest.fixture
def flow(tmp_path: Path) -> Callable[[str], Flow]:
    def make(line: str = "") -> Flow:
        file = tmp_path / "mm2.properties"
        file.write_text(CONFIGURATION + line)
        return load([file]).flow("east->west")

    return make


def topic(name: str, partitions: int = 1, error_code: int = 0) -> DescribedTopic:
    return DescribedTopic(name, "id", error_code, False, lambda: [(0, number, 1, 0) for number in range(partitions)])


class Source:
    """A source that lists what it is told to, and counts how often it is asked."""

    def __init__(self, *topics: DescribedTopic) -> None:
        self.listed, self.asked = list(topics), 0
        self.failure: Exception | None = None

    def describe_topics(self, names: Any) -> list[DescribedTopic]:
        assert names is None
        self.asked += 1
        if self.failure:
            raise self.failure
        return self.listed


class Clock:
    seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def look(flow: Callable[[str], Flow], monkeypatch: pytest.MonkeyPatch) -> Callable[..., bool]:
    """Whether a source is others' than a plan knew, a minute after it."""
    monkeypatch.setattr("kafka_mirror.kafka.cluster_answers._partition_of", lambda row: row)
    selection = topic_selection(flow(""))

    def looked(planned: list[DescribedTopic], now: list[DescribedTopic]) -> bool:
        clock = Clock()
        discovery = Discovery(known_topics(flow(""), digest_of(selection, planned)), clock)
        clock.seconds += 60
        return discovery.has_news(Source(*now))

    return looked


ORDERS = topic("orders", 2)


@pytest.mark.parametrize(
    "new", [[ORDERS, topic("orders-2")], [topic("orders", 3)], []], ids=["a topic", "a partition", "a topic that is gone"]
)
def test_what_the_flow_means_and_the_plan_did_not_know_is_new(look: Callable[..., bool], new: list[DescribedTopic]) -> None:
    assert look([ORDERS], new)


def test_what_the_flow_does_not_mean_and_what_the_plan_knew_ends_nothing_whether_it_could_be_copied_or_not(
    look: Callable[..., bool],
) -> None:
    others = [topic("clicks"), topic("orders-not"), topic("__consumer_offsets", 50), topic("orders-9", error_code=5)]
    assert not look([ORDERS], [*others, ORDERS])
    assert not look([topic("unusable"), ORDERS], [ORDERS, topic("unusable")])


@pytest.mark.parametrize("line", ["east->west.mirror.follow.discovery.seconds = 0", ""])
def test_nobody_asks_where_it_is_switched_off_or_the_plan_says_nothing(flow: Callable[[str], Flow], line: str) -> None:
    known, source, clock = known_topics(flow(line), "a digest" if line else ""), Source(), Clock()
    discovery = Discovery(known, clock)
    clock.seconds += 3600
    assert (known, discovery.has_news(source), source.asked) == (None, False, 0)


def test_a_filter_that_cannot_be_pickled_keeps_nobody_from_copying(
    flow: Callable[[str], Flow], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("kafka_mirror.copy.follow_turn.topic_selection", lambda _flow: lambda: None)
    assert known_topics(flow(""), "a digest") is None
    assert "cannot be pickled" in caplog.text


def test_the_lanes_of_all_processes_learn_of_it_at_the_same_time_by_one_question_each(flow: Callable[[str], Flow]) -> None:
    known, source, clock = known_topics(flow(""), "what the plan knew"), Source(), Clock()
    earlier = Discovery(known, clock)
    clock.seconds += 15
    later = Discovery(known, clock)
    assert not any(discovery.has_news(source) for discovery in (earlier, earlier, later))
    assert source.asked == 0
    clock.seconds = 120.0
    assert all(discovery.has_news(source) for discovery in (earlier, earlier, later, later))
    assert source.asked == 2


def test_a_source_that_does_not_answer_is_asked_again_the_next_time(flow: Callable[[str], Flow]) -> None:
    source, clock = Source(), Clock()
    discovery = Discovery(known_topics(flow(""), "what the plan knew"), clock)
    source.failure = ClusterUnreachable("east", "127.0.0.1:1", 30)
    clock.seconds += 30
    with pytest.raises(ClusterUnreachable):
        discovery.has_news(source)
    source.failure = None
    assert not discovery.has_news(source), "another lane, in the same stretch of time"
    clock.seconds += 30
    assert discovery.has_news(source)
