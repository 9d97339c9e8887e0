"""A job on Spark: the same function in a session of a Spark that stays and in the driver of a job, its work, its answer and its errors."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from kafka_mirror.config import Flow, load
from kafka_mirror.errors import ClusterUnreachable, JobFailed, MirrorError, PlanMismatch, ReportedError
from kafka_mirror.spark import run
from kafka_mirror.spark.files import JobFiles
from kafka_mirror.spark.run import Spark, SparkRunner, runner_by_hand
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
