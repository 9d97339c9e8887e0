"""What the drivers of all Spark jobs do alike: how they end, and what they refuse."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from kafka_mirror.config import load
from kafka_mirror.errors import WorkerUnprepared
from kafka_mirror.formats.documents import to_document
from kafka_mirror.spark.files import JobFiles, write_private
from kafka_mirror.spark.log import require_prepared_workers
from kafka_mirror.spark.run import Job, name_of, wait_while_alive
from tests.spark_session import SparkOfThisProcess


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
