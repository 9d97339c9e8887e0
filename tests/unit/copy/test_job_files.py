from pathlib import Path

import pytest

from mirror.copy.job_files import JobFiles, job_files, read_plan, read_results, write_failure, write_private, write_results
from mirror.copy.model import LaneResult, Watermark
from mirror.errors import JobFailed, Overtaken, PlanMismatch, ReportedError
from mirror.plan.model import Plan, Range

PLAN = Plan("east->west", (Range("orders", 0, "id", 3, 9, "new records"),), config_hash="abc")


def test_the_plan_is_its_owners_alone_and_gone_afterwards() -> None:
    with job_files(PLAN) as files:
        assert files.plan.stat().st_mode & 0o777 == 0o600
        assert files.directory.stat().st_mode & 0o777 == 0o700
        assert read_plan(files.plan) == PLAN
    assert not files.directory.exists()


def test_the_files_are_gone_when_the_job_fails() -> None:
    with pytest.raises(RuntimeError), job_files(PLAN) as files:
        raise RuntimeError
    assert not files.directory.exists()


def test_results_come_back_as_they_were(tmp_path: Path) -> None:
    results = [LaneResult(3, (Watermark("orders", 0, 9, 12, 6, 420),), (Overtaken(3).report(),), 2, 1.5)]
    file = JobFiles(tmp_path).result
    write_results(file, results)
    assert file.stat().st_mode & 0o777 == 0o600
    assert read_results(file) == results


def test_an_error_comes_back_with_its_code_and_whether_to_retry(tmp_path: Path) -> None:
    for error in (PlanMismatch("one", "other"), Overtaken(3)):
        file = tmp_path / error.code
        write_failure(file, error)
        with pytest.raises(ReportedError) as raised:
            read_results(file)
        assert raised.value.report() == error.report()
        assert (raised.value.code, raised.value.retriable, str(raised.value)) == (error.code, error.retriable, str(error))


def test_a_job_without_a_result_may_be_tried_again_and_says_how_it_ended(tmp_path: Path) -> None:
    with pytest.raises(JobFailed, match=r"ended without a result: exit code 137\.") as raised:
        read_results(tmp_path / "none", "exit code 137.")
    assert raised.value.retriable


def test_a_file_is_there_only_when_it_is_complete(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        write_private(tmp_path / "result.json", {"half": [1, object()]})
    assert not (tmp_path / "result.json").exists()
