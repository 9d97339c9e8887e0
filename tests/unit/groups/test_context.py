"""Positions that a cutover moved are no matter of `group-offsets` any more."""

from datetime import UTC, datetime

from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.context import leave_out_moved
from kafka_mirror.kafka.model import Committed
from kafka_mirror.ledger.control_records import MOVED, RETURNED, Decision
from kafka_mirror.ledger.decisions import Decisions

ORDERS, PAYMENTS, FROM_TARGET = (TopicPartition(name, 0) for name in ("orders", "payments", "west.stock"))
AT = Committed(5)


def decided(word, topic="orders"):
    return Decision(word, "somebody", datetime(2026, 1, 1, tzinfo=UTC), "a test", topic, wave="first")


def remaining(offsets, *decisions):
    positions = {group: dict.fromkeys(partitions, AT) for group, partitions in offsets.items()}
    there, reasons = leave_out_moved(positions, Decisions(decisions), lambda topic: topic[5:] if topic.startswith("west.") else None)
    return {group: set(of_group) for group, of_group in there.items()}, reasons


def test_a_position_in_a_moved_topic_is_left_alone_and_the_wave_is_named():
    there, reasons = remaining({"billing": [ORDERS, PAYMENTS], "other": [PAYMENTS]}, decided(MOVED))
    assert there == {"billing": {PAYMENTS}, "other": {PAYMENTS}}
    assert reasons == {"billing": "left alone, for the wave first moved orders to the target"}


def test_a_group_moves_with_its_positions_in_what_the_source_has_from_the_target():
    there, reasons = remaining({"billing": [ORDERS, FROM_TARGET], "other": [FROM_TARGET]}, decided(MOVED))
    assert there == {"other": {FROM_TARGET}}
    assert set(reasons) == {"billing"}


def test_a_topic_that_returned_is_committed_again():
    assert remaining({"billing": [ORDERS]}, decided(RETURNED)) == ({"billing": {ORDERS}}, {})
    assert remaining({"billing": [ORDERS]}) == ({"billing": {ORDERS}}, {})
