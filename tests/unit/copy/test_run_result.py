"""What the plans of a run come to together."""

from dataclasses import replace

from kafka_mirror.copy.model import FORWARDED, REWRITTEN, BatchShare, LaneResult, RewriteReason, Watermark
from kafka_mirror.copy.plan.model import BEHIND, Plan, Range
from kafka_mirror.copy.run_result import RunResult, together
from kafka_mirror.errors import ErrorReport


def lane(*partitions: int, way: str = REWRITTEN) -> LaneResult:
    """A lane that copied ten records of each of these partitions, in a batch each."""
    marks = tuple(Watermark("orders", number, 10, 10, 10, 500) for number in partitions)
    share = BatchShare(way, len(marks), 10 * len(marks))
    rewritten = (RewriteReason("an edge", len(marks), "orders", partitions[0]),) if way == REWRITTEN else ()
    return LaneResult(0, marks, transactions=1, batches=(share,), rewritten=rewritten)


def test_the_batches_of_several_plans_are_added_up() -> None:
    both = together(together(lane(0, 1), lane(1, 2)), lane(2))
    assert both.batches == (BatchShare(REWRITTEN, 5, 50),)
    assert both.rewritten == (RewriteReason("an edge", 5, "orders", 0),)


def test_their_ways_are_told_apart() -> None:
    both = together(lane(0, 1), lane(0, way=FORWARDED))
    assert {share.way: share.batches for share in both.batches} == {REWRITTEN: 2, FORWARDED: 1}


def test_partitions_to_which_nothing_came_are_left_out_unless_an_error_leaves_that_in_doubt() -> None:
    ranges = tuple(Range(topic, 0, "id", 5, end, BEHIND) for topic, end in (("clicks", 5), ("orders", 5), ("payments", 9)))
    run = RunResult(Plan("east->west", ranges), (LaneResult(0, (Watermark("orders", 0, 7, 7, 2, 20),)),))
    assert [planned.topic for planned in run.plan_that_moved.ranges] == ["orders", "payments"]
    assert replace(run, failure=ErrorReport("JobFailed", "")).plan_that_moved.ranges == ranges
    assert replace(run, results=(LaneResult(0, errors=(ErrorReport("Overtaken", ""),)),)).plan_that_moved.ranges == ranges
