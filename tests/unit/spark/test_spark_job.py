"""What all three Spark jobs do alike: where a worker's lines go, and what becomes of a worker that lacks a module."""

import logging
import pickle
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark import cloudpickle

from jobs.spark_job import cancel_with, run_on_workers
from kafka_mirror.audit import parallel
from kafka_mirror.audit.copied_ranges import AuditRange, Outcome
from kafka_mirror.audit.reader import AuditContext
from kafka_mirror.config.resolved_flow import ClientSettings
from kafka_mirror.copy import run as copy_run
from kafka_mirror.copy.model import LaneResult
from kafka_mirror.errors import ClusterUnreachable, WorkerUnprepared
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups import job
from kafka_mirror.groups.checkpoints import CheckpointsResult
from kafka_mirror.spark.log import relay_log
from kafka_mirror.spark.worker import run_on_worker
from services.waiting import PATIENCE

CLUSTER, LOCAL = "spark://127.0.0.1:7077", "local[*,4]"
CLIENTS = ClientSettings({}, {}, {}, {})
RANGE = AuditRange(TopicPartition("orders", 0), TopicPartition("east.orders", 0), 0, 1_200, 0, 1_200, 1_200, 1_200)
DOWN = ClusterUnreachable("west", "west-1:9092", 30)
COPY, AUDIT, GROUPS = copy_run.ON_WORKERS, parallel.ON_WORKERS, job.ON_WORKERS
# It reads a pickled function, and runs it as a worker without the library would.
BARE_WORKER = """
import pickle, sys
sys.modules["kafka_mirror"] = None
print(list(pickle.load(sys.stdin.buffer)("kafka_mirror.copy.run:copy_side_by_side", "INFO", False, [])))
"""


class SparkOfThisProcess:
    """A SparkContext whose workers are this process."""

    def __init__(self, master: str) -> None:
        self.master = master

    def parallelize(self, tasks: Sequence[bytes], slices: int) -> "SparkOfThisProcess":
        self.parts = [tasks[number::slices] for number in range(slices)]
        return self

    def mapPartitions(self, function: Callable[[Iterable[bytes]], Iterator[Any]]) -> "SparkOfThisProcess":
        self.answers = [answer for part in self.parts for answer in function(iter(part))]
        return self

    def collect(self) -> list[Any]:
        return self.answers


@dataclass(frozen=True)
class NumberedLane:
    """As much of a LaneTask as whoever shares lanes out looks at."""

    lane: int
    follow_seconds: float = 0.0
    known_topics: None = None


def speaks() -> None:
    logging.getLogger("kafka_mirror.copy.lane").warning("tries again")


def copies_lane(task: Any, stop: Any, shared: Any) -> LaneResult:
    speaks()
    return LaneResult(task.lane)


def audits(_context: Any, stretches: Sequence[AuditRange]) -> list[Outcome]:
    speaks()
    return [Outcome(stretch, error=DOWN.report()) for stretch in stretches]


def emits(*_: Any) -> CheckpointsResult:
    speaks()
    return CheckpointsResult(1)


@pytest.fixture(autouse=True)
def workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the workers run, without clusters."""
    monkeypatch.setattr(copy_run, "copy_lane", copies_lane)
    monkeypatch.setattr(parallel, "compare_audit_ranges", audits)
    monkeypatch.setitem(job.GROUP_STEPS, "checkpoints", job.GroupStep(emits, job.GROUP_STEPS["checkpoints"].done))


CONTEXT: Any = AuditContext("east", "west", 4, CLIENTS)
JOBS = {
    "copy": (COPY, [NumberedLane(3)], [LaneResult(3)], None),
    "audit": (
        AUDIT,
        [(CONTEXT, [RANGE])],
        [Outcome(RANGE, error=DOWN.report())],
        "east->west: 1,200 offsets of 1 partitions compared in 0.0 s, 1 with an error.",
    ),
    "checkpoints": (
        GROUPS,
        [("checkpoints", CONTEXT, ["shop", "till"], False)],
        [CheckpointsResult(1)],
        "east->west: checkpoints of 2 groups in 0.0 s.",
    ),
}


@pytest.mark.parametrize("master", [CLUSTER, LOCAL])
@pytest.mark.parametrize("name", JOBS)
def test_a_workers_lines_reach_the_tasks_log_at_their_level(
    name: str, master: str, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    function, tasks, expected, line = JOBS[name]
    assert run_on_workers(SparkOfThisProcess(master), function, tasks, 1) == expected
    said = capsys.readouterr().err.splitlines()
    if master == CLUSTER:  # the first half is what a worker's executor has, the second what the driver wrote
        assert said[len(said) // 2 :] == said[: len(said) // 2]
        said = said[len(said) // 2 :]
    logging.getLogger("kafka_mirror").propagate = True
    caplog.set_level("INFO")
    caplog.clear()
    assert list(relay_log(said)) == []
    # How long it took is the machine's business.
    levels = {(each.levelname, re.sub(r" in \d+\.\d s", " in 0.0 s", each.getMessage())) for each in caplog.records}
    assert levels == {("WARNING", "tries again")} | ({("INFO", line)} if line else set())


def test_answers_come_in_the_order_of_the_tasks_and_no_task_is_no_answer() -> None:
    spark = SparkOfThisProcess(CLUSTER)
    assert [result.lane for result in run_on_workers(spark, COPY, [NumberedLane(number) for number in (1, 2, 3, 4)], 4)] == [1, 2, 3, 4]
    assert run_on_workers(spark, COPY, [], 0) == []


def test_a_worker_without_a_module_of_its_function_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(WorkerUnprepared, match="cannot import 'confluent_kafka' with"):
        run_on_workers(SparkOfThisProcess(LOCAL), COPY, [1], 1)
    monkeypatch.undo()
    with pytest.raises(WorkerUnprepared, match=r"cannot import .kafka_mirror\.nothing. with"):
        run_on_workers(SparkOfThisProcess(LOCAL), "kafka_mirror.nothing:at_all", [1], 1)


def test_a_worker_without_the_library_can_say_so() -> None:
    command = [sys.executable, "-I", "-c", BARE_WORKER]
    done = subprocess.run(command, input=cloudpickle.dumps(run_on_worker), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert b"'module': 'kafka_mirror'" in done.stdout


def test_the_tasks_are_pickled_apart_from_what_reads_them() -> None:
    """A task whose classes a worker lacks must not keep it from saying so."""
    (answer,) = run_on_worker("kafka_mirror.nothing:at_all", "INFO", False, iter([b"no pickle"]))
    assert answer["module"] == "kafka_mirror.nothing"
    assert pickle.dumps(answer)


def test_what_spark_does_is_cancelled_when_nobody_waits_for_it_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    said, ended = list[str](), threading.Event()
    lives = iter([True, True])

    def wait(_seconds: float) -> bool:
        said.append("looks")
        return next(lives, False)

    def cancel() -> None:
        said.append("cancels")
        if said[-2:] == ["cancels", "cancels"]:
            ended.set()
            threading.Event().wait()  # for ever: a driver ends with its jobs, and its threads with it

    monkeypatch.setattr("jobs.spark_job.time", SimpleNamespace(sleep=lambda _seconds: None))
    cancel_with(SimpleNamespace(cancelAllJobs=cancel), wait)
    assert ended.wait(PATIENCE)
    assert said == ["looks", "looks", "looks", "cancels", "cancels"]
