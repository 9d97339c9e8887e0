"""The ranges of a lane's next turn: by the plan's rules, from what the ledger and the source say now."""

import pytest

from kafka_mirror.copy.follow_turn import look_for_more
from kafka_mirror.copy.plan.model import BEHIND, Range
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.model import LogOffsets
from tests.unit.copy.memory_cluster import QuietCluster
from tests.unit.ledger_records import ledger_record

ORDERS = TopicPartition("orders", 0)


class Source(QuietCluster):
    """A source of one partition that says what it is told to."""

    def __init__(self, end, epoch, epoch_end=None, start=0):
        super().__init__("east", {}, 1.0)
        self.log, self.epoch_end = LogOffsets(start, end, end + 1, epoch), epoch_end

    def log_offsets(self, partitions, errors=None, committed=True):
        return dict.fromkeys(partitions, self.log)

    def shared_ends(self, positions, seconds):
        return {} if self.epoch_end is None else dict.fromkeys(positions, self.epoch_end)


def looked(source):
    """What a turn finds in a partition of which 10 offsets were copied in leader epoch 4."""
    record = ledger_record(watermark=10, leader_epoch=4, source_topic_id="id-orders")
    planned = Range("orders", 0, "id-orders", 0, 10, BEHIND, skip_to=2, leader_epoch=4)
    return look_for_more(source, True, {ORDERS: record}, {ORDERS: planned})


def test_a_new_range_begins_at_the_watermark_and_has_the_leader_epoch_of_its_end():
    more, errors = looked(Source(12, 5, epoch_end=10))
    assert errors == []
    assert more == {ORDERS: Range("orders", 0, "id-orders", 10, 12, BEHIND, skip_to=2, leader_epoch=5, log_end=13)}


def test_a_log_that_was_cut_off_and_has_grown_again_is_truncated():
    more, errors = looked(Source(12, 5, epoch_end=7))
    assert (more, [error.code for error in errors]) == ({}, ["SourceTruncated"])


@pytest.mark.parametrize("source", [Source(20, 4, start=15), Source(10, 5)], ids=["a gap", "a new leader and no records"])
def test_a_gap_is_left_to_the_next_plan_and_a_leader_alone_is_no_work(source):
    assert looked(source) == ({}, [])
