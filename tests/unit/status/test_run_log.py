"""A copy run in the words of its tasks' logs."""

from datetime import UTC, datetime

from kafka_mirror.copy.model import CopiedElsewhere, LaneResult, Watermark
from kafka_mirror.copy.plan.model import BEHIND, Plan, Range
from kafka_mirror.copy.run_result import Verdict
from kafka_mirror.status.run_log import lanes_line, plan_lines, reached_lines, verdict_lines

PLAN = Plan(
    "east->west",
    (Range("orders", 0, "id", 5, 9, BEHIND), Range("orders", 1, "id", 0, 1200, "first sight"), Range("users", 0, "id", 1, 2, BEHIND)),
    time=datetime(2026, 11, 21, 3, tzinfo=UTC),
)


def test_a_plan_names_its_topics_those_with_the_most_work_first():
    assert plan_lines(PLAN) == [
        "orders: 2 partitions, 1,204 offsets: 0 from 5 to 9 (behind), 1 from 0 to 1200 (first sight).",
        "users: 1 partition, 1 offset: 0 from 1 to 2 (behind).",
        "Planned at 2026-11-21 03:00:00 UTC, up to where the source was then.",
        "3 partitions of 2 topics with work, 1,205 offsets in all.",
    ]


def test_a_plan_of_a_thousand_topics_stays_short():
    lines = plan_lines(Plan("east->west", tuple(Range(f"t{n:04}", 0, "id", 0, 1, BEHIND) for n in range(1000))))
    assert len(lines) == 22
    assert lines[-2:] == [
        "980 more topics: 980 partitions, 980 offsets.",
        "1,000 partitions of 1,000 topics with work, 1,000 offsets in all.",
    ]


def test_the_ledger_says_which_partitions_are_behind_and_how_far():
    marks = (Watermark("orders", 0, 9, 9, 4, 7), Watermark("orders", 1, 100, 100, 4, 7), Watermark("users", 0, 2, 2, 1, 1))
    assert reached_lines(PLAN, marks) == [
        "orders is behind: orders-1@100 of 1200.",
        "The ledger has 2 of 3 partitions of 2 topics at their planned ends.",
    ]
    assert reached_lines(Plan("east->west"), ()) == []


def test_of_many_topics_that_are_behind_twenty_are_listed():
    lines = reached_lines(Plan("east->west", tuple(Range(f"t{n:04}", 0, "id", 0, 1, BEHIND) for n in range(1000))), ())
    assert lines[19:] == [
        "t0019 is behind: t0019-0@0 of 1.",
        "980 more topics are behind.",
        "The ledger has 0 of 1,000 partitions of 1,000 topics at their planned ends.",
    ]


def test_the_lanes_are_summed_up():
    results = [LaneResult(0, (Watermark("orders", 0, 9, 9, 4, 70),), transactions=1, seconds=2.5), LaneResult(1, transactions=2)]
    assert lanes_line(results) == "2 lanes copied 4 records, 70 bytes in 3 transactions; the slowest took 2.5 s."


def test_the_verdict_names_the_run_what_others_brought_and_where_to_look():
    judged = Verdict(
        "failed", records=4, bytes=70, owed=3, offset_syncs=2, copied_elsewhere=(CopiedElsewhere("users", 0, 1, 9, "other / 1"),)
    )
    assert verdict_lines("east->west", "east-to-west.copy / run-1", judged) == [
        "east->west: run east-to-west.copy / run-1: failed: its lanes copied 4 records, 70 bytes; 3 offsets of what was planned are left.",
        "1 records, 9 bytes of 1 partitions were copied meanwhile by another run: other / 1.",
        "2 offset syncs were written.",
        "What failed follows, each with what to do next. How the flow stands: its page /mirror in Airflow, "
        "or python -m kafka_mirror status --flow 'east->west'.",
    ]
