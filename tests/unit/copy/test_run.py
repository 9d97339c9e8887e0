"""Lanes in a process and as a job: one that fails as nobody foresaw, and the copy with a Spark that answers by itself."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_mirror.config import Flow, load
from kafka_mirror.copy import follow, run
from kafka_mirror.copy.model import NEWS, BatchShare, CopiedElsewhere, LaneResult, LaneTask, RewriteReason, SkippedRecords, Watermark
from kafka_mirror.copy.plan.model import BEHIND, Plan, Range
from kafka_mirror.copy.plan.run import PlanContext
from kafka_mirror.copy.run import copy_with_spark, follow_with_spark
from kafka_mirror.copy.run_result import RunResult
from kafka_mirror.errors import Overtaken, SparkServerUnavailable
from kafka_mirror.formats.documents import from_document, to_document
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.topic import LedgerView
from kafka_mirror.spark.run import SparkRunner
from tests.spark_session import SparkOfThisProcess

FAILING = """
from kafka_mirror.copy import run
from tests.unit.copy.test_run import task

class Lane:
    def __init__(self, *_):
        pass

    def run(self):
        return {}["nowhere"]

run.LaneCopy = Lane
print(run.copy_side_by_side([task()])[0].errors[0].message)
"""


def task():
    """A task of which nothing matters but its names."""
    from kafka_mirror.config.resolved_flow import ClientSettings
    from kafka_mirror.copy.model import LaneTask

    return LaneTask("east", "west", 4, ClientSettings({}, {}, {}, {}, {}), 3, "ledger", "id", (), {}, frozenset(), "e", "w")


@pytest.fixture
def failing(monkeypatch):
    """A lane whose run fails two calls deep, for a reason of its own."""

    class Lane:
        def __init__(self, *_):
            pass

        def run(self):
            try:
                self.look_up({})
            except KeyError as error:
                raise RuntimeError("no way on") from error

        def look_up(self, empty):
            return empty["offset"]

    monkeypatch.setattr(run, "LaneCopy", Lane)


def test_the_error_has_every_call_and_what_caused_it(failing, caplog):
    result = run.copy_lane(task())
    (error,) = result.errors
    assert (result.lane, error.code, error.retriable) == (3, "Unexpected", False)
    assert re.match(
        r"Lane 3 failed unexpectedly: RuntimeError: no way on \(kafka_mirror/copy/run\.py:\d+ copy_lane > test_run\.py:\d+ run\)",
        error.message,
    )
    assert ", caused by KeyError: 'offset' (" in error.message
    assert error.message.endswith(" look_up).")
    assert caplog.text.count("Traceback (most recent call last)") == 2, "the failure's, and that of what caused it"
    assert re.search(r'File ".*test_run\.py", line \d+, in look_up', caplog.text)
    assert "RuntimeError: no way on" in caplog.text


def test_a_process_that_has_no_logging_set_up_prints_the_traceback_as_a_spark_worker_does():
    root = Path(__file__).parents[3]
    path = f"{root / 'include'}:{root}"
    ended = subprocess.run([sys.executable, "-c", FAILING], env={"PYTHONPATH": path}, capture_output=True, text=True, check=True)
    assert "Lane 3 failed unexpectedly: KeyError: 'nowhere' (kafka_mirror/copy/run.py:" in ended.stdout
    assert "Traceback (most recent call last)" in ended.stderr


SERVER, CLUSTER = "sc://127.0.0.1:15002", "spark://one:7077"
CONFIGURATION = """
clusters = east, west
east.bootstrap.servers = 127.0.0.1:1
west.bootstrap.servers = 127.0.0.1:1
east->west.enabled = true
east->west.mirror.follow.seconds = 1
"""


class Spark(SparkOfThisProcess):
    """Copies what its lanes shall at once; the lanes end for something new."""

    def __init__(self) -> None:
        super().__init__()
        self.lanes: list[LaneTask] = []
        self.slices: list[int] = []

    def run(self, function: str, tasks: Sequence[LaneTask], slices: int) -> list[LaneResult]:
        self.meanwhile()
        self.lanes += tasks
        self.slices.append(slices)
        marks = [Watermark(r.topic, 0, r.end, r.end, r.offsets, 7) for task in tasks for r in task.ranges]
        return [LaneResult(task.lane, (mark,), ended_for=NEWS) for task, mark in zip(tasks, marks, strict=True)]


@pytest.fixture
def flow(tmp_path: Path) -> Flow:
    file = tmp_path / "mm2.properties"
    file.write_text(CONFIGURATION)
    return load([file]).flow("east->west")


@pytest.fixture
def plan(flow: Flow) -> Callable[[int], Plan]:
    """A plan of the flow: of `orders` up to an offset."""
    return lambda end: Plan(flow.name, (Range("orders", 0, "id", 0, end, BEHIND),), config_hash=flow.config_hash)


@pytest.fixture
def spark(monkeypatch: pytest.MonkeyPatch) -> Spark:
    found = Spark()
    monkeypatch.setattr("kafka_mirror.spark.connect.flow_session", found.flow_session)
    monkeypatch.setattr("kafka_mirror.spark.run.submit", found.submit)
    return found


@pytest.fixture
def plans(plan: Callable[[int], Plan], monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """For how long each plan after the first one was made: of more records."""
    made: list[float] = []

    def planned_anew(_flow: Any, by_person: bool, follow_for: float) -> PlanContext:
        made.append(follow_for)
        return PlanContext(plan(8), LedgerView({}), {}, {})

    monkeypatch.setattr(follow, "plan_context", planned_anew)
    return made


def marks(results: Sequence[LaneResult]) -> list[tuple[int, int]]:
    return [(mark.source_offset, mark.records) for result in results for mark in result.watermarks]


@pytest.mark.parametrize("master", [SERVER, CLUSTER])
def test_a_job_that_is_not_asked_to_follow_copies_once(master: str, flow: Flow, plan: Callable[[int], Plan], spark: Spark) -> None:
    results = copy_with_spark(SparkRunner(master), flow, plan(5), "a run")
    assert (marks(results), [task.run for task in spark.lanes]) == ([(5, 5)], ["a run"])
    assert (len(spark.sessions), len(spark.jobs)) == ((1, 0) if master == SERVER else (0, 1))


@pytest.mark.parametrize("master", [SERVER, CLUSTER])
def test_a_job_follows_by_several_plans_on_one_spark(
    master: str, flow: Flow, plan: Callable[[int], Plan], spark: Spark, plans: list[float]
) -> None:
    result = follow_with_spark(SparkRunner(master), flow, plan(5), "a run", time.monotonic() + 2.2)
    assert (result.failure, result.plans) == (None, len(plans) + 1)
    assert marks(result.results)[0][0] == (8 if plans else 5)
    assert all(2 <= seconds <= 2.2 for seconds in plans)
    assert len(spark.sessions) + len(spark.jobs) == 1
    assert {task.max_bytes for task in spark.lanes} == {-1}


@pytest.mark.parametrize(("master", "cores", "slices", "hand_over"), [(SERVER, 1, 1, 0.0), (SERVER, 5, 2, 60.0), (CLUSTER, 5, 5, 60.0)])
def test_a_run_leaves_the_next_one_as_many_cores_of_a_spark_that_stays_as_it_has_or_ends_when_it_is_due(
    master: str, cores: int, slices: int, hand_over: float, flow: Flow, spark: Spark, plans: list[float]
) -> None:
    spark.cores = cores
    ranges = tuple(Range("orders", partition, "id", 0, 5, BEHIND) for partition in range(8))
    planned = Plan(flow.name, ranges, config_hash=flow.config_hash, hand_over_for=60.0)
    follow_with_spark(SparkRunner(master), flow, planned, "copy / 1, by hand", time.monotonic() + 1)
    assert {task.hand_over_seconds for task in spark.lanes} == {hand_over}
    assert spark.slices[0] == slices
    by = [(step, by) for step, by, _ in spark.sessions]
    assert by == ([("copy", "copy / 1, by hand")] if master == SERVER else []), "what the run before it does is not interrupted"


def test_a_job_that_follows_ends_with_its_submitter(
    flow: Flow, plan: Callable[[int], Plan], spark: Spark, plans: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        pass
    monkeypatch.setattr("kafka_mirror.spark.run.os", SimpleNamespace(getpid=lambda: gone.pid, getppid=os.getppid, kill=os.kill))
    result = follow_with_spark(SparkRunner(CLUSTER), flow, plan(5), "a run", time.monotonic() + 600)
    assert (plans, marks(result.results)) == ([], [(5, 5)])
    assert not spark.waits[0](0)


def test_a_run_whose_driver_dies_comes_back_as_far_as_it_was(
    flow: Flow, plan: Callable[[int], Plan], spark: Spark, plans: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    def die_in_the_second_copy() -> None:
        if spark.lanes:
            raise Died

    class Died(BaseException):
        """The end of the driver's process."""

    def killed(*job: Any) -> str:
        with pytest.raises(Died):
            spark.submit(*job)
        return "exit code 137."

    monkeypatch.setattr("kafka_mirror.spark.run.submit", killed)
    spark.meanwhile = die_in_the_second_copy
    result = follow_with_spark(SparkRunner(CLUSTER), flow, plan(5), "a run", time.monotonic() + 60)
    assert (marks(result.results), result.plans) == ([(5, 5)], 2)
    assert [planned.end for planned in result.plan.ranges] == [8], "what it was to copy"
    assert result.failure is not None
    assert (result.failure.code, result.failure.retriable) == ("JobFailed", True)


def test_what_fails_while_it_follows_is_in_the_result(flow: Flow, plan: Callable[[int], Plan], spark: Spark) -> None:
    def fails() -> None:
        raise SparkServerUnavailable("127.0.0.1:15002", "it is down")

    spark.meanwhile = fails
    result = follow_with_spark(SparkRunner(SERVER), flow, plan(5), "a run", time.monotonic() + 60)
    assert [error.code for lane in result.results for error in lane.errors] == ["SparkServerUnavailable"]


def test_a_run_comes_back_through_files_as_it_was(plan: Callable[[int], Plan]) -> None:
    everything = LaneResult(
        3,
        (Watermark("orders", 0, 9, 12, 6, 420),),
        (Overtaken(3).report(),),
        2,
        1.5,
        (SkippedRecords("orders", 0, 5, 1, "too large"),),
        7,
        (CopiedElsewhere("orders", 0, 1, 2, "another run"),),
        (BatchShare("joined", 1, 2),),
        (RewriteReason("a reason", 1, "orders", 0),),
        (TopicPartition("orders", 0),),
        NEWS,
    )
    result = RunResult(plan(5), (everything,), 7, Overtaken(3).report())
    assert from_document(RunResult, to_document(result)) == result
