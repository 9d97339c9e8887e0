"""What a lane says of itself: its beginning, each retry, each transaction at DEBUG, and how it ended and why."""

import logging

import pytest

from kafka_mirror.copy import lane as lane_module
from kafka_mirror.copy.lane_log import LaneLog
from kafka_mirror.copy.model import CopiedElsewhere, Watermark
from kafka_mirror.copy.plan.model import BEHIND, Range
from kafka_mirror.errors import AuthorizationRefused, ClusterUnreachable, Overtaken
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.record import Writer
from tests.unit.copy.happenings import raising
from tests.unit.ledger_records import WRITTEN_AT

ORDERS = TopicPartition("orders", 0)
DOWN = ClusterUnreachable("west", "west:9092", 4.0, "Connection refused")


@pytest.fixture
def said(caplog, monkeypatch):
    """Gives what was logged from INFO on, as level and text; nobody sleeps."""
    monkeypatch.setattr(lane_module.time, "sleep", lambda _seconds: None)
    caplog.set_level("INFO", "kafka_mirror")
    return lambda: [(each.levelname, each.getMessage()) for each in caplog.records]


def test_a_lane_that_goes_well_says_what_it_begins_from_where_and_how_it_ended(copy, known, said):
    known("orders", 7, writer=Writer("", "host-1", "east-to-west.copy / scheduled__1", WRITTEN_AT))
    copy(run="east-to-west.copy / scheduled__1")
    begins, ended = said()
    assert begins == (
        "INFO",
        "lane 0 begins: 2 partitions, 20 offsets: orders-0 [0, 10) behind, payments-0 [0, 10) behind; for 300 s at most. "
        "It has fenced earlier attempts (mirror.4.east.1.0) and read its ledger mm2-ledger.east.internal-0 up to 0; watermarks: "
        "orders-0@7 -> east.orders@7, payments-0 is new; written last at 2026-11-21 07:59:00 UTC on host-1 by "
        "east-to-west.copy / scheduled__1.",
    )
    assert ended[0] == "INFO"
    assert ended[1].startswith("lane 0 ended: 13 records, 1,300 bytes in 1 transaction, ")
    assert ended[1].endswith(" s; all that was planned is reached.")


def test_a_lane_that_fails_before_it_has_fenced_says_first_what_it_was_to_do(lane_task, said):
    log = LaneLog(lane_task)
    log.begin()
    log.warn_of_retry(1, 4, 0.5, DOWN, elsewhere=False)
    log.tell_fence(0, {})
    begins, retried, fenced = (text for _, text in said())
    assert begins.startswith("lane 0 begins: ")
    assert begins.endswith(" s at most.")
    assert retried.startswith("lane 0: attempt 1 of 4 failed")
    assert fenced.startswith("lane 0 has fenced earlier attempts ")


def test_each_retry_is_a_warning_with_its_error_its_number_and_its_pause(copy, world, said):
    world.happenings["copy"] = raising(DOWN, 2)
    copy()
    retries = [text for level, text in said() if level == "WARNING"]
    assert [text.partition(": ClusterUnreachable: ")[0] for text in retries] == [
        "lane 0: attempt 1 of 4 failed, the next begins in 0.5 s",
        "lane 0: attempt 2 of 4 failed, the next begins in 1 s",
    ]
    assert "Connection refused" in retries[0]


@pytest.mark.parametrize("error", [DOWN, Overtaken(0)])
def test_a_lane_that_gives_up_says_why_and_what_is_left(copy, world, said, error):
    world.happenings["copy"] = raising(error)
    copy()
    level, text = said()[-1]
    assert level == "WARNING"
    assert text.startswith("lane 0 gave up: 0 records, 0 bytes in 0 transactions, ")
    assert f"; left: 20 offsets (orders-0@0 of 10, payments-0@0 of 10). Why: {error.code}: " in text


def test_a_partition_that_is_left_out_is_named_with_its_reason_at_once(copy, world, said):
    world.hidden = {"east.orders"}
    copy()
    left_out = next(text for level, text in said() if level == "WARNING")
    assert left_out.startswith("lane 0: orders-0 is left out at 0, the lane's others go on: AuthorizationRefused: ")
    assert said()[-1][1].endswith("left: 10 offsets (orders-0@0 of 10); 1 partition left out.")


def test_a_topic_that_may_not_be_written_is_told_when_it_is_met(copy, world, said):
    world.happenings["copy"] = raising(AuthorizationRefused("west", "WRITE", "topic east.orders", topic="orders"), 1)
    copy()
    assert ("WARNING", "orders-0 is left out") in [(level, text[8:28]) for level, text in said()]


def test_a_budget_that_is_spent_is_no_failure(copy, said):
    copy(max_bytes=1000, transaction_max_bytes=1000)
    level, text = said()[-1]
    assert level == "INFO"
    assert "left: " in text
    assert text.endswith("; the run's budget is spent, so the next run goes on there.")


def test_each_transaction_is_told_at_debug_alone(copy, caplog):
    caplog.set_level(logging.DEBUG, "kafka_mirror.copy.lane")
    copy()
    [text] = [each.getMessage() for each in caplog.records if each.levelno == logging.DEBUG]
    assert text.startswith("lane 0: transaction 1 is committed: 20 records, 2,000 bytes in 0.")
    assert text.endswith(" s; orders-0@10, payments-0@10.")


def test_a_busy_lane_says_every_while_how_far_it_is(lane_task, said):
    clock = [0.0]
    log = LaneLog(lane_task, lambda: clock[0])
    for _ in range(100):
        clock[0] += 1
        log.tell_commit([], 1.0)
    assert [text.partition(":")[0] for _, text in said()] == ["lane 0 goes on"] * 3


def test_of_many_partitions_a_few_are_named(lane_task, said, copy):
    copy(ranges=tuple(Range("orders", number, "id-orders", 0, 1, BEHIND) for number in range(30)))
    assert "30 partitions, 30 offsets: " in said()[0][1]
    assert " and 22 more; " in said()[0][1]


# ---------------------------------------------------------------- whose records


def test_what_another_run_copied_since_the_plan_is_named_and_not_counted(copy, known, said):
    known("orders", 7, writer=Writer("", "host", "other / 1", WRITTEN_AT))
    result = copy(run="ours / 1")
    assert result.copied_elsewhere == (CopiedElsewhere("orders", 0, 7, 0, "other / 1"),)
    assert result.records == 13
    assert ("INFO", "lane 0: orders-0: 7 records had been copied since the plan by another run: other / 1.") in said()


def test_what_an_earlier_try_of_the_run_copied_is_its_own(copy, known):
    known("orders", 7, writer=Writer("", "host", "ours / 1", WRITTEN_AT))
    assert copy(run="ours / 1").copied_elsewhere == ()
    idle = (Range("orders", 0, "id-orders", 5, 5, BEHIND),)
    known("orders", 7, writer=Writer("", "host", "ours / 1", WRITTEN_AT))
    assert copy(run="ours / 1", ranges=idle).watermarks == (Watermark("orders", 0, 7, 7, 0, 0),), (
        "a lane of a worker that died tells nobody"
    )


def test_a_commit_of_ours_whose_answer_was_lost_is_not_another_runs(copy, world):
    world.happenings["commit"] = raising(DOWN, 1)
    assert copy(run="ours / 1").copied_elsewhere == ()
