"""A configuration that cannot be used turns red by itself, in an Airflow whose DAGs come up paused, as they do by default."""

from collections.abc import Callable
from pathlib import Path

import pytest

from services.airflow import AirflowServices
from services.airflow_api import AirflowApi
from tests.waiting import eventually

ALARM = "mirror.configuration"
COPY = "east-to-west.copy"
GOOD = """
clusters = east, west
east.bootstrap.servers = 127.0.0.1:1
west.bootstrap.servers = 127.0.0.1:1
east->west.enabled = true
"""
# How soon Airflow notices that a DAG is gone: by default after minutes.
IMPATIENT = {
    "AIRFLOW__DAG_PROCESSOR__STALE_DAG_THRESHOLD": "5",
    "AIRFLOW__DAG_PROCESSOR__PARSING_CLEANUP_INTERVAL": "5",
    "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "10",
}


def red(api: AirflowApi, known: set[str]) -> str:
    """The next run that failed by itself."""

    def found() -> str | None:
        failed = [run["dag_run_id"] for run in api.runs(ALARM) if run["state"] == "failed" and run["run_type"] == "scheduled"]
        return next((run for run in failed if run not in known), None)

    api.wait_for_dags([ALARM])
    return str(eventually(found, f"a red run of {ALARM} that nobody triggered or unpaused"))


@pytest.mark.timeout(900)
def test_file_that_cannot_be_read_and_flow_that_is_wrong_are_red_by_themselves_and_again_when_they_come_back(
    make_airflow: Callable[..., AirflowServices], tmp_path: Path
) -> None:
    file = tmp_path / "mm2.properties"
    airflow = make_airflow("configured", environment={"MIRROR_CONFIG": str(file), **IMPATIENT})
    api = airflow.api()

    first = red(api, set())

    eventually(lambda: str(file) in api.errors(ALARM, first, "configuration"), "the file's name in the task's log")
    details = api.call("GET", f"dags/{ALARM}/details")
    assert str(file) in details["doc_md"]
    assert not details["is_paused"]

    file.write_text(GOOD)
    eventually(lambda: ALARM not in api.dags(), "the end of the alarm", 120)
    api.wait_for_dags([COPY])
    assert api.dags()[COPY]["is_paused"], "nothing begins to copy by itself"

    file.write_text(GOOD + "east->west.mirror.lanes = banana\n")
    second = red(api, {run["dag_run_id"] for run in api.runs(ALARM)} if ALARM in api.dags() else {first})
    said = api.errors(ALARM, second, "configuration")
    assert str(file) in said and "east->west" in said and "mirror.lanes" in said
    assert api.dags()[COPY]["is_paused"], "its own DAGs come up as Airflow says: mended, they would begin to copy by themselves"
    api.close()
