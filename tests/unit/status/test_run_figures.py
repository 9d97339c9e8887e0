"""A run's figures are its own: what another run brought meanwhile is named as that, with the run it was."""

from datetime import UTC, datetime

import pytest

from kafka_mirror.copy.model import CopiedElsewhere, LaneResult, Watermark
from kafka_mirror.copy.plan.model import Plan, Range
from kafka_mirror.copy.publish import compare_results
from kafka_mirror.copy.run_result import verdict
from kafka_mirror.ledger.record import Writer
from tests.unit.ledger_records import ledger_record

OURS, OTHER = "east-to-west.copy / scheduled__1", "east-to-west.backfill / scheduled__1"
PLANNED = Range("orders", 0, "id", 10, 20, "behind", records=100, bytes=1000)
PLAN, TP = Plan("east->west", (PLANNED,)), PLANNED.topic_partition


def record(run, records=110, size=1250, watermark=20):
    writer = Writer("", "host", run, datetime(2026, 11, 21, tzinfo=UTC))
    return {TP: ledger_record(watermark=watermark, target_next=20, records=records, bytes=size, writer=writer)}


def lane(records=0, size=0, elsewhere=()):
    marks = (Watermark("orders", 0, 20, 20, records, size),) if records else ()
    return LaneResult(0, marks, copied_elsewhere=tuple(elsewhere))


def judged(results, records):
    return verdict(PLAN, results, compare_results(PLAN, results, records, OURS))


def test_a_run_takes_no_credit_for_what_another_one_copied():
    found = judged([lane()], record(OTHER))
    assert (found.state, found.records, found.bytes, found.errors) == ("done", 0, 0, ())
    assert str(found) == (
        f"done: 0 records, 0 bytes copied; 10 records, 250 bytes of 1 partitions were copied meanwhile by another run: {OTHER}"
    )


def test_what_the_lanes_found_in_the_ledger_is_not_theirs_though_they_wrote_last():
    found = judged([lane(4, 100, [CopiedElsewhere("orders", 0, 6, 150, OTHER)])], record(OURS))
    assert (found.records, found.bytes) == (4, 100)
    assert "6 records, 150 bytes of 1 partitions were copied meanwhile by another run" in str(found)


def test_what_another_run_copied_behind_the_lanes_is_not_theirs():
    found = judged([lane(4, 100)], record(OTHER))
    assert (found.records, found.bytes) == (4, 100)
    assert "6 records, 150 bytes of 1 partitions" in str(found)


@pytest.mark.parametrize("results", [[], [lane()], [lane(4, 100)]])
def test_an_earlier_try_and_a_commit_whose_answer_was_lost_are_the_runs_own(results):
    found = judged(results, record(OURS))
    assert (found.records, found.bytes, found.copied_elsewhere) == (10, 250, ())


def test_a_run_without_a_name_has_all_that_no_lane_saw_come_from_elsewhere():
    found = compare_results(PLAN, [lane(4, 100, [CopiedElsewhere("orders", 0, 6, 150, OTHER)])], record(OTHER))
    assert (found.watermarks[0].records, found.watermarks[0].bytes) == (4, 100)


def test_an_unnamed_other_run_is_told_as_that():
    assert str(judged([lane()], record(""))).endswith("were copied meanwhile by another run that has no name (by hand)")
