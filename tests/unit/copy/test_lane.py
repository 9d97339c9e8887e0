"""The protocol of a lane: its order, what each kind of error ends, and its budget. What brokers do with it: tests/integration."""

import pytest

from kafka_mirror.copy.model import NothingRead
from kafka_mirror.copy.plan.model import BEHIND, BLOCKED, Range
from kafka_mirror.errors import (
    AuthenticationFailed,
    AuthorizationRefused,
    BatchNotUnpacked,
    ClusterUnreachable,
    KafkaFailure,
    Overtaken,
    TransactionTooSlow,
)
from kafka_mirror.formats.offsets.partition import NO_TOPIC_ID, TopicPartition
from tests.unit.copy.conftest import MemoryReader
from tests.unit.copy.happenings import raising, watermarks

ORDERS, PAYMENTS = TopicPartition("orders", 0), TopicPartition("payments", 0)


# ---------------------------------------------------------------- the order


def test_the_lane_is_fenced_before_its_ledger_is_read(copy, world):
    copy()
    assert world.log.index("fence") < world.log.index("read the ledger") < world.log.index("copy")


def test_topic_ids_of_both_sides_are_compared_between_the_records_and_the_commit(copy, world):
    copy()
    copied = world.log.index("copy")
    assert world.log[copied : copied + 5] == ["copy", "topics of west", "topics of east", "record", "commit"]


def test_records_and_ledger_are_one_commit(copy, world):
    result = copy()
    assert watermarks(result) == {("orders", 10), ("payments", 10)}
    assert (world.ledger[ORDERS].watermark, world.ledger[ORDERS].target_next) == (10, 10)
    assert world.log.count("commit") == result.transactions == 1


def test_the_lane_begins_at_the_ledger_whatever_the_plan_says(copy, world, known):
    known("orders", 7)
    result = copy()
    assert {(mark.topic, mark.records) for mark in result.watermarks} == {("orders", 3), ("payments", 10)}
    assert world.ends[TopicPartition("east.orders", 0)] == 10


def test_a_first_sight_without_records_is_committed_too(copy, world):
    copy(ranges=(Range("orders", 0, "id-orders", 5, 5, "first sight"),))
    assert world.ledger[ORDERS].watermark == 5
    assert "copy" not in world.log


def test_nothing_to_do_commits_nothing(copy, world, known):
    known("orders", 10)
    known("payments", 10)
    assert copy().transactions == 0
    assert "commit" not in world.log


# ---------------------------------------------------------------- identities


@pytest.mark.parametrize(("topic", "code"), [("east.orders", "TargetRecreated"), ("orders", "SourceRecreated")])
def test_a_topic_recreated_inside_the_transaction_is_not_committed(copy, world, topic, code):
    world.happenings["copy"] = lambda _engine: world.ids.update({topic: "another"})
    result = copy()
    assert {error.code for error in result.errors} == {code}
    assert ORDERS not in world.ledger
    assert world.ledger[PAYMENTS].watermark == 10, "the other topic goes on"


def test_a_partition_whose_remote_topic_was_recreated_before_is_left_out(copy, world, known):
    known("orders", 4, target_topic_id="old")
    result = copy()
    (error,) = result.errors
    assert (error.code, error.topic, error.partition) == ("TargetRecreated", "orders", 0)
    assert watermarks(result) == {("payments", 10)}


def test_a_source_topic_gets_its_id_in_the_ledger_when_the_source_was_upgraded(copy, world, known):
    known("orders", 4, source_topic_id=NO_TOPIC_ID)
    assert copy().errors == ()
    assert (world.ledger[ORDERS].watermark, world.ledger[ORDERS].source_topic_id) == (10, "id-orders")


def test_a_source_topic_without_an_id_whose_leader_epoch_went_back_is_another_one(copy, known):
    known("orders", 4, source_topic_id=NO_TOPIC_ID, leader_epoch=3)
    result = copy(ranges=(Range("orders", 0, NO_TOPIC_ID, 4, 10, "behind", leader_epoch=2),))
    assert [error.code for error in result.errors] == ["SourceRecreated"]


# ---------------------------------------------------------------- errors


def test_an_overtaken_lane_is_left_alone(copy, world):
    world.happenings["commit"] = raising(Overtaken(0))
    result = copy()
    assert [error.code for error in result.errors] == ["Overtaken"]
    assert (world.engines, result.watermarks, world.ledger) == (1, (), {})


def test_a_transaction_that_was_too_slow_is_followed_by_one_half_as_large(copy, world):
    world.happenings["copy"] = raising(TransactionTooSlow(0, 60, 60), times=2)
    result = copy(transaction_max_bytes=1024 * 1024)
    assert [limits.bytes for limits in world.limits] == [1024 * 1024, 512 * 1024, 256 * 1024]
    assert result.errors == ()


def test_a_transaction_never_becomes_too_small_and_the_lane_gives_up_in_the_end(copy, world):
    world.happenings["copy"] = raising(TransactionTooSlow(0, 60, 60))
    result = copy(transaction_max_bytes=100_000)
    assert min(limits.bytes for limits in world.limits) == 64 * 1024
    assert [error.code for error in result.errors] == ["TransactionTooSlow"]


