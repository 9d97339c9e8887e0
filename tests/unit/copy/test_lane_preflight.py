"""What a lane meets before it copies: decisions, held against its own ledger record; gaps; partitions that MirrorMaker 2 mirrors again."""

from datetime import UTC, datetime

import pytest

from kafka_mirror.copy.plan.model import GAP, Range
from kafka_mirror.errors import ClusterUnreachable
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.codec import decode, decode_key, encode, encode_key
from kafka_mirror.ledger.control_records import HANDED_BACK, TAKEN_OVER
from kafka_mirror.ledger.record import Decided, Skipped, Writer, note, note_key
from tests.unit.copy.conftest import LEDGER
from tests.unit.copy.happenings import raising, watermarks
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


WHEN = datetime(2026, 11, 1, tzinfo=UTC)


def noted(decision):
    return note(LEDGER, "id-of-it", ("E", "W"), 1, Decided(decision, "ana", WHEN, "why"), Writer("", "host", "hand-back", WHEN))


def test_a_partition_that_was_never_copied_is_left_to_mirror_maker(copy, world):
    world.note = noted(HANDED_BACK)
    result = copy()
    assert {(error.code, error.topic, error.partition) for error in result.errors} == {
        ("HandedBack", "orders", 0),
        ("HandedBack", "payments", 0),
    }
    assert (world.ledger, world.ends, result.transactions) == ({}, {}, 0)


@pytest.mark.parametrize("decision", [None, TAKEN_OVER])
def test_it_is_copied_where_the_lane_was_never_handed_back_or_is_taken_over_again(copy, world, decision):
    world.note = noted(decision) if decision else None
    assert watermarks(copy()) == {("orders", 10), ("payments", 10)}


def test_a_partition_that_was_taken_over_by_itself_goes_by_its_own_record(copy, world, known):
    known("orders", 4)
    world.note = noted(HANDED_BACK)
    assert watermarks(copy()) == {("orders", 10)}


def test_the_note_has_the_form_of_every_ledger_record():
    """Its bytes are for keeps: a mirror that does not know notes reads one of a partition that the source does not have."""
    made, key = noted(HANDED_BACK), note_key(LEDGER, 3)
    assert decode(encode(made), "here") == made
    assert encode_key(key) == b'["mm2-ledger.east.internal",3]'
    assert decode_key(encode_key(key), "here") == TopicPartition(LEDGER, 3)
    assert made.is_handed_back and not made.records
