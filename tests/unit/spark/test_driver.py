"""What the drivers of all Spark jobs do alike: how they end, and what they refuse."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kafka_mirror.errors import ClusterUnreachable, PlanMismatch, ReportedError, WorkerUnprepared
from kafka_mirror.plan.checks import check_configuration
from kafka_mirror.spark.driver import exit_code, of_prepared_workers, wait_while_alive
from kafka_mirror.spark.files import read_answer, write_private


def test_a_job_that_ends_well_leaves_its_results(tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    assert exit_code(str(result), lambda path: write_private(path, {"done": 1})) == 0
    assert read_answer(result) == {"done": 1}


def test_an_error_of_ours_is_handed_back_as_a_value(tmp_path: Path) -> None:
    def fail(_path: Path) -> None:
        raise ClusterUnreachable("west", "west:9092", 5.0)

    result = tmp_path / "result.json"
    assert exit_code(str(result), fail) == 1
    with pytest.raises(ReportedError) as reported:
        read_answer(result)
    assert (reported.value.code, reported.value.retriable) == ("ClusterUnreachable", True)


def test_any_other_error_ends_the_driver(tmp_path: Path) -> None:
    def fail(_path: Path) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        exit_code(str(tmp_path / "result.json"), fail)


def test_a_worker_without_a_module_is_an_error_and_other_answers_pass() -> None:
    assert of_prepared_workers([1, (2,)]) == [1, (2,)]
    lacking = {"module": "kafka_mirror", "host": "worker-1", "python": "/usr/bin/python3", "detail": "No module named 'kafka_mirror'"}
    with pytest.raises(WorkerUnprepared, match="worker-1"):
        of_prepared_workers([1, lacking])


def test_another_configuration_than_the_submitters_is_refused() -> None:
    check_configuration("one", "one")
    with pytest.raises(PlanMismatch):
        check_configuration("one", "other")


def test_what_workers_logged_goes_into_the_drivers_log_and_is_no_answer(capsys: pytest.CaptureFixture[str]) -> None:
    line = "21:40:24.651 INFO kafka_mirror.copy.lane: lane 3 begins"
    assert of_prepared_workers([1, {"log": [line]}, 2]) == [1, 2]
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
