"""A lane that may pass over what the source no longer has (mirror.on.gap=skip-and-record): by where the log starts when it copies."""

import pytest

from kafka_mirror.copy.plan.model import GAP, Range
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.record import Skipped

ORDERS = TopicPartition("orders", 0)
PLANNED = (Range("orders", 0, "id-orders", 7, 10, GAP, skip_to=7),)


@pytest.mark.parametrize(("starts", "passed_over"), [(7, [(4, 7)]), (9, [(4, 9)])])
def test_what_is_gone_when_the_lane_copies_is_passed_over(copy, world, known, starts, passed_over):
    known("orders", 4)
    world.starts[ORDERS] = starts
    copy(ranges=PLANNED)
    record = world.ledger[ORDERS]
    assert [(each.start, each.end) for each in record.skipped] == passed_over
    assert (record.watermark, record.records) == (10, 4 + 10 - starts)


@pytest.mark.parametrize(("starts", "skipped", "records"), [(3, (), 10), (4, (), 10), (6, ((4, 6),), 8)])
def test_what_the_source_has_again_is_copied(copy, world, known, starts, skipped, records):
    """A follower may begin further in front than the leader that was asked for the plan, and be the leader now."""
    known("orders", 4)
    world.starts[ORDERS] = starts
    copy(ranges=PLANNED)
    record = world.ledger[ORDERS]
    assert record.skipped == tuple(Skipped(*each, "gap: the source no longer has these offsets") for each in skipped)
    assert (record.watermark, record.records) == (10, records)
