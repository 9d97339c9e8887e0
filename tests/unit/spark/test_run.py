"""A job on Spark: the same function in a session of a Spark that stays and in the driver of a job, its work, its answer and its errors; how
drivers end."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kafka_mirror.config import Flow, load
from kafka_mirror.errors import ClusterUnreachable, JobFailed, MirrorError, PlanMismatch, ReportedError, WorkerUnprepared
from kafka_mirror.formats.documents import to_document
from kafka_mirror.spark import run
from kafka_mirror.spark.files import JobFiles, write_private
from kafka_mirror.spark.log import require_prepared_workers
from kafka_mirror.spark.run import Job, Spark, SparkRunner, name_of, runner_by_hand, wait_while_alive
from tests.spark_session import SparkOfThisProcess

SERVER, CLUSTER = "sc://127.0.0.1:15002", "spark://one:7077"
DOWN = ClusterUnreachable("west", "west-1:9092", 30)
CONFIGURATION = """
clusters = east, west
east.bootstrap.servers = 127.0.0.1:1
west.bootstrap.servers = 127.0.0.1:1
east->west.enabled = true
"""


@dataclass(frozen=True)
class Numbers:
    """Work, and an answer."""

    values: tuple[int, ...]
    way: str = ""


def squares(numbers: Sequence[int]) -> Iterator[int]:
    """Runs on a worker."""
    return (number * number for number in numbers)


def add_squares(spark: Spark, flow: Flow, work: Numbers) -> Numbers:
    """Runs on the driver."""
    assert spark.wait(0)
    squared = spark.run("tests.unit.spark.test_run:squares", work.values, spark.cores())
    return Numbers((sum(squared), os.getpid()), flow.name)


def is_refused(_spark: Spark, _flow: Flow, work: Numbers) -> Numbers:
    raise DOWN


def is_interrupted(spark: Spark, flow: Flow, work: Numbers) -> Numbers:
    spark.keep(Numbers(work.values, "so far"))
    raise KeyboardInterrupt


@pytest.fixture
def flow(tmp_path: Path) -> Flow:
    file = tmp_path / "mm2.properties"
    file.write_text(CONFIGURATION)
    return load([file]).flow("east->west")


@pytest.fixture
def spark(monkeypatch: pytest.MonkeyPatch) -> SparkOfThisProcess:
    found = SparkOfThisProcess()
    monkeypatch.setattr("kafka_mirror.spark.connect.flow_session", found.flow_session)
    monkeypatch.setattr(run, "submit", found.submit)
    return found


def test_a_function_is_the_same_in_a_session_and_in_the_driver_of_a_job(spark: SparkOfThisProcess, flow: Flow) -> None:
    for master in (SERVER, CLUSTER):
        answer = SparkRunner(master).run(add_squares, flow, Numbers((1, 2, 3)), "sum", "a test")
        assert answer == Numbers((14, os.getpid()), "east->west")
    assert spark.tasks == [("tests.unit.spark.test_run:squares", 3, 2)] * 2
    assert (spark.sessions, spark.jobs) == ([("sum", "a test", SERVER)], [("mirror sum east->west", CLUSTER)])


@pytest.mark.parametrize("master", [SERVER, CLUSTER])
def test_a_flow_may_say_how_many_tasks_its_jobs_have_whatever_cores_spark_has_by_then(
    master: str, spark: SparkOfThisProcess, tmp_path: Path
) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text(CONFIGURATION + "mirror.spark.tasks = 12\n")
    SparkRunner(master).run(add_squares, load([file]).flow("east->west"), Numbers((1, 2, 3)), "sum")
    assert [slices for _, _, slices in spark.tasks] == [12]


def test_an_error_of_the_function_is_the_runners(spark: SparkOfThisProcess, flow: Flow) -> None:
    for master, kind in ((SERVER, ClusterUnreachable), (CLUSTER, ReportedError)):
        with pytest.raises(MirrorError) as raised:
            SparkRunner(master).run(is_refused, flow, Numbers(()), "sum")
        assert (type(raised.value), raised.value.report()) == (kind, DOWN.report())


def test_a_driver_with_another_configuration_does_nothing(spark: SparkOfThisProcess, flow: Flow) -> None:
    for file in flow.files:
        Path(file).write_text(f"{CONFIGURATION}east->west.mirror.lanes = 3\n")
    with pytest.raises(ReportedError) as raised:
        SparkRunner(CLUSTER).run(add_squares, flow, Numbers((1,)), "sum")
    assert (raised.value.code, spark.tasks) == (PlanMismatch.__name__, [])


def test_a_job_that_ends_without_a_word_says_how(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "submit", lambda *_: "exit code 137.")
    with pytest.raises(JobFailed, match=r"ended without a result: exit code 137\.") as raised:
        SparkRunner(CLUSTER).run(add_squares, flow, Numbers(()), "sum")
    assert raised.value.retriable


def test_what_a_job_kept_is_its_answer_when_it_dies_and_known_when_it_is_interrupted(
    spark: SparkOfThisProcess, flow: Flow, monkeypatch: pytest.MonkeyPatch
) -> None:
    for master in (SERVER, CLUSTER):
        runner = SparkRunner(master)
        assert runner.interim_answer is None
        with pytest.raises(KeyboardInterrupt):
            runner.run(is_interrupted, flow, Numbers((7,)), "sum")
        assert runner.interim_answer == Numbers((7,), "so far")

    def dies(name: str, files: JobFiles, flow: Flow, master: str) -> str:
        with pytest.raises(KeyboardInterrupt):
            spark.submit(name, files, flow, master)
        return "exit code 137."

    monkeypatch.setattr(run, "submit", dies)
    assert SparkRunner(CLUSTER).run(is_interrupted, flow, Numbers((7,)), "sum") == Numbers((7,), "so far")


def test_its_end_interrupts_the_session_and_whatever_waits(spark: SparkOfThisProcess, flow: Flow) -> None:
    runner = SparkRunner(SERVER)
    spark.meanwhile = runner.end
    assert runner.wait(0)
    runner.run(add_squares, flow, Numbers((1,)), "sum")
    assert spark.interrupted == 1
    assert not runner.wait(60)


def test_by_hand_it_runs_on_the_master_that_is_named_else_on_this_host(spark: SparkOfThisProcess, flow: Flow) -> None:
    for named in (CLUSTER, None):
        runner_by_hand(flow, named).run(add_squares, flow, Numbers((1,)), "sum")
    assert [master for _, master in spark.jobs] == [CLUSTER, "local[*,4]"]


def raises_error(_spark: Any, _flow: Any, work: int) -> None:
    raise ZeroDivisionError(work)


def test_an_error_that_is_not_ours_ends_the_driver(tmp_path: Path) -> None:
    files = JobFiles(tmp_path)
    (tmp_path / "mm2.properties").write_text(
        "clusters=a, b\na.bootstrap.servers=127.0.0.1:1\nb.bootstrap.servers=127.0.0.1:1\na->b.enabled=true\n"
    )
    config = str(tmp_path / "mm2.properties")
    flow = load([config]).flow("a->b")
    write_private(files.work, to_document(Job(name_of(raises_error), flow.name, flow.config_hash, os.getpid(), 7)))
    with pytest.raises(ZeroDivisionError):
        SparkOfThisProcess().drive(files.work, files.result, {"MIRROR_CONFIG": config})
    assert not files.result.exists()


def test_a_worker_without_a_module_is_an_error_and_other_answers_pass() -> None:
    assert require_prepared_workers([1, (2,)]) == [1, (2,)]
    lacking = {"module": "kafka_mirror", "host": "worker-1", "python": "/usr/bin/python3", "detail": "No module named 'kafka_mirror'"}
    with pytest.raises(WorkerUnprepared, match="worker-1"):
        require_prepared_workers([1, lacking])


def test_what_workers_logged_goes_into_the_drivers_log_and_is_no_answer(capsys: pytest.CaptureFixture[str]) -> None:
    line = "21:40:24.651 INFO kafka_mirror.copy.lane: lane 3 begins"
    assert require_prepared_workers([1, {"log": [line]}, 2]) == [1, 2]
    assert capsys.readouterr().err == f"{line}\n"


def test_a_driver_waits_as_long_as_it_wants_to() -> None:
    began = time.monotonic()
    assert wait_while_alive(os.getpid())(0.3)
    assert time.monotonic() - began >= 0.3
    assert wait_while_alive(os.getpid())(0)


def test_a_driver_waits_no_longer_when_its_submitter_is_gone() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as submitter:
        wait = wait_while_alive(submitter.pid)
        assert wait(0)
    assert not wait(60)
    assert not wait(0)


def test_a_driver_waits_no_longer_when_spark_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    wait = wait_while_alive(os.getpid())
    spark = os.getppid()
    monkeypatch.setattr(os, "getppid", lambda: spark + 1)
    assert not wait(60)
