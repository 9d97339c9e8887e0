"""The environment of an Airflow, before any of its processes runs."""

import json
import stat
from pathlib import Path

import pytest

from services.airflow import AirflowServices


def test_secrets_are_made_once_and_are_their_owners_alone(tmp_path: Path) -> None:
    airflow = AirflowServices(tmp_path, "sqlite://", users={"admin": "admin", "alice": "viewer"})
    first = airflow.environment()
    assert AirflowServices(tmp_path, "sqlite://", users={"admin": "admin", "alice": "viewer"}).environment() == first
    for name in ("secrets.json", "passwords.json"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    assert json.loads((tmp_path / "passwords.json").read_text()) == {name: airflow.password(name) for name in ("admin", "alice")}


def test_airflow_settings_of_the_caller_do_not_leak_in_and_given_ones_win(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__CORE__EXECUTOR", "CeleryExecutor")
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", "spark://elsewhere")
    environment = AirflowServices(tmp_path, "sqlite://", environment={"AIRFLOW__CORE__PARALLELISM": "2"}).environment()
    assert environment["AIRFLOW__CORE__EXECUTOR"] == "LocalExecutor"
    assert environment["AIRFLOW__CORE__PARALLELISM"] == "2"
    assert "AIRFLOW_CONN_SPARK_DEFAULT" not in environment
