"""A lane and records that the target refuses: noted, narrowed down to, passed over, tried again."""

from kafka_mirror.copy.model import BatchRefused, SkippedRecords
from kafka_mirror.copy.plan.model import BEHIND, BLOCKED, Range
from kafka_mirror.errors import ClusterUnreachable
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.record import Skipped
from tests.unit.copy.happenings import raising

ORDERS, PAYMENTS = TopicPartition("orders", 0), TopicPartition("payments", 0)


def test_a_record_that_the_target_refuses_is_noted_and_all_before_it_is_copied(copy, world):
    def refuses_the_fourth(engine):
        for work in engine.work:
            end = work.end if work.max_records is None else min(work.end, work.start + work.max_records)
            if work.source == ORDERS and work.start <= 3 < end:
                raise BatchRefused(ORDERS, work.start, 3 if end - work.start == 1 else work.start, end - work.start, "it is too large")

    world.happenings["copy"] = refuses_the_fourth
    result = copy()
    (error,) = result.errors
    assert (error.code, error.topic, error.partition, error.offset) == ("RecordRefused", "orders", 0, 3)
    record = world.ledger[ORDERS]
    assert (record.watermark, record.blocked.offset, record.blocked.tries) == (3, 3, 1)
    assert world.ledger[PAYMENTS].watermark == 10


def test_a_refused_record_is_noted_though_another_partition_is_refused_in_the_same_transaction(copy, world):
    def refuses_the_first_of_each(engine):
        for work in engine.work:
            if work.start == 0:
                raise BatchRefused(work.source, 0, 0, work.max_records or work.end, "it is too large")

    world.happenings["copy"] = refuses_the_first_of_each
    result = copy()
    assert [(error.code, error.topic, error.offset) for error in result.errors] == [
        ("RecordRefused", "orders", 0),
        ("RecordRefused", "payments", 0),
    ]
    assert [(world.ledger[tp].blocked.offset, world.ledger[tp].blocked.tries) for tp in (ORDERS, PAYMENTS)] == [(0, 1), (0, 1)]


def test_a_refused_record_is_noted_though_the_first_commit_of_the_note_fails(copy, world):
    def refuses_the_first(engine):
        if any(work.source == ORDERS for work in engine.work):
            raise BatchRefused(ORDERS, 0, 0, 1, "it is too large")

    world.happenings["copy"] = refuses_the_first
    world.happenings["commit"] = raising(ClusterUnreachable("west", "west:9092", 30), times=1)
    result = copy()
    assert [error.code for error in result.errors] == ["RecordRefused"]
    assert world.ledger[ORDERS].blocked.offset == 0
    assert world.ledger[PAYMENTS].watermark == 10


def test_with_tolerance_a_batch_is_narrowed_to_the_refused_record_and_the_copy_goes_on_behind_it(copy, world):
    def refuses_the_fourth_and_the_fifth(engine):
        for work in engine.work:
            end = work.end if work.max_records is None else min(work.end, work.start + work.max_records)
            refused = [offset for offset in (3, 4) if work.start <= offset < end]
            if work.source == ORDERS and refused:
                raise BatchRefused(ORDERS, work.start, refused[0] if end - work.start == 1 else work.start, end - work.start, "too large")

    world.happenings["copy"] = refuses_the_fourth_and_the_fifth
    result = copy(skip_refused=True)
    assert result.errors == ()
    assert result.skipped == (SkippedRecords("orders", 0, 3, 2, "RecordRefused: too large"),)
    record = world.ledger[ORDERS]
    assert (record.watermark, record.records, record.blocked) == (10, 8, None)
    assert record.skipped == (Skipped(3, 5, "RecordRefused: too large"),)


def test_with_tolerance_the_engine_is_told_to_pass_over_what_it_can_tell_by_itself(copy, world):
    asked = []
    world.happenings["copy"] = lambda engine: asked.extend(work.skip_refused for work in engine.work)
    copy(skip_refused=True)
    assert all(asked)


def test_a_partition_that_was_stuck_is_tried_last_and_with_one_record(copy, world):
    asked = []
    world.happenings["copy"] = lambda engine: asked.append([(each.source, each.max_records) for each in engine.work])
    copy(ranges=(Range("orders", 0, "id-orders", 0, 10, BLOCKED), Range("payments", 0, "id-payments", 0, 10, BEHIND)))
    assert asked[:2] == [[(PAYMENTS, None)], [(ORDERS, 1)]]
    assert world.ledger[ORDERS].watermark == 10
