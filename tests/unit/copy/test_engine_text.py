"""What each engine copied, in words."""

from mirror.copy.engine_choice import FEW, SMALL
from mirror.copy.engine_text import engines_text, forecast_text
from mirror.copy.model import BATCHES, RECORDS, EncodedAnew, EngineShare
from mirror.offsets.partition import TopicPartition
from mirror.plan.model import BEHIND, Range

ANEW, CLOSED = EngineShare(RECORDS, 2, 1_200, 90_000), EngineShare(BATCHES, 1, 9_000, 800_000)


def test_each_engine_has_its_share_and_what_went_the_slower_way_its_reasons() -> None:
    assert engines_text([CLOSED, ANEW], [EncodedAnew(FEW, 1, "users", 0), EncodedAnew("holes", 1, "orders", 3)]) == [
        "in batches: 9,000 records, 800,000 bytes of 1 partition",
        "encoded anew: 1,200 records, 90,000 bytes of 2 partitions (1 partition such as users-0: a few records; "
        "1 partition such as orders-3: holes)",
    ]


def test_that_there_was_little_to_copy_is_not_worth_a_word() -> None:
    assert engines_text([ANEW], [EncodedAnew(FEW, 2, "users", 0)]) == []


def test_any_other_reason_is() -> None:
    assert len(engines_text([ANEW], [EncodedAnew(FEW, 1, "users", 0), EncodedAnew(SMALL, 1, "orders", 3)])) == 1
    assert engines_text([ANEW], []) == ["encoded anew: 1,200 records, 90,000 bytes of 2 partitions"]


def test_a_forecast_counts_partitions_with_work_and_names_the_reasons():
    ranges = [planned("orders", 0), planned("orders", 1), planned("users", 0), planned("idle", 0, end=0)]
    text = forecast_text(ranges, {TopicPartition("users", 0): SMALL, TopicPartition("orders", 1): SMALL})
    assert text == f"in batches: 1 partition; encoded anew: 2 partitions (2 partitions such as orders-1: {SMALL})"


def test_a_forecast_says_nothing_where_nothing_is_to_be_copied():
    assert forecast_text([planned("idle", 0, end=0)], {}) == ""


def planned(topic, partition, end=100):
    return Range(topic, partition, "id", 0, end, BEHIND)