@pytest.mark.parametrize(
    "error",
    [
        KafkaFailure("orders-0@3: it went wrong.", topic="orders", partition=0, offset=3),
        BatchNotUnpacked("orders", 0, 3, 4, "it is spoilt"),
        AuthorizationRefused("east", "READ", "topic orders", topic="orders"),
    ],
)
def test_an_error_of_a_partition_or_topic_leaves_the_others_going(copy, world, error):
    world.happenings["copy"] = lambda engine: raising(error)(engine) if any(each.source == ORDERS for each in engine.work) else None
    result = copy()
    assert [(each.code, each.topic) for each in result.errors] == [(error.code, "orders")]
    assert watermarks(result) == {("payments", 10)}


def test_what_may_mend_itself_is_tried_again_from_the_fencing_on(copy, world):
    world.happenings["commit"] = raising(ClusterUnreachable("west", "west:9092", 30), times=1)
    result = copy()
    assert result.errors == ()
    assert [step for step in world.log if step in ("fence", "read the ledger", "commit", "close")] == 2 * [
        "fence",
        "read the ledger",
        "commit",
        "close",
    ]


def test_a_commit_in_doubt_is_looked_up_in_the_ledger_and_not_repeated(copy, world):
    def commits_and_then_says_nothing(engine):
        del world.happenings["commit"]
        world.ends |= engine.ends
        world.ledger |= engine.records
        raise ClusterUnreachable("west", "west:9092", 30)

    world.happenings["commit"] = commits_and_then_says_nothing
    copy()
    assert world.ends[TopicPartition("east.orders", 0)] == 10
    assert world.log.count("copy") == 1


@pytest.mark.parametrize(
    "error",
    [
        AuthorizationRefused("west", "WRITE", "transactional ids with the prefix mirror.4.east.1."),
        AuthenticationFailed("west", "west:9092", "invalid_token"),
    ],
    ids=["a right that is lacking", "a login that was never taken"],
)
def test_what_does_not_mend_itself_ends_the_lane_at_once(copy, world, error):
    world.happenings["fence"] = raising(error)
    assert [(each.code, each.topic) for each in copy().errors] == [(error.code, None)]
    assert world.engines == 1


def test_retries_end(copy, world):
    world.happenings["copy"] = raising(ClusterUnreachable("east", "east:9092", 30))
    result = copy()
    assert [error.code for error in result.errors] == ["ClusterUnreachable"]
    assert world.engines == 4


def test_failures_with_a_commit_between_them_do_not_add_up(copy, world):
    copies = []

    def fails_every_other_time(engine):
        copies.append(engine)
        if len(copies) % 2:
            raise ClusterUnreachable("east", "east:9092", 30)

    world.happenings["copy"] = fails_every_other_time
    result = copy(transaction_max_bytes=200)
    assert (result.errors, result.records) == ((), 20)
    assert len(copies) > 2 * 4


@pytest.mark.parametrize(("times", "codes", "records"), [(1, [], 20), (None, ["AuthenticationFailed"], 2)], ids=["renewed", "withdrawn"])
def test_a_login_that_was_taken_before_is_tried_once_more(copy, world, times, codes, records):
    refuse, copies = raising(AuthenticationFailed("east", "east:9092", "invalid_token"), times), []

    def refused_at_the_second(engine):
        copies.append(engine)
        if len(copies) > 1:
            refuse(engine)

    world.happenings["copy"] = refused_at_the_second
    result = copy(transaction_max_bytes=200)
    assert ([error.code for error in result.errors], result.records) == (codes, records)
    assert world.engines == 2


def test_a_remote_topic_that_is_hidden_while_it_is_written_is_left_out_alone(copy, world):
    world.happenings["copy"] = lambda _engine: world.hidden.add("east.orders")
    result = copy()
    (error,) = result.errors
    assert (error.code, error.topic, error.retriable) == ("AuthorizationRefused", "orders", False)
    assert "refuses DESCRIBE on topic east.orders" in error.message
    assert watermarks(result) == {("payments", 10)}


def test_partitions_that_fall_silent_are_left_out(copy, world):
    world.happenings["copy"] = raising(NothingRead([ORDERS], 15), times=1)
    result = copy()
    (error,) = result.errors
    assert (error.code, error.topic, error.partition, error.retriable) == ("SourceUnreadable", "orders", 0, True)
    assert watermarks(result) == {("payments", 10)}


def test_what_the_target_lost_while_it_was_written_is_noted_though_aborted_records_hide_the_hole(copy, world, known):
    known("orders", 7)
    remote = TopicPartition("east.orders", 0)
    world.happenings["copy"] = lambda _engine: world.ends.update({remote: 4} if world.engines == 1 else {})
    world.happenings["fence"] = lambda _engine: world.ends.update({remote: 20} if world.engines == 2 else {})
    result = copy()
    (error,) = result.errors
    assert (error.code, error.topic, error.offset) == ("TargetLostRecords", "orders", 4)
    noted = world.ledger[ORDERS]
    assert (noted.watermark, noted.target_next, noted.blocked.offset, noted.blocked.code) == (7, 7, 4, "TargetLostRecords")
    assert watermarks(result) == {("orders", 7), ("payments", 10)}
    world.happenings.clear()
    again = copy()
    assert [(error.code, error.topic, error.offset) for error in again.errors] == [("TargetLostRecords", "orders", 4)]
    assert "Seen at" in again.errors[0].message
    assert world.ledger[ORDERS] == noted, "who tries again with an older plan does not take the note away"


