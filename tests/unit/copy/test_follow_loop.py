"""A run that follows, with a made-up mirror and its clock."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_mirror.config import Flow, load
from kafka_mirror.copy import follow
from kafka_mirror.copy.follow import Ends, due_time, watch_idle
from kafka_mirror.copy.model import HANDED_OVER, CopiedElsewhere, LaneResult
from kafka_mirror.copy.plan.model import BEHIND, FIRST_SIGHT, Plan, Range
from kafka_mirror.copy.publish import compare_results
from kafka_mirror.copy.run import lane_tasks
from kafka_mirror.copy.run_result import RunResult
from kafka_mirror.errors import ClusterUnreachable, ErrorReport, RecordRefused
from kafka_mirror.formats.offsets.partition import TopicPartition, lane_of
from kafka_mirror.kafka.model import End
from tests.unit.copy.made_up_mirror import CONFIGURATION, RECORD_BYTES, RUN, START, Mirror

UNREACHABLE = ClusterUnreachable("east", "127.0.0.1:1", 30)
LANE_ERROR = ErrorReport("ClusterUnreachable", "the lane's own")


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
    """Two topics without any records."""
    return Mirror(configured, ends={"clicks": 0, "orders": 0}, copied={"clicks": 0, "orders": 0})


def nothing() -> None:
    """Somebody decides something that changes no plan."""


# ---------------------------------------------------------------- until it is due


def test_lanes_follow_until_the_next_run_is_due_by_one_plan(mirror: Mirror) -> None:
    mirror.arrivals = {0: {"orders": 3}, 11: {"orders": 4}}
    result = mirror.run(due=30.0)
    assert (mirror.plans, mirror.copies, mirror.clock) == ([], [(0.0, 30.0, -1)], 1030.0)
    judged = mirror.judged(result)
    assert (result.failure, judged.state, judged.records, judged.errors) == (None, "done", 7, ())


def test_what_was_decided_or_is_new_counts_from_the_next_plan_on_which_has_what_is_left_of_the_time(mirror: Mirror) -> None:
    mirror.ends["orders"] = 3
    mirror.arrivals = {6: {"orders": 2, "payments": 5}, 12: {"payments": 1}}
    mirror.happenings = {8: nothing}
    result = mirror.run()
    assert (mirror.plans, mirror.copies) == ([8], [(0, 60, -1), (8, 52, -1)])
    assert mirror.synced == [2, 3]
    published = compare_results(result.plan, result.results, mirror.ledger(), RUN)
    assert {(mark.topic, mark.source_offset, mark.records, mark.bytes) for mark in published.watermarks} == {
        ("orders", 5, 5, 50),
        ("payments", 6, 6, 60),
        ("clicks", 0, 0, 0),
    }
    assert (published.disagreements, published.copied_elsewhere, result.plans) == ((), (), 2)


def test_a_pause_in_the_middle_holds_until_it_is_lifted(mirror: Mirror) -> None:
    mirror.arrivals = {float(n): {"orders": 1, "clicks": 1} for n in range(0, 60, 5)}

    def pause() -> None:
        mirror.paused, mirror.notices = {"orders"}, ("orders is left out: pause",)

    at_the_pause: list[int] = []

    def resume() -> None:
        at_the_pause.append(mirror.copied["orders"])
        mirror.paused = set()

    mirror.happenings = {21: pause, 41: resume}
    result = mirror.run()
    assert (at_the_pause, mirror.copied) == ([5], {"orders": 12, "clicks": 12})
    assert (mirror.judged(result).notices, mirror.judged(result).records) == (("orders is left out: pause",), 24)


def test_a_part_of_a_second_is_a_rhythm_for_an_idle_flow_and_for_its_lanes(mirror: Mirror) -> None:
    mirror.configured("mirror.follow.seconds = 0.5")
    mirror.arrivals = {1.25: {"orders": 1}}
    assert mirror.following(due=10.0).await_work()
    assert mirror.looks == [0.5, 1.0, 1.5]
    flow = mirror.configured()
    [task] = lane_tasks(flow, Plan(flow.name, (Range("orders", 0, "id", 0, 1, BEHIND),), config_hash=flow.config_hash, follow_for=60.0))
    assert task.follow_seconds == 0.5


@pytest.mark.parametrize(("at", "copies"), [(57, 2), (59, 1)])
def test_no_plan_is_made_that_nobody_has_the_time_to_act_on(mirror: Mirror, at: float, copies: int) -> None:
    mirror.ends["orders"] = 3
    mirror.happenings = {at: nothing}
    mirror.run()
    assert len(mirror.copies) == copies


def test_what_another_run_has_taken_over_is_left_to_it(mirror: Mirror) -> None:
    mirror.ends["orders"] = 3
    mirror.happenings = {10: lambda: HANDED_OVER}
    judged = mirror.judged(mirror.run())
    assert (mirror.plans, len(mirror.copies), judged.state, judged.errors) == ([], 1, "done", ())


def test_bytes_of_a_run_hold_over_its_plans_together_and_configuration_from_the_next_one_on(mirror: Mirror) -> None:
    mirror.configured("mirror.run.max.bytes = 70")
    mirror.ends["orders"] = 3
    mirror.arrivals = {12: {"orders": 1}, 20: {"orders": 6}}

    def change() -> None:
        mirror.configured("mirror.run.max.bytes = 100")

    mirror.happenings = {6: nothing, 16: change, 30: nothing}
    mirror.run()
    assert [left for *_, left in mirror.copies] == [70, 40, 60]
    assert mirror.plans == [6, 16], "no plan is made with nothing left"


def test_a_run_that_is_told_to_stop_copies_no_more(mirror: Mirror) -> None:
    mirror.ends["orders"] = 3

    def stop() -> None:
        mirror.stopped_at = mirror.clock

    mirror.happenings = {12: stop}
    result = mirror.run()
    assert (mirror.plans, len(mirror.copies), mirror.judged(result).records, result.failure) == ([], 1, 3, None)


# ---------------------------------------------------------------- what fails


def test_a_plan_that_fails_ends_the_run_and_is_told_and_what_was_copied_stays(mirror: Mirror) -> None:
    mirror.ends["orders"] = 3
    mirror.happenings, mirror.failing_plans = {10: nothing}, {0: UNREACHABLE}
    result = mirror.run()
    judged = mirror.judged(result)
    assert (result.failure, judged.state, judged.records, judged.owed) == (UNREACHABLE.report(), "failed", 3, 0)
    assert judged.errors == (UNREACHABLE.report(),)


def test_a_copy_that_fails_as_nobody_foresaw_is_told_though_the_planned_ends_are_reached(mirror: Mirror) -> None:
    mirror.ends["orders"] = 3
    mirror.arrivals, mirror.happenings, mirror.broken = {6: {"orders": 2}}, {8: nothing}, {1: RuntimeError("the JVM is gone")}
    judged = mirror.judged(mirror.run())
    assert (judged.state, judged.records, judged.owed, len(mirror.plans)) == ("failed", 5, 0, 1)
    assert "A copy that follows failed unexpectedly: RuntimeError: the JVM is gone" in judged.errors[0].message


def test_an_error_of_a_lane_without_work_since_is_not_told_though_another_lane_is_behind(mirror: Mirror) -> None:
    """Another run copied meanwhile what the lane could not."""
    mirror.ends = {"orders": 3}
    assert lane_of("orders", 0, 16) != lane_of("clicks", 0, 16)
    mirror.answers[0] = [LANE_ERROR]
    run = mirror.following()
    mirror.answers[1] = [replace(LANE_ERROR, message="what stands")]

    def by_another_run(flow: Flow, by_person: bool, follow_for: float) -> Any:
        mirror.copied["orders"], mirror.writers["orders"], mirror.ends["clicks"] = 3, "another run", 4
        return mirror.anew(flow, by_person, follow_for)

    run._anew, mirror.failing_plans = by_another_run, {1: UNREACHABLE}
    judged = mirror.judged(run.run(mirror.copy))
    assert [error.message for error in judged.errors] == [UNREACHABLE.report().message, "what stands"]


def test_a_record_that_could_not_be_copied_is_told_once_and_what_is_left_is_owed(mirror: Mirror, caplog: Any) -> None:
    refused = RecordRefused("orders", 0, 3, "east.orders", "too large").report()
    mirror.ends["orders"] = 3
    mirror.arrivals, mirror.happenings, mirror.answers = {6: {"orders": 2}}, {6: nothing}, {1: [refused]}
    run = mirror.following()

    def stuck(flow: Flow, by_person: bool, follow_for: float) -> Any:
        if mirror.plans:
            mirror.errors, mirror.paused = [replace(refused, message="Stuck since then.")], {"orders"}
        else:
            mirror.copied["orders"] = 3
        return mirror.anew(flow, by_person, follow_for)

    run._anew = stuck
    judged = mirror.judged(run.run(mirror.copy))
    assert (judged.state, judged.errors, judged.owed, judged.records) == ("failed", (refused,), 2, 3)
    assert "Stuck since" not in caplog.text


def test_what_is_wrong_with_partitions_is_told_by_the_newest_plan_and_logged_once(mirror: Mirror, caplog: Any) -> None:
    mended, new = (ErrorReport(code, "went wrong", "orders", number) for number, code in enumerate(("SourceGap", "SourceRecreated")))
    mirror.errors, mirror.ends["orders"] = [mended], 3
    mirror.happenings = {10: lambda: setattr(mirror, "errors", [new]), 20: nothing, 30: nothing}
    judged = mirror.judged(mirror.run())
    assert (judged.state, judged.errors) == ("failed", (new,))
    assert caplog.text.count("SourceRecreated: went wrong") == 1, "not with every plan"


def test_what_another_run_copied_between_two_plans_is_told_as_its_own(mirror: Mirror) -> None:
    mirror.ends["orders"] = 3
    mirror.happenings = {10: nothing}
    run = mirror.following()

    def by_hand(flow: Flow, by_person: bool, follow_for: float) -> Any:
        mirror.ends["orders"], mirror.copied["orders"], mirror.writers["orders"] = 20, 13, "copy by hand / 1"
        return mirror.anew(flow, by_person, follow_for)

    run._anew = by_hand
    judged = mirror.judged(run.run(mirror.copy))
    assert (judged.records, judged.bytes) == (10, 100), "3 by the first plan, and 7 after the other run"
    assert judged.copied_elsewhere == (CopiedElsewhere("orders", 0, 10, 100, "copy by hand / 1"),)


def test_what_the_run_before_it_copied_until_it_handed_over_is_no_other_runs_and_is_not_its_own(mirror: Mirror) -> None:
    mirror.ends["orders"] = 13
    plan = mirror.plan()
    mirror.copied["orders"], mirror.writers["orders"] = 10, "east-to-west.copy / the one before"
    found = LaneResult(lane_of("orders", 0, 16), copied_elsewhere=(CopiedElsewhere("orders", 0, 10, 100, mirror.writers["orders"]),))
    judged = mirror.judged(RunResult(plan).with_results(plan, [found, *mirror.copy(mirror.configured(), plan, -1)]))
    assert (judged.records, judged.bytes, judged.copied_elsewhere) == (3, 30, ())


# ---------------------------------------------------------------- without work


def test_work_is_awaited_without_lanes_and_plans_and_left_to_the_caller(mirror: Mirror) -> None:
    mirror.arrivals = {22: {"orders": 2}}
    run = mirror.following()
    assert run.await_work()
    assert (mirror.looks, mirror.plans, mirror.copies) == ([5, 10, 15, 20, 25], [25], [])
    assert run.plan is not None
    assert [(planned.topic, planned.end) for planned in run.plan.ranges if planned.is_work] == [("orders", 2)]


def test_a_run_without_work_ends_when_the_next_is_due(mirror: Mirror) -> None:
    run = mirror.following(due=18)
    assert not run.await_work()
    assert (mirror.looks, mirror.plans, mirror.clock) == ([5, 10, 15], [], 1018)
    assert mirror.judged(run.result).errors == ()


def test_an_end_that_moved_and_is_no_work_is_planned_once(mirror: Mirror) -> None:
    run = mirror.following(due=40)
    assert run.plan is not None
    mirror.ends["orders"], mirror.copied["orders"] = 7, 7
    run._anew = lambda flow, by_person, follow_for: (
        mirror.anew(flow, by_person, follow_for)[0],
        SimpleNamespace(plan=run.plan, ledger=SimpleNamespace(records={})),
    )  # type: ignore[assignment,return-value]
    assert not run.await_work()
    assert (len(mirror.plans), len(mirror.looks)) == (1, 7)


def test_a_wait_that_cannot_look_is_told(mirror: Mirror) -> None:
    mirror.blind = UNREACHABLE
    run = mirror.following()
    assert not run.await_work()
    assert run.result.failure == UNREACHABLE.report()


@contextmanager
def two_clusters(*clusters: Any) -> Iterator[Any]:
    yield clusters


def test_an_idle_flow_asks_for_ends_and_decisions_and_tells_of_each_change_once(
    configured: Callable[..., Flow], monkeypatch: pytest.MonkeyPatch
) -> None:
    orders, control = TopicPartition("orders", 0), TopicPartition("mm2-control.east.internal", 0)
    ends, decided, seen = {orders: 5}, {control: 2}, Ends()
    source = SimpleNamespace(ends=lambda tps, _errors, committed: {tp: End(ends[tp], 1) for tp in tps if committed})
    target = SimpleNamespace(offsets=lambda tps, at, committed: {tp: decided[tp] for tp in tps if (at, committed) == ("latest", True)})
    monkeypatch.setattr(follow, "clusters", lambda _flow: two_clusters(source, target))
    plan = Plan("east->west", (Range("orders", 0, "id", 5, 5, BEHIND),), control_end=2)
    with watch_idle(configured("isolation.level = read_committed"), plan, seen) as has_changed:
        assert not has_changed()
        ends[orders] = 6
        assert [has_changed(), has_changed()] == [True, False]
        decided[control] = 3
        assert has_changed()


def test_only_what_is_to_be_copied_or_committed_is_work() -> None:
    idle = Range("orders", 0, "id", 5, 5, BEHIND)
    assert Plan("east->west", (idle,)).is_idle
    assert not Plan("east->west", (idle, replace(idle, end=6))).is_idle
    assert not Plan("east->west", (replace(idle, reason=FIRST_SIGHT),)).is_idle
    assert not Plan("east->west", (idle,), is_busy=True).is_idle, "the run before it, whose lanes it is to take over, copied just now"
    assert Plan("east->west", is_busy=True).is_idle, "nothing can be copied"


# ---------------------------------------------------------------- over several tries and processes


def test_a_job_that_follows_is_counted_with_what_preceded_it(mirror: Mirror) -> None:
    mirror.arrivals, mirror.happenings = {7: {"orders": 2}, 20: {"orders": 1, "clicks": 4}}, {30: nothing}
    run = mirror.following()
    assert run.await_work()
    result = run.hand_to(lambda _flow, plan: mirror.run(plan=plan))
    assert (result.plans, mirror.judged(result).records, mirror.judged(result).state) == (3, 7, "done")
    failed = mirror.following(plan=Plan("east->west", (Range("orders", 0, "id", 3, 5, BEHIND),)))
    assert failed.hand_to(lambda _flow, plan: replace(RunResult(plan), failure=UNREACHABLE.report())).failure == UNREACHABLE.report()
    died = mirror.following().hand_to(lambda _flow, _plan: {}["result"])
    assert [error.code for lane in died.results for error in lane.errors] == ["Unexpected"]


def test_a_try_after_an_earlier_one_plans_at_once_and_counts_both_but_not_the_earlier_ones_bytes(mirror: Mirror) -> None:
    mirror.configured("mirror.run.max.bytes = 30")
    mirror.ends["orders"] = 3
    earlier = mirror.run(due=6.0)
    mirror.ends["orders"] = 8
    result = mirror.run(earlier=earlier)
    assert (mirror.plans, [left for *_, left in mirror.copies]) == ([6], [30, 30])
    assert (mirror.judged(result).records, mirror.judged(result).state) == (8, "done")


def test_each_plan_is_told_in_a_line_and_the_end_in_one(mirror: Mirror, caplog: Any) -> None:
    caplog.set_level("INFO")
    mirror.arrivals, mirror.happenings = {0: {"orders": 1}, 11: {"orders": 1_200, "clicks": 1}}, {10: nothing}
    mirror.run()
    assert [line.getMessage() for line in caplog.records if line.name == "kafka_mirror.copy.follow"] == [
        "By plan 1 1 record, 10 bytes of 1 partition were copied in 10.0 s.",
        "By plan 2 1,201 records, 12,010 bytes of 2 partitions were copied in 50.0 s.",
        "east->west: the run no longer follows, after 2 plans: its lanes ended, for their time or budget is over or an error stopped them.",
    ]


def test_what_would_be_known_if_the_driver_died_is_kept_before_and_after_each_copy(mirror: Mirror) -> None:
    mirror.arrivals, mirror.happenings = {0: {"orders": 1}, 11: {"orders": 2, "payments": 1}}, {12: nothing}
    mirror.run()
    assert [sum(lane.records for lane in kept.results) for kept in mirror.kept] == [0, 3, 3, 4]
    assert [len(kept.plan.ranges) for kept in mirror.kept] == [2, 2, 3, 3]


def test_a_run_is_due_where_airflow_counts_its_intervals_and_is_no_longer_than_it_may_be(configured: Callable[..., Flow]) -> None:
    minute = 1_795_000_200.0

    def seconds(flow: Flow, begun: float) -> float:
        return round(due_time(flow, begun) - time.monotonic() + time.time() - begun)

    assert seconds(configured(), minute + 20) == 280
    assert seconds(configured("mirror.copy.interval.seconds = 60"), minute + 55) == 5
    assert seconds(configured("mirror.run.max.seconds = 7"), minute) == 7


# ---------------------------------------------------------------- without Spark

LITTLE = 5 * RECORD_BYTES + 5


@pytest.fixture
def known(mirror: Mirror) -> Mirror:
    """The size of records is known from those that were copied before."""
    mirror.ends, mirror.copied = {"clicks": 1, "orders": 1}, {"clicks": 1, "orders": 1}
    return mirror


def test_a_flow_with_little_work_is_copied_a_minute_at_a_time_until_its_run_is_due(known: Mirror) -> None:
    known.arrivals = {at: {"orders": 3} for at in (0, 30, 70, 130, 190, 250)}
    run = known.following(due=300, hand_over=60.0)
    assert not run.copy_little(known.copy, LITTLE + RECORD_BYTES)
    assert [(at, follow_for) for at, follow_for, _ in known.copies] == [(0, 60), (70, 60), (130, 60), (190, 110)]
    assert (known.clock - START, known.judged(run.result).records) == (300 + 60, 18)


def test_an_idle_minute_waits_and_copies_nothing(known: Mirror) -> None:
    known.arrivals = {0: {"orders": 1}, 150: {"orders": 1}}
    known.following(due=300).copy_little(known.copy, LITTLE)
    assert [at for at, *_ in known.copies] == [0, 150]


@pytest.mark.parametrize(("arrives", "begun"), [({0: 6}, []), ({0: 1, 10: 5, 80: 1}, [0]), ({0: 1, 70: 9}, [0])])
def test_a_minute_that_brings_more_leaves_the_rest_to_spark(known: Mirror, arrives: dict[float, int], begun: list[float]) -> None:
    known.arrivals = {at: {"orders": records} for at, records in arrives.items()}
    run = known.following(due=300)
    assert run.copy_little(known.copy, LITTLE)
    assert [at for at, *_ in known.copies] == begun
    result = run.hand_to(lambda _flow, plan: known.run(plan=plan, due=300))
    assert (known.judged(result).records, known.judged(result).state) == (sum(arrives.values()), "done")


def test_an_error_of_a_little_copy_ends_the_run(known: Mirror) -> None:
    known.arrivals, known.broken = {0: {"orders": 1}}, {0: UNREACHABLE}
    run = known.following(due=300)
    assert not run.copy_little(known.copy, LITTLE)
    assert (len(known.copies), known.judged(run.result).errors[0].code) == (1, "ClusterUnreachable")
