"""A lane and what people decided: held against its own ledger record, acted on once, and noted with the records."""

from kafka_mirror.copy.plan.model import Range
from kafka_mirror.errors import ClusterUnreachable
from kafka_mirror.formats.offsets.partition import TopicPartition
from tests.unit.copy.happenings import raising
from tests.unit.decision_records import decision

ORDERS, PAYMENTS = TopicPartition("orders", 0), TopicPartition("payments", 0)


def decided(word, **facts):
    """Work on orders with a decision that the plan found in force; the lane's own record has 10 copied, the plan believed it has 4."""
    made = decision(word, source_topic_id="id-orders", target_topic_id="id-east.orders", **facts)
    return (Range("orders", 0, "id-orders", 4, 10, "decided", decisions=(made,)),)


def test_a_decision_is_held_against_the_lanes_own_record_and_not_the_plans(copy, world, known):
    known("orders", 7)
    copy(ranges=decided("restart", watermark=4, offset=0))
    assert (world.ledger[ORDERS].watermark, world.ledger[ORDERS].records, world.ledger[ORDERS].decided) == (10, 10, None)


def test_a_decision_in_force_is_acted_on_and_noted_with_the_records(copy, world, known):
    known("orders", 7)
    copy(ranges=decided("restart", watermark=7, offset=2))
    record = world.ledger[ORDERS]
    assert (record.watermark, record.records, record.decided.decision, record.decided.who) == (10, 15, "restart", "ana@ops")
    assert world.ends[TopicPartition("east.orders", 0)] == 15


def test_a_decision_is_acted_on_once_though_the_lane_begins_again(copy, world, known):
    known("orders", 7)
    world.happenings["commit"] = raising(ClusterUnreachable("west", "west:9092", 30), times=1)
    copy(ranges=decided("restart", watermark=7, offset=7), max_bytes=0)
    assert world.ledger[ORDERS].records == 10


def test_a_decision_without_anything_to_copy_is_committed_too(copy, world, known):
    known("orders", 10)
    world.ends[TopicPartition("east.orders", 0)] = 14
    copy(ranges=decided("accept-records", target_end=14))
    assert (world.ledger[ORDERS].target_next, world.ledger[ORDERS].decided.decision) == (14, "accept-records")
    assert "copy" not in world.log


def test_a_ledger_that_is_not_the_planned_one_ends_the_lane_and_nothing_is_written(copy, world):
    result = copy(ledger_id="another")
    assert [error.code for error in result.errors] == ["LedgerMissing"]
    assert "copy" not in world.log


def test_a_ledger_that_is_made_anew_inside_the_transaction_is_not_committed(copy, world, lane_task):
    ledger = lane_task.ledger_topic
    world.happenings["copy"] = lambda _engine: world.ids.update({ledger: "another"})
    result = copy(ledger_id=f"id-{ledger}")
    assert [error.code for error in result.errors] == ["LedgerMissing"]
    assert (world.ledger, world.ends) == ({}, {})


def test_records_of_an_adopted_cluster_get_its_id_when_they_are_written(copy, world, known):
    known("orders", 7, source_cluster_id="old")
    refused = copy()
    assert [error.code for error in refused.errors] == ["OtherCluster"]
    copy(decisions=(decision("adopt-cluster", cluster_id="E"),))
    assert (world.ledger[ORDERS].source_cluster_id, world.ledger[ORDERS].decided.decision) == ("E", "adopt-cluster")
