"""Ends behind a fence, in the notes and against those of now."""

from kafka_mirror.cutover.steps.fence import find_moved_ends, group_by_topic, read_fence_ends, spread_to_partitions
from kafka_mirror.formats.offsets.partition import TopicPartition

FENCE = {TopicPartition("orders", 0): 5, TopicPartition("orders", 1): 0, TopicPartition("payments", 0): 9}


def codes(now):
    return [finding.code for finding in find_moved_ends(FENCE, {TopicPartition(*key): end for key, end in now.items()})]


def test_notes_have_a_list_a_topic_and_give_every_partition_back():
    assert group_by_topic(FENCE) == {"orders": [5, 0], "payments": [9]}
    assert spread_to_partitions(group_by_topic(FENCE)) == FENCE
    assert read_fence_ends({"ends": group_by_topic(FENCE)}) == FENCE
    assert (read_fence_ends({}), read_fence_ends({"ends": None})) == ({}, {})


def test_a_fence_holds_as_long_as_every_end_is_where_it_was():
    assert codes(FENCE) == []
    assert codes({**FENCE, ("orders", 1): 1}) == ["WrittenSinceFence"]
    assert codes({**FENCE, ("orders", 0): 4}) == ["WrittenSinceFence"]
    assert codes({**FENCE, ("orders", 2): 0}) == ["WrittenSinceFence"]
    assert codes({("orders", 0): 5, ("orders", 1): 0}) == ["LeaderMissing"]


def test_growth_is_named_with_place_and_number():
    (finding,) = find_moved_ends(FENCE, {**FENCE, TopicPartition("orders", 1): 3})
    assert "1 of 3 partitions do not end where they did at the write fence: orders-1@0 (+3)." in finding.message


def test_without_a_fence_nothing_holds():
    assert [finding.code for finding in find_moved_ends({}, FENCE)] == ["NotFenced"]
