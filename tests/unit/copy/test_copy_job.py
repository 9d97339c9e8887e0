"""The program of the copy's Spark job, with a Spark that answers by itself: by one plan, and following."""

import runpy
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from kafka_mirror.config import load
from kafka_mirror.copy import follow
from kafka_mirror.copy.job import JOB, arguments, job_files, read_results, read_run
from kafka_mirror.copy.model import NEWS, LaneResult, LaneTask, Watermark
from kafka_mirror.kafka.ledger import LedgerView
from kafka_mirror.plan.model import BEHIND, Plan, Range
from kafka_mirror.plan.run import PlanContext

CONFIGURATION = """
clusters = east, west
east.bootstrap.servers = 127.0.0.1:1
west.bootstrap.servers = 127.0.0.1:1
east->west.enabled = true
east->west.mirror.follow.seconds = 1
"""


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Plan]:
    """A plan of the flow that is configured: of `orders` up to an offset."""
    file = tmp_path / "mm2.properties"
    file.write_text(CONFIGURATION)
    monkeypatch.setenv("MIRROR_CONFIG", str(file))
    flow = load().flow("east->west")
    return lambda end: Plan(flow.name, (Range("orders", 0, "id", 0, end, BEHIND),), config_hash=flow.config_hash)


@pytest.fixture
def main(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """The program's own function; Spark runs its tasks at once, and says how often it was started."""
    spark = ModuleType("spark_job")

    @contextmanager
    def spark_context(_flow: str, _run: str, _modules: Sequence[str]) -> Iterator[Any]:
        spark.starts += 1  # type: ignore[attr-defined]
        yield SimpleNamespace(defaultParallelism=2)

    def run_on_workers(_spark: Any, _function: str, tasks: Sequence[LaneTask], _slices: int) -> list[LaneResult]:
        marks = [Watermark(r.topic, 0, r.end, r.end, r.offsets, 7) for task in tasks for r in task.ranges]
        return [LaneResult(task.lane, (mark,), ended_for=NEWS) for task, mark in zip(tasks, marks, strict=True)]

    spark.starts, spark.spark_context, spark.run_on_workers = 0, spark_context, run_on_workers  # type: ignore[attr-defined]
    spark.cancel_with = lambda _spark, wait: spark.waits.append(wait)  # type: ignore[attr-defined]
    spark.waits = []  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "spark_job", spark)
    monkeypatch.setattr("kafka_mirror.spark.driver.log_to_standard_error", lambda _level: None)
    return runpy.run_path(str(JOB))["main"]


def marks(results: Sequence[LaneResult]) -> list[tuple[int, int]]:
    return [(mark.source_offset, mark.records) for result in results for mark in result.watermarks]


def test_a_job_that_is_not_asked_to_follow_copies_once(plan: Callable[[int], Plan], main: Callable[..., int]) -> None:
    with job_files(plan(5)) as files:
        assert main(*arguments(files, "east->west", "run")) == 0
        assert marks(read_results(files.result)) == [(5, 5)]


def test_a_job_follows_with_one_spark_and_as_long_as_its_submitter_lives(
    plan: Callable[[int], Plan], main: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    plans: list[float] = []

    def planned_anew(flow: Any, by_person: bool, follow_for: float) -> PlanContext:
        plans.append(follow_for)
        return PlanContext(plan(8), LedgerView({}), {}, {})

    monkeypatch.setattr(follow, "plan_context", planned_anew)
    spark = sys.modules["spark_job"]
    with job_files(plan(5)) as files:
        assert main(*arguments(files, "east->west", "run", time.monotonic() + 2.2)) == 0
        result = read_run(files.result)
        assert (result.failure, result.plans) == (None, len(plans) + 1)
        assert marks(result.results)[0][0] == (8 if plans else 5)
        assert all(2 <= seconds <= 2.2 for seconds in plans)
        assert (spark.starts, len(spark.waits)) == (1, 1)  # type: ignore[attr-defined]
        assert spark.waits[0](0)  # type: ignore[attr-defined]
        plans.clear()
        with subprocess.Popen([sys.executable, "-c", ""]) as submitter:
            pass
        assert main(*arguments(files, "east->west", "run", time.monotonic() + 600)[:-1], str(submitter.pid)) == 0
        assert (plans, marks(read_run(files.result).results)) == ([], [(5, 5)])
        assert not spark.waits[1](0)  # type: ignore[attr-defined]
