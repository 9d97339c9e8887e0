"""How lanes share a run's seconds and bytes, with lanes that copy as fast as they are told."""

import pytest

from kafka_mirror.copy.model import CopiedElsewhere, LaneResult, LaneTask, SkippedRecords, Watermark
from kafka_mirror.copy.plan.model import BEHIND, BLOCKED, Range
from kafka_mirror.copy.run import copy_in_shares, list_unfinished
from kafka_mirror.errors import ErrorReport


class Lanes:
    """Each lane has one partition with a backlog of bytes and copies a thousand a second; the clock moves as if all ran side by side."""

    def __init__(self, backlogs, at_once=4):
        self.left = dict(enumerate(backlogs))
        self.at_once = at_once
        self.clock = 100.0
        self.shares = []

    def copy(self, tasks):
        answers = []
        self.shares.append({task.lane: (task.max_seconds, task.max_bytes) for task in tasks})
        for first in range(0, len(tasks), self.at_once):
            side_by_side = [self._lane(task) for task in tasks[first : first + self.at_once]]
            self.clock += max(result.seconds for result in side_by_side)
            answers += side_by_side
        return answers

    def _lane(self, task):
        (planned,) = task.ranges
        size = min(self.left[task.lane], int(task.max_seconds * 1000), task.max_bytes if task.max_bytes >= 0 else self.left[task.lane])
        self.left[task.lane] -= size
        mark = Watermark(planned.topic, planned.partition, planned.end - self.left[task.lane], 0, size, size)
        return LaneResult(task.lane, (mark,), (), 1, size / 1000)

    def run(self, lane_task, max_seconds=300.0, max_bytes=-1):
        tasks = [
            with_ranges(lane_task, (Range("orders", n, "id", 0, size, BEHIND),), lane=n, max_seconds=max_seconds, max_bytes=max_bytes)
            for n, size in self.left.items()
        ]
        return copy_in_shares(tasks, self.at_once, self.copy, lambda: self.clock)


def with_ranges(task, ranges, **changes):
    return LaneTask(**{**{name: getattr(task, name) for name in task.__dataclass_fields__}, "ranges": ranges, **changes})


def test_lanes_that_are_done_in_their_share_have_no_other(lane_task):
    lanes = Lanes([1000] * 8)
    assert [result.records for result in lanes.run(lane_task)] == [1000] * 8
    assert lanes.shares == [dict.fromkeys(range(8), (150.0, -1))]


def test_what_idle_lanes_leave_over_goes_to_the_backlog(lane_task):
    lanes = Lanes([1_000_000, *[100] * 15])
    results = lanes.run(lane_task)
    assert [result.records for result in results[1:]] == [100] * 15
    assert results[0].records == pytest.approx(300_000, rel=0.01)
    assert lanes.clock - 100 <= 301


def test_a_backlog_in_every_lane_ends_with_the_run_and_each_has_had_the_same(lane_task):
    lanes = Lanes([10_000_000] * 16)
    assert [result.records for result in lanes.run(lane_task)] == [75_000] * 16
    assert (len(lanes.shares), lanes.clock) == (1, 400.0)


def test_bytes_that_are_left_over_are_shared_again_and_never_exceeded(lane_task):
    lanes = Lanes([100_000, 60_000, 10, 10])
    results = lanes.run(lane_task, max_bytes=80_000)
    assert [result.records for result in results] == [39_990, 39_990, 10, 10]
    assert sum(result.records for result in results) == 80_000


def test_nothing_to_do_copies_nothing():
    assert copy_in_shares([], 4, lambda tasks: pytest.fail("nothing was to be copied")) == []


def test_both_shares_of_a_lane_are_one_result(lane_task):
    answers = [
        LaneResult(0, (Watermark("orders", 0, 5, 6, 5, 50),), (), 1, 1.0, (SkippedRecords("orders", 0, 2, 1, "first"),)),
        LaneResult(
            0,
            (Watermark("orders", 0, 9, 11, 4, 40), Watermark("orders", 1, 1, 1, 1, 9)),
            (ErrorReport("X", "went wrong", "orders", 0),),
            2,
            0.5,
            (SkippedRecords("orders", 0, 7, 2, "second"),),
        ),
    ]
    task = with_ranges(lane_task, (Range("orders", 0, "id", 0, 10, BEHIND), Range("orders", 1, "id", 0, 1, BEHIND)))
    (result,) = copy_in_shares([task], 4, lambda tasks: [answers.pop(0)])
    assert result == LaneResult(
        0,
        (Watermark("orders", 0, 9, 11, 9, 90), Watermark("orders", 1, 1, 1, 1, 9)),
        (ErrorReport("X", "went wrong", "orders", 0),),
        3,
        1.5,
        (SkippedRecords("orders", 0, 2, 3, "first"),),
    )


RANGES = (Range("orders", 0, "id", 0, 10, BEHIND), Range("orders", 1, "id", 0, 10, BLOCKED), Range("clicks", 0, "id", 0, 10, BEHIND))


@pytest.mark.parametrize(
    ("errors", "left"),
    [
        ((), [("orders", 0, BEHIND), ("orders", 1, BEHIND), ("clicks", 0, BEHIND)]),
        ((ErrorReport("X", "", "orders", 1),), [("orders", 0, BEHIND), ("clicks", 0, BEHIND)]),
        ((ErrorReport("X", "", "orders"),), [("clicks", 0, BEHIND)]),
        ((ErrorReport("Overtaken", ""),), []),
    ],
)
def test_only_what_the_budget_stopped_goes_on(lane_task, errors, left):
    marks = (Watermark("orders", 0, 5, 5, 5, 5), Watermark("orders", 1, 1, 1, 1, 1))
    found = list_unfinished(with_ranges(lane_task, RANGES), LaneResult(0, marks, errors, 1))
    assert [(each.topic, each.partition, each.reason) for each in found] == left


def test_a_lane_that_committed_nothing_is_not_asked_again(lane_task):
    assert list_unfinished(with_ranges(lane_task, RANGES), LaneResult(0)) == ()


def test_the_next_share_of_a_lane_begins_behind_the_totals_of_the_one_before(lane_task):
    task = with_ranges(lane_task, (Range("orders", 0, "id", 0, 100, BEHIND, records=7, bytes=70),))
    marks = (Watermark("orders", 0, 40, 40, 30, 300),)
    answer = LaneResult(0, marks, transactions=1, copied_elsewhere=(CopiedElsewhere("orders", 0, 10, 100, "other / 1"),))
    [left] = list_unfinished(task, answer)
    assert (left.records, left.bytes) == (47, 470)
