"""Of which groups transactions may commit offsets, by the logs of their coordinators."""

from types import SimpleNamespace

import pytest

from kafka_mirror.kafka.groups import _java_hash, may_be_unstable
from kafka_mirror.kafka.model import LogOffsets, Partition, Topic

HASHES = {
    "hello": 99162322,
    "polygenelubricants": 0,
    "a": 97,
    "\U0001f600": 1772899,
    "": 0,
    "The quick brown fox jumps over the lazy dog": 609428141,
}
"""As Java has them, without the sign: that of the second is the smallest number there is, and that of the last is negative."""


@pytest.mark.parametrize(("name", "code"), HASHES.items())
def test_a_group_has_its_partition_by_javas_hash_code(name, code):
    assert _java_hash(name) == code


def cluster(logs):
    topic = Topic("__consumer_offsets", "id", tuple(Partition(number, 1, (1,), (1,)) for number in range(4)))
    return SimpleNamespace(
        topics=lambda _names, _refused: {topic.name: topic} if logs is not None else {},
        log_offsets=lambda partitions, _refused: {tp: LogOffsets(0, *logs[tp.partition], 0) for tp in partitions if tp.partition in logs},
    )


def test_only_where_a_transaction_is_open_or_nobody_tells_groups_are_asked_for():
    names = ["a", "b", "c", "d"]  # of the partitions 1, 2, 3 and 0
    assert may_be_unstable(cluster({0: (9, 9), 1: (5, 9), 2: (9, 9), 3: (0, 0)}), names) == ["a"]
    assert may_be_unstable(cluster({0: (9, 9), 1: (9, 9), 2: (-1, 9)}), names) == ["b", "c"]
    assert may_be_unstable(cluster(None), names) == names
