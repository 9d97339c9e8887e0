"""A configuration that cannot be used turns red by itself, in an Airflow whose DAGs come up paused, as they do by default."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

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
    "AIRFLOW__SCHEDULER__PARSING_CLEANUP_INTERVAL": "5",
    "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "10",
}


def wait_until_red(api: AirflowApi, *words: str) -> None:
    """Returns when a run that nobody triggered or unpaused has failed, and its task's log says why.

    Not every red run says it: Airflow fails a task that it could not begin, as on a machine where the api-server does not answer in time,
    and one whose DAG was mended meanwhile.
    """

    def says_why(run: Mapping[str, Any]) -> bool:
        errors = api.errors(ALARM, run["dag_run_id"], "configuration")
        return all(word in errors for word in words)

    def found() -> bool:
        runs = api.runs(ALARM) if ALARM in api.dags() else []
        return any(says_why(run) for run in runs if run["state"] == "failed" and run["run_type"] == "scheduled")

    eventually(found, f"a red run of {ALARM} that says {words}", 240)


@pytest.mark.timeout(900)
def test_file_that_cannot_be_read_and_flow_that_is_wrong_are_red_by_themselves_and_again_when_they_come_back(
    make_airflow: Callable[..., AirflowServices], tmp_path: Path
) -> None:
    file = tmp_path / "mm2.properties"
    airflow = make_airflow("configured", environment={"MIRROR_CONFIG": str(file), **IMPATIENT})
    api = airflow.api()

    wait_until_red(api, str(file), "cannot be read")
    details = api.call("GET", f"dags/{ALARM}/details")
    assert str(file) in details["doc_md"]
    assert not details["is_paused"]

    file.write_text(GOOD)
    eventually(lambda: ALARM not in api.dags(), "the end of the alarm", 120)
    api.wait_for_dags([COPY])
    assert api.dags()[COPY]["is_paused"], "nothing begins to copy by itself"

    file.write_text(GOOD + "east->west.mirror.lanes = banana\n")
    wait_until_red(api, str(file), "east->west", "mirror.lanes")
    assert api.dags()[COPY]["is_paused"], "its own DAGs come up as Airflow says: mended, they would begin to copy by themselves"
    api.close()
