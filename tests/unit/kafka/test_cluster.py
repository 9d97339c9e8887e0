"""Topics are created in requests that a controller takes; which of them are compacted."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import ConfigEntry, NewTopic, is_compacted


class Controller:
    """An admin client's answers; writes down how many partitions each request asks for."""

    def __init__(self) -> None:
        self.requests: list[list[int]] = []

    def close(self) -> None:
        pass

    def send(self, _step: str, request: Callable[[Any, float], Any]) -> Any:
        def take(new: list[Any], **_options: Any) -> dict[str, None]:
            counts = [getattr(each, "num_partitions", 0) or each.new_total_count for each in new]
            self.requests.append(counts)
            return dict.fromkeys(each.topic for each in new)

        return request(SimpleNamespace(create_topics=take, create_partitions=take), 1.0)

    @staticmethod
    def await_outcomes(answers: dict[str, None], _step: str, _operation: str) -> dict[str, None]:
        return answers


@pytest.fixture
def controller() -> Controller:
    return Controller()


@pytest.fixture
def cluster(controller: Controller) -> Cluster:
    made = Cluster("west", {"bootstrap.servers": "127.0.0.1:1"})
    made._admin = controller  # type: ignore[assignment]
    return made


def test_topics_of_many_partitions_are_created_in_several_requests(cluster, controller):
    topics = [NewTopic(f"t{number}", 50, 1, {}) for number in range(100)] + [
        NewTopic("large", 9_000, 1, {}),
        NewTopic("default", -1, 1, {}),
    ]
    assert cluster.create_topics(topics) == dict.fromkeys(topic.name for topic in topics)
    assert controller.requests == [[50] * 40, [50] * 40, [50] * 20, [9_000], [-1]]


def test_partitions_are_added_in_several_requests(cluster, controller):
    counts = {f"t{number:02}": 600 for number in range(7)}
    assert cluster.create_partitions(counts) == dict.fromkeys(counts)
    assert controller.requests == [[600] * 3, [600] * 3, [600]]


def test_nothing_is_asked_for_nothing(cluster, controller):
    assert (cluster.create_topics([]), cluster.create_partitions({}), controller.requests) == ({}, {}, [])


@pytest.mark.parametrize(
    ("policy", "expected"), [("compact", True), ("compact,delete", True), ("delete", False), ("", False), (None, False)]
)
def test_a_topic_is_compacted_whatever_else_cleans_it_up(policy: str | None, expected: bool) -> None:
    assert is_compacted({"cleanup.policy": ConfigEntry("cleanup.policy", policy, "DYNAMIC_TOPIC_CONFIG", False, False)}) is expected


def test_a_topic_whose_policy_nobody_tells_is_not_taken_for_compacted() -> None:
    assert not is_compacted({})
