"""Rounds of a run, with a made-up mirror and its clock."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mirror.config import Flow, load
from mirror.copy.model import CopiedElsewhere
from mirror.copy.publish import compared
from mirror.copy.rounds import Rounds, RunTimes, run_times
from mirror.copy.run_result import RunResult
from mirror.errors import ClusterUnreachable, ErrorReport, Overtaken, RecordRefused
from mirror.offsets.partition import lane_of
from mirror.plan.model import BEHIND, Plan, Range
from tests.unit.copy.made_up_mirror import CONFIGURATION, RUN, START, Mirror
from tests.unit.decision_records import decision


@pytest.fixture
def configured(tmp_path: Path) -> Callable[..., Flow]:
    """The flow, as the file says at the moment; a line that is given is in it from now on."""
    file = tmp_path / "mm2.properties"
    file.write_text(CONFIGURATION)

    def flow(line: str = "") -> Flow:
        if line:
            file.write_text(f"{file.read_text()}\neast->west.{line}\n")
        return load([file]).flow("east->west")

    return flow


@pytest.fixture
def mirror(configured: Callable[..., Flow]) -> Mirror:
    return Mirror(configured)


def test_rounds_begin_so_many_seconds_after_each_other_until_the_next_run_is_due(mirror: Mirror) -> None:
    mirror.arrivals = {START: {"orders": 3}, START + 11: {"orders": 4}}
    result = mirror.run(due=30.0)
    assert mirror.plans == [5, 10, 15, 20, 25]
    assert (result.rounds, mirror.clock) == (6, START + 25)
    assert (mirror.copied, len(mirror.budgets)) == ({"orders": 7}, 2), "a round without work copies nothing"
    assert (result.failure, mirror.judged(result).state, mirror.judged(result).records) == (None, "done", 7)


def test_a_round_that_takes_longer_is_followed_at_once_and_none_begins_when_the_next_run_is_due(mirror: Mirror) -> None:
    mirror.configured("mirror.rounds.seconds = 1")
    mirror.arrivals = {START + n / 2: {"orders": 1} for n in range(40)}
    mirror.run(due=4.0)
    assert mirror.plans == [1, 2, 3]
    assert mirror.copied == {"orders": 7}


def test_records_of_all_rounds_count_and_partitions_that_came_later_have_their_watermarks(mirror: Mirror) -> None:
    mirror.copied = {"orders": 100}
    mirror.ends = {"orders": 103}
    mirror.arrivals = {START + 6: {"orders": 2, "clicks": 5}, START + 12: {"clicks": 1}}
    result = mirror.run()
    published = compared(result.plan, result.results, mirror.ledger(), RUN)
    marks = {(mark.topic, mark.source_offset, mark.records, mark.bytes) for mark in published.watermarks}
    assert marks == {("orders", 105, 5, 50), ("clicks", 6, 6, 60)}
    assert (published.disagreements, published.copied_elsewhere) == ((), ())
    assert {(planned.topic, planned.start, planned.end) for planned in result.plan.ranges} == {("orders", 100, 105), ("clicks", 0, 6)}
    assert sum(lane.transactions for lane in result.results) == 4


def test_what_another_run_copied_between_two_rounds_is_told_as_its_own(mirror: Mirror) -> None:
    mirror.ends = {"orders": 3}

    def by_hand() -> None:
        mirror.ends["orders"], mirror.copied["orders"], mirror.writers["orders"] = 20, 13, "copy by hand / 1"

    mirror.happenings = {1: by_hand}
    judged = mirror.judged(mirror.run())
    assert (judged.records, judged.bytes) == (10, 100), "3 in the first round, and 7 behind the other run"
    assert judged.copied_elsewhere == (CopiedElsewhere("orders", 0, 10, 100, "copy by hand / 1"),)


def test_a_partition_that_failed_and_was_reached_by_a_later_round_is_done(mirror: Mirror) -> None:
    mirror.ends = {"orders": 3}
    mirror.answers = {0: [ErrorReport("SourceUnreadable", "", "orders", 0, retriable=True), ErrorReport("ClusterUnreachable", "")]}
    judged = mirror.judged(mirror.run())
    assert (judged.state, judged.errors, judged.owed, judged.records) == ("done", (), 0, 3)


def test_an_error_of_a_lane_that_was_got_over_is_not_told_though_something_is_left(mirror: Mirror) -> None:
    mirror.ends = {"orders": 3}
    mirror.answers = {0: [ErrorReport("ClusterUnreachable", "")], 2: []}
    mirror.arrivals = {START + 55: {"orders": 4}}
    judged = mirror.judged(mirror.run())
    assert (judged.state, judged.errors, judged.owed) == ("done", (), 4)


def test_an_error_of_a_lane_without_work_since_is_not_told_though_another_lane_is_behind(mirror: Mirror) -> None:
    """Another run copied meanwhile what the lane could not."""

    def by_another_run() -> None:
        mirror.copied["orders"], mirror.writers["orders"] = 3, "another run"
        mirror.ends["clicks"] = 4

    mirror.ends["orders"] = 3
    assert lane_of("orders", 0, 16) != lane_of("clicks", 0, 16)
    mirror.answers[0] = [ErrorReport("ClusterUnreachable", "the lane's own")]
    mirror.answers[1] = [ErrorReport("ClusterUnreachable", "what stands")]
    mirror.happenings[0] = by_another_run
    judged = mirror.judged(mirror.run(due=10))
    assert [error.code for error in judged.errors] == ["ClusterUnreachable"]
    assert "what stands" in str(judged.errors[0])


def test_an_error_of_a_lane_that_still_has_work_stays_until_it_is_tried_again(mirror: Mirror) -> None:
    """Another run copied a part of it, and no further round was made."""

    def by_another_run() -> None:
        mirror.copied["orders"], mirror.writers["orders"] = 1, "another run"
        mirror.stopped_at = mirror.clock

    mirror.ends["orders"] = 3
    mirror.answers[0] = [ErrorReport("ClusterUnreachable", "what stands")]
    mirror.happenings[0] = by_another_run
    judged = mirror.judged(mirror.run())
    assert ([error.code for error in judged.errors], judged.owed) == (["ClusterUnreachable"], 2)


def test_a_record_that_a_later_round_could_not_copy_is_told_once_and_what_is_left_is_owed(mirror: Mirror, caplog: Any) -> None:
    refused = RecordRefused("orders", 0, 3, "east.orders", "too large").report()
    mirror.ends = {"orders": 3}
    mirror.arrivals = {START + 6: {"orders": 2}}
    mirror.answers = {1: [refused]}

    def stuck() -> None:
        mirror.errors, mirror.paused = [replace(refused, message="Stuck since then.")], {"orders"}

    mirror.happenings = {2: stuck}
    judged = mirror.judged(mirror.run())
    assert (judged.state, judged.errors, judged.owed, judged.records) == ("failed", (refused,), 2, 3)
    assert "Stuck since" not in caplog.text


def test_what_is_wrong_with_partitions_is_told_by_the_newest_plan(mirror: Mirror, caplog: Any) -> None:
    mended, new = (ErrorReport(code, "went wrong", "orders", number) for number, code in enumerate(("SourceGap", "SourceRecreated")))
    mirror.errors = [mended]
    mirror.happenings = {3: lambda: setattr(mirror, "errors", [new])}
    judged = mirror.judged(mirror.run())
    assert (judged.state, judged.errors) == ("failed", (new,))
    assert caplog.text.count("SourceRecreated: went wrong") == 1, "not in every round"


def test_a_pause_in_the_middle_holds_from_the_next_round_on(mirror: Mirror) -> None:
    mirror.arrivals = {START + n: {"orders": 1, "clicks": 1} for n in range(0, 60, 5)}

    def pause() -> None:
        mirror.paused, mirror.notices = {"orders"}, ("orders is left out: pause",)

    mirror.happenings = {4: pause, 8: lambda: setattr(mirror, "paused", set())}
    result = mirror.run()
    assert mirror.copied == {"orders": 12, "clicks": 12}
    assert mirror.judged(result).notices == ("orders is left out: pause",)
    assert mirror.judged(result).records == 24


def test_a_plan_that_fails_ends_the_rounds_and_is_told_and_what_was_copied_stays(mirror: Mirror) -> None:
    mirror.ends = {"orders": 3}
    unreachable = ClusterUnreachable("east", "127.0.0.1:1", 30)

    def fail() -> None:
        raise unreachable

    mirror.happenings = {2: fail}
    result = mirror.run()
    assert (mirror.plans, result.failure) == ([5, 10, 15], unreachable.report())
    judged = mirror.judged(result)
    assert (judged.state, judged.records, judged.owed, judged.errors) == ("failed", 3, 0, (unreachable.report(),))


def test_a_later_round_that_fails_as_nobody_foresaw_is_told_and_what_was_copied_stays(mirror: Mirror) -> None:
    mirror.ends = {"orders": 3}
    mirror.arrivals = {START + 6: {"orders": 2}}
    mirror.broken = {1: RuntimeError("the JVM is gone")}
    judged = mirror.judged(mirror.run())
    assert (judged.state, judged.records, judged.owed, len(mirror.plans)) == ("failed", 3, 2, 2)
    assert "Round 3 of a copy failed unexpectedly: RuntimeError: the JVM is gone" in judged.errors[0].message


def test_somebody_else_who_copies_the_flow_is_not_fenced_again(mirror: Mirror) -> None:
    mirror.ends = {"orders": 3}
    mirror.answers = {0: [Overtaken(3).report()]}
    mirror.run()
    assert (len(mirror.budgets), mirror.plans) == (1, [])


def test_a_task_that_is_ended_copies_no_further_round(mirror: Mirror) -> None:
    mirror.arrivals = {START: {"orders": 3}, START + 12: {"orders": 2}}
    mirror.stopped_at = START + 12
    result = mirror.run()
    assert (mirror.plans, mirror.clock, mirror.copied) == ([5, 10], START + 12, {"orders": 3})
    assert result.failure is None


def test_a_task_that_is_ended_while_it_plans_copies_nothing_of_that_plan(mirror: Mirror) -> None:
    mirror.arrivals = {START + 5: {"orders": 3}}
    mirror.happenings = {0: lambda: setattr(mirror, "stopped_at", mirror.clock)}
    mirror.run()
    assert (mirror.plans, mirror.budgets) == ([5], [])


def test_configuration_that_people_change_holds_from_the_next_round_on(mirror: Mirror) -> None:
    mirror.happenings = {
        1: lambda: mirror.configured("mirror.rounds.seconds = 20"),
        3: lambda: mirror.configured("mirror.rounds.seconds = 0"),
    }
    mirror.run(due=600.0, end=600.0)
    assert mirror.plans == [5, 10, 30, 50]


def test_seconds_and_bytes_of_a_run_hold_over_its_rounds_together(mirror: Mirror) -> None:
    mirror.configured("mirror.run.max.bytes = 70")
    mirror.arrivals = {START + n: {"orders": 3} for n in range(0, 60, 5)}
    result = mirror.run()
    assert [(budget.round, budget.seconds, budget.bytes) for budget in mirror.budgets] == [(1, 300, 70), (2, 295, 40), (3, 290, 10)]
    assert (result.rounds, mirror.copied) == (3, {"orders": 9}), "a round that begins is given what is left, and none begins with nothing"


def test_throttle_holds_over_the_rounds_together_and_a_decision_changes_it(mirror: Mirror) -> None:
    mirror.configured("mirror.max.bytes.per.second = 1")
    mirror.arrivals = {START + n: {"orders": 2} for n in range(0, 60, 5)}
    mirror.happenings = {8: lambda: setattr(mirror, "throttle", (decision("throttle", bytes_per_second=-1),))}
    result = mirror.run()
    began = [300 - budget.seconds for budget in mirror.budgets]
    assert began == [0, 20, 45, 50, 55], "20 bytes are worth 20 seconds, and then 100 that came meanwhile until the limit was lifted"
    assert mirror.judged(result).records == 24


def test_work_is_awaited_without_a_copy_and_left_to_the_caller(mirror: Mirror) -> None:
    mirror.arrivals = {START + 22: {"orders": 2}}
    rounds = mirror.rounds()
    assert rounds.await_work()
    assert (mirror.plans, mirror.budgets) == ([5, 10, 15, 20, 25], [])
    assert rounds.plan is not None
    assert [(planned.topic, planned.end) for planned in rounds.plan.ranges] == [("orders", 2)]
    idle = Mirror(mirror.configured)
    assert not idle.rounds().await_work()
    assert (idle.plans[-1], idle.judged(idle.run()).state) == (55, "nothing to do")


def test_a_job_that_makes_further_rounds_is_counted_with_what_preceded_it(mirror: Mirror) -> None:
    mirror.arrivals = {START + 7: {"orders": 2}, START + 20: {"orders": 1, "clicks": 4}}
    rounds = mirror.rounds()
    assert rounds.await_work()

    def job(flow: Flow, plan: Plan) -> RunResult:
        times = RunTimes(START + 60, START + 300)
        return Rounds(flow, RunResult(plan), RUN, times, mirror.wait, plan=plan, anew=mirror.anew, now=mirror.now).run(mirror.copy)

    result = rounds.followed_by(job)
    assert (result.rounds, mirror.judged(result).records, mirror.judged(result).state) == (12, 7, "done")
    unreachable = ClusterUnreachable("east", "127.0.0.1:1", 30).report()
    failed = mirror.rounds(earlier=result)
    failed.plan = Plan("east->west", (Range("orders", 0, "id", 3, 5, BEHIND),))
    assert failed.followed_by(lambda flow, plan: replace(RunResult(plan), failure=unreachable)).failure == unreachable
    died = Mirror(mirror.configured, ends={"orders": 3}).rounds()
    result = died.followed_by(lambda _flow, _plan: {}["result"])
    assert [error.code for lane in result.results for error in lane.errors] == ["Unexpected"]


def test_a_try_behind_an_earlier_one_plans_at_once_and_counts_both(mirror: Mirror) -> None:
    mirror.ends = {"orders": 3}
    earlier = mirror.run(due=6.0)
    mirror.ends["orders"] = 8
    began = mirror.clock
    result = mirror.run(earlier=earlier)
    assert mirror.plans[1] == began - START
    assert (mirror.judged(result).records, mirror.judged(result).state) == (8, "done")


def test_the_bytes_of_an_earlier_try_are_not_held_against_this_one(mirror: Mirror) -> None:
    mirror.configured("mirror.run.max.bytes = 30")
    mirror.ends = {"orders": 3}
    earlier = mirror.run()
    mirror.ends["orders"] = 5
    mirror.run(earlier=earlier)
    assert [budget.bytes for budget in mirror.budgets] == [30, 30]


def test_each_round_with_work_is_told_in_a_line_and_the_end_in_one(mirror: Mirror, caplog: Any) -> None:
    caplog.set_level("INFO")
    mirror.arrivals = {START: {"orders": 1}, START + 11: {"orders": 1_200, "clicks": 1}}
    mirror.run()
    assert [line.getMessage() for line in caplog.records if line.name == "mirror.copy.rounds"] == [
        "Round 1 copied 1 record, 10 bytes of 1 partition in 1.0 s.",
        "Round 4 copied 1,201 records, 12,010 bytes of 2 partitions in 1.0 s.",
        "east->west: 12 rounds, 2 of them with work; there is no other one in this run: the next run is due.",
    ]


def test_what_came_of_the_rounds_is_kept_after_each_with_work(mirror: Mirror) -> None:
    mirror.arrivals = {START: {"orders": 1}, START + 11: {"orders": 2}}
    mirror.run()
    assert [sum(lane.records for lane in kept.results) for kept in mirror.kept] == [1, 3]


def test_a_run_is_due_where_airflow_counts_its_intervals_and_is_no_longer_than_it_may_be(configured: Callable[..., Flow]) -> None:
    begun = 1_795_000_040.0  # 20 s behind a full minute
    start = time.monotonic() - (time.time() - begun)

    def seconds(flow: Flow) -> tuple[float, float]:
        times = run_times(flow, begun)
        return round(times.due - start), round(times.end - start)

    assert seconds(configured()) == (40, 300)
    assert seconds(configured("mirror.run.max.seconds = 7")) == (7, 7)
