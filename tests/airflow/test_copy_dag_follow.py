"""The `copy` DAG of a flow that follows, with a core and a Spark job that answer as told: who waits for work, and what is counted."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafka_mirror.airflow.spark_hook import TaskRunner
from kafka_mirror.copy.model import LaneResult, Watermark
from kafka_mirror.copy.plan.model import Plan, Range
from kafka_mirror.copy.plan.run import PlanContext
from kafka_mirror.copy.publish import Published
from kafka_mirror.copy.run import DRIVER_DIED, FollowWork
from kafka_mirror.copy.run_result import RunResult
from kafka_mirror.errors import ClusterUnreachable, MirrorError, RecordRefused
from kafka_mirror.formats.documents import to_document
from kafka_mirror.formats.offsets.partition import lane_of
from kafka_mirror.ledger.topic import LedgerView
from kafka_mirror.spark.files import write_answer
from tests.airflow.spark_here import told
from tests.airflow.task_log import TaskLog
from tests.airflow.test_copy_operator import COPY, FLOW, Core

ORDERS, CLICKS = Range("orders", 0, "id", 5, 9, "behind"), Range("clicks", 0, "id", 0, 7, "behind")
UNREACHABLE = ClusterUnreachable("east", "127.0.0.1:1", 30)


def lane(planned: Range) -> LaneResult:
    mark = Watermark(planned.topic, 0, planned.end, planned.end, planned.offsets, 7)
    return LaneResult(lane_of(planned.topic, 0, 16), (mark,))


class FollowingCore(Core):
    """A core that plans several times. Its job copies the plan that it gets, then one with the next of `in_job`; it fails if it shall."""

    def __init__(self) -> None:
        super().__init__()
        self.ranges = ()
        self.later: list[Any] = []
        """What the plans in the task find: a range, an error, something to call, or None. An idle flow changes as long as there are any."""
        self.in_job: list[Range] = []
        self.failures: list[MirrorError | None] = []
        self.end: Callable[[], None] = lambda: None
        self.dies = False

    @contextmanager
    def watch(self, *_: Any) -> Iterator[Callable[[], bool]]:
        yield lambda: bool(self.later)

    def plan_context(self, flow: Any, by_person: bool, follow_for: float) -> PlanContext:
        assert follow_for > 0
        found = self.later.pop(0) if self.later else None
        if isinstance(found, Exception):
            raise found
        if callable(found):
            found()
        ranges = (found,) if isinstance(found, Range) else ()
        errors = tuple(error.report() for error in self.left_out)
        return PlanContext(Plan(flow.name, ranges, errors, config_hash=flow.config_hash), LedgerView({}), {}, {})

    def submit(self, hook: Any, application: str = "", **_: Any) -> None:
        from airflow.sdk.exceptions import AirflowException

        work_file, result_file = (Path(each) for each in hook._application_args)
        self.files += [work_file, result_file]
        job, work = told(work_file)
        self.jobs.append((job, work))
        plan = work.plan
        result = RunResult(plan).with_results(plan, map(lane, plan.ranges))
        if self.in_job:
            more = Plan(plan.flow, (self.in_job.pop(0),))
            result = result.with_plan(more).with_results(more, map(lane, more.ranges))
        if self.lane_errors:
            more = Plan(plan.flow, (ORDERS,))
            result = result.with_results(more, [LaneResult(lane_of("orders", 0, 16), errors=(self.lane_errors.pop(0).report(),))])
        if self.dies:
            write_answer(result_file, to_document(replace(result, failure=DRIVER_DIED)))
            raise AirflowException("Cannot execute: spark-submit. Error code is: 137.")
        failure = self.failures.pop(0) if self.failures else None
        write_answer(result_file, to_document(replace(result, failure=failure.report() if failure else None)))

    def reached(self, flow: Any, plan: Plan, run: str | None = None) -> Published:
        return Published(tuple(Watermark(r.topic, r.partition, r.end, r.end, r.offsets, 7) for r in plan.ranges))


@pytest.fixture
def core(configured: Callable[..., None], airflow_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FollowingCore]:
    """The stand-in, for a run that is due again two seconds after its copy began; afterwards, no file of a job is left."""
    configured(*FLOW)
    core = FollowingCore()

    def due_time(_flow: Any, begun: float) -> float:
        assert abs(time.time() - begun) < 3600, "a time of day"
        return time.monotonic() + 2.5

    class Runner(TaskRunner):
        def __init__(self, flow: Any) -> None:
            super().__init__(flow)
            core.end = self.end

    monkeypatch.setattr("kafka_mirror.copy.plan.run.plan", core.plan)
    monkeypatch.setattr("kafka_mirror.copy.follow.plan_context", core.plan_context)
    monkeypatch.setattr("kafka_mirror.copy.follow.watch_idle", core.watch)
    monkeypatch.setattr("kafka_mirror.copy.follow._SECONDS_WORTH_A_PLAN", 0.1)
    monkeypatch.setattr("kafka_mirror.copy.run_result.publish", core.publish)
    monkeypatch.setattr(
        "kafka_mirror.airflow.spark_hook.JobHook.submit", lambda hook, *args, **options: core.submit(hook, *args, **options)
    )
    monkeypatch.setattr("kafka_mirror.airflow.work.follow.due_time", due_time)
    monkeypatch.setattr("kafka_mirror.airflow.work.follow.checkpoints_meanwhile", lambda _flow, _due: nullcontext())
    monkeypatch.setattr("kafka_mirror.airflow.spark_hook.TaskRunner", Runner)
    yield core
    assert not [path for path in core.files if path.exists()]


def records(xcom: Any) -> dict[str, int]:
    marks = xcom["watermarks"]
    return dict(zip(marks["topic"], marks["records"], strict=True))


def test_the_task_waits_for_work_itself_and_then_a_job_follows(core: FollowingCore, run_dag: Callable[..., Any]) -> None:
    core.later, core.in_job = [None, ORDERS], [CLICKS]
    began = time.time()
    run = run_dag(COPY)
    assert (run.state, run.tasks["copy"]) == ("success", "success")
    [(job, work)] = core.jobs
    assert (type(work), began < work.until < time.time() + 3, job.submitter) == (FollowWork, True, os.getpid())
    assert records(run.xcom["copy"]) == {"orders": 4, "clicks": 7}
    assert (run.xcom["copy"]["state"], run.xcom["copy"]["records"], len(core.published)) == ("done", 11, 1)


def test_a_run_without_work_ends_when_the_next_one_is_due_and_what_its_newest_plan_says_counts(
    core: FollowingCore, run_dag: Callable[..., Any], task_log: TaskLog
) -> None:
    refused = RecordRefused("orders", 0, 5, "east.orders", "too large")
    core.later = [None, lambda: core.left_out.append(refused)]
    run = run_dag(COPY)
    assert (run.tasks, core.jobs) == ({"plan": "success", "copy": "failed"}, [])
    assert "the run no longer follows, after 3 plans: its time is over." in task_log.take()


def test_a_try_that_failed_is_counted_with_the_one_that_went_on(core: FollowingCore, run_dag: Callable[..., Any]) -> None:
    core.later, core.failures = [ORDERS, CLICKS], [UNREACHABLE]
    run = run_dag(COPY, retries=1)
    assert (run.state, len(core.jobs)) == ("success", 2)
    assert records(run.xcom["copy"]) == {"orders": 4, "clicks": 7}
    assert run.xcom["copy"]["state"] == "done"


def test_a_try_after_which_nobody_can_read_the_ledger_is_counted_by_the_next_one(core: FollowingCore, run_dag: Callable[..., Any]) -> None:
    core.later, core.in_job, core.outages = [ORDERS], [CLICKS], [UNREACHABLE]
    run = run_dag(COPY, retries=1)
    assert (run.state, len(core.jobs), core.outages) == ("success", 1, [])
    assert (run.xcom["copy"]["state"], run.xcom["copy"]["records"]) == ("done", 11)


@pytest.mark.parametrize("dies", [False, True])
def test_a_run_that_ends_by_an_error_is_red_and_what_it_copied_is_counted(
    core: FollowingCore, run_dag: Callable[..., Any], task_log: TaskLog, dies: bool
) -> None:
    core.later, core.in_job, core.dies = [ORDERS], [CLICKS], dies
    core.failures = [UNREACHABLE]
    run = run_dag(COPY)
    assert run.tasks == {"plan": "success", "copy": "failed"}
    assert records(run.xcom["copy"]) == {"orders": 4, "clicks": 7}
    code = "JobFailed" if dies else "ClusterUnreachable"
    assert [error["code"] for error in run.xcom["copy"]["errors"]] == [code]
    assert "11 records were copied, and this failed" in task_log.take()


def test_a_task_that_is_killed_while_it_waits_submits_nothing(core: FollowingCore, run_dag: Callable[..., Any], task_log: TaskLog) -> None:
    def killed() -> Range:
        core.end()
        return ORDERS

    core.later = [killed, ORDERS]
    run = run_dag(COPY)
    assert (core.jobs, run.tasks["copy"], core.later) == ([], "success", [ORDERS])
    assert "the run no longer follows, after 2 plans: it was asked to stop." in task_log.take()
