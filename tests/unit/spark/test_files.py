import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_mirror.errors import JobFailed, Overtaken, PlanMismatch, ReportedError
from kafka_mirror.spark.files import code_digest, job_directory, package, read_answer, write_failure, write_private
from kafka_mirror.spark.start import INCLUDE
from services.waiting import PATIENCE

WORK = {"a": [1, 2]}


def test_the_work_is_its_owners_alone_and_gone_afterwards() -> None:
    with job_directory(WORK) as files:
        assert files.work.stat().st_mode & 0o777 == 0o600
        assert files.directory.stat().st_mode & 0o777 == 0o700
        assert json.loads(files.work.read_text()) == WORK
    assert not files.directory.exists()


def test_the_files_are_gone_when_the_job_fails() -> None:
    with pytest.raises(RuntimeError), job_directory(WORK) as files:
        raise RuntimeError
    assert not files.directory.exists()


def test_an_error_comes_back_with_its_code_and_whether_to_retry(tmp_path: Path) -> None:
    for error in (PlanMismatch("one", "other"), Overtaken(3)):
        file = tmp_path / error.code
        write_failure(file, error)
        with pytest.raises(ReportedError) as raised:
            read_answer(file)
        assert raised.value.report() == error.report()
        assert (raised.value.code, raised.value.retriable, str(raised.value)) == (error.code, error.retriable, str(error))


def test_a_job_without_a_result_may_be_tried_again_and_says_how_it_ended(tmp_path: Path) -> None:
    with pytest.raises(JobFailed, match=r"ended without a result: exit code 137\.") as raised:
        read_answer(tmp_path / "none", "exit code 137.")
    assert raised.value.retriable


def test_a_file_is_there_only_when_it_is_complete(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        write_private(tmp_path / "result.json", {"half": [1, object()]})
    assert not (tmp_path / "result.json").exists()


# ---------------------------------------------------------------- what a killed copy leaves behind

KILLED = """
import os, signal, subprocess, sys
from kafka_mirror.spark.files import job_directory
with job_directory({}) as files:
    job = subprocess.Popen(["sleep", "60"], pass_fds=(files.lock,) if sys.argv[1] == "job" else ())
    print(files.directory, job.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Path]]:
    """A submitter that is killed, with a job that has the lock or has it not; gives the directory that it leaves."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    jobs: list[int] = []

    def kill(job: bool = False) -> Path:
        command = [sys.executable, "-c", KILLED, "job" if job else "alone"]
        environment = {"TMPDIR": str(tmp_path), "PYTHONPATH": str(INCLUDE)}
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as submitter:
            directory, pid = submitter.stdout.readline().split() if submitter.stdout else ("", "")
        assert submitter.returncode == -signal.SIGKILL
        jobs.append(int(pid))
        return Path(directory)

    def end_jobs() -> None:
        while jobs:
            os.kill(jobs.pop(), signal.SIGKILL)

    kill.end_jobs = end_jobs  # type: ignore[attr-defined]
    yield kill
    end_jobs()


def test_what_a_killed_submitter_left_is_deleted_by_the_next_one(killed: Callable[..., Path]) -> None:
    left = killed()
    assert left.exists()
    with job_directory(WORK) as files:
        assert not left.exists()
        with job_directory(WORK):
            assert files.work.exists(), "one that is in use stays"


def test_it_stays_while_the_job_lives_that_the_submitter_started(killed: Any) -> None:
    left = killed(job=True)
    with job_directory(WORK):
        assert left.exists()
    killed.end_jobs()
    deadline = time.monotonic() + PATIENCE
    while left.exists() and time.monotonic() < deadline:
        with job_directory(WORK):
            time.sleep(0.02)
    assert not left.exists()


def test_what_is_not_ours_or_not_private_or_has_no_lock_is_left_alone(killed: Callable[..., Path], tmp_path: Path) -> None:
    left = killed()
    left.chmod(0o755)
    (tmp_path / "mirror-copy-link").symlink_to(tmp_path)
    (tmp_path / "mirror-copy-file").touch()
    (tmp_path / "mirror-copy-other").mkdir(mode=0o700)
    with job_directory(WORK):
        pass
    assert {path.name for path in tmp_path.iterdir()} == {left.name, "mirror-copy-link", "mirror-copy-file", "mirror-copy-other"}


def test_zip_has_the_digest_of_the_installed_library(tmp_path: Path) -> None:
    code = "from kafka_mirror.spark.files import INCLUDE, code_digest; print(INCLUDE, code_digest())"
    archive = package(tmp_path)
    done = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": str(archive)}, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.split() == [str(archive), code_digest()], done.stderr
