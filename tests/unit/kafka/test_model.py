"""What the values of Kafka's objects say of themselves."""

import pytest

from kafka_mirror.kafka.model import ConfigEntry, is_compacted


@pytest.mark.parametrize(
    ("policy", "expected"), [("compact", True), ("compact,delete", True), ("delete", False), ("", False), (None, False)]
)
def test_a_topic_is_compacted_whatever_else_cleans_it_up(policy: str | None, expected: bool) -> None:
    assert is_compacted({"cleanup.policy": ConfigEntry("cleanup.policy", policy, "DYNAMIC_TOPIC_CONFIG", False, False)}) is expected


def test_a_topic_whose_policy_nobody_tells_is_not_taken_for_compacted() -> None:
    assert not is_compacted({})