@pytest.mark.parametrize("when", ["the transaction over the hole fails", "the note cannot be committed"])
def test_a_hole_that_nobody_came_to_note_is_found_by_what_can_be_read(copy, world, known, when):
    known("orders", 7)
    remote = TopicPartition("east.orders", 0)
    world.starts[remote], world.ends[remote], world.kept[remote] = 0, 8, 7

    def lose(_engine):
        if world.engines == 1:
            world.kept[remote] = 4
            world.ends[remote] = 20 if when.startswith("the transaction") else 4
            if when.startswith("the transaction"):
                raise ClusterUnreachable("west", "west:9092", 30)

    def fence(_engine):
        if world.engines > 1 and when.startswith("the note"):
            world.ends[remote] = 20  # the aborted records of the attempt before
            if world.engines < 6:
                raise ClusterUnreachable("west", "west:9092", 30)

    world.happenings.update(copy=lose, fence=fence)
    first = copy()
    assert ("TargetLostRecords", "orders", 4) in {(error.code, error.topic, error.offset) for error in first.errors}
    world.happenings.clear()
    again = copy()
    assert [(error.code, error.topic, error.offset) for error in again.errors] == [("TargetLostRecords", "orders", 4)]
    noted = world.ledger[ORDERS]
    assert (noted.watermark, noted.blocked.code, noted.blocked.offset) == (7, "TargetLostRecords", 4)


def test_a_record_that_retention_takes_while_it_is_looked_for_is_not_lost(copy, world, known, monkeypatch):
    known("orders", 7)
    remote = TopicPartition("east.orders", 0)
    world.starts[remote], world.ends[remote], world.kept[remote] = 0, 20, 0
    first_visible = MemoryReader.first_visible

    def expire(reader, *arguments, **options):
        world.starts[remote] = 7
        return first_visible(reader, *arguments, **options)

    monkeypatch.setattr(MemoryReader, "first_visible", expire)
    assert copy().errors == ()
    assert world.ledger[ORDERS].watermark == 10


def test_a_remote_partition_that_has_grown_with_our_last_record_in_place_is_copied_to(copy, world, known):
    known("orders", 7)
    remote = TopicPartition("east.orders", 0)
    world.starts[remote], world.ends[remote], world.kept[remote] = 0, 20, 7
    assert copy().errors == ()
    assert world.ledger[ORDERS].watermark == 10


# ---------------------------------------------------------------- the budget


@pytest.mark.parametrize("budget", [{"max_seconds": 0.0}, {"max_bytes": 0}, {"max_bytes": 400}])
def test_a_spent_budget_allows_one_transaction_and_no_more(copy, world, budget):
    result = copy(transaction_max_bytes=500, **budget)
    assert result.transactions == 1
    assert result.records == 5
    assert result.errors == ()


def test_a_partition_that_was_stuck_is_tried_though_the_budget_is_spent(copy, world):
    ranges = (Range("payments", 0, "id-payments", 0, 10, BEHIND), Range("orders", 0, "id-orders", 0, 10, BLOCKED))
    copy(ranges=ranges, max_bytes=0, transaction_max_bytes=500)
    assert (world.ledger[PAYMENTS].watermark, world.ledger[ORDERS].watermark) == (5, 1)


def test_the_last_transaction_is_no_larger_than_what_the_budget_has_left(copy, world):
    copy(ranges=(Range("orders", 0, "id-orders", 0, 10_000, BEHIND),), max_bytes=700_000, transaction_max_bytes=400_000)
    assert [limits.bytes for limits in world.limits] == [400_000, 300_000]


def test_no_limit_of_bytes_copies_everything(copy):
    result = copy(transaction_max_bytes=500, max_bytes=-1)
    assert (result.transactions, result.records) == (4, 20)


def test_a_failure_does_not_use_up_the_one_transaction_that_is_always_allowed(copy, world):
    world.happenings["commit"] = raising(ClusterUnreachable("west", "west:9092", 30), times=1)
    assert copy(max_seconds=0.0).transactions == 1


def test_a_target_that_loses_records_while_it_is_written_gets_no_more_of_that_partition(copy, world, known):
    known("orders", 7)
    lose = [world.ends.__setitem__]

    def happen(_engine):
        if lose:
            lose.pop()(TopicPartition("east.orders", 0), 4)

    world.happenings["copy"] = happen
    result = copy()
    assert [(error.code, error.topic, error.offset) for error in result.errors] == [("TargetLostRecords", "orders", 4)]
    assert world.ledger[ORDERS].watermark == 7
    assert world.ledger[PAYMENTS].watermark == 10
