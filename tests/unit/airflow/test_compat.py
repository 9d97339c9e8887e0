"""What the mirror uses of Airflow's private interfaces is there: an upgrade of Airflow that moves some of it fails here first."""

import ast
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

from kafka_mirror.airflow import api_server, compat
from kafka_mirror.airflow.work import state_stores
from kafka_mirror.errors import UsageError

IMPORTS = [
    (node.module, alias.name)
    for file in (compat, api_server, state_stores)
    for node in ast.walk(ast.parse(Path(file.__file__).read_text(encoding="utf-8")))
    if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("airflow.")
    for alias in node.names
]


@pytest.mark.parametrize(("module", "name"), IMPORTS, ids=[f"{module}.{name}" for module, name in IMPORTS])
def test_airflow_has_what_is_imported(module: str, name: str) -> None:
    assert hasattr(import_module(module), name) or find_spec(f"{module}.{name}") is not None


def test_messages_to_the_supervisor_have_the_fields_that_are_sent() -> None:
    from airflow.sdk.execution_time.comms import GetPreviousDagRun, GetPreviousTI

    assert {"dag_id", "logical_date"} <= GetPreviousDagRun.model_fields.keys()
    assert {"dag_id", "task_id", "logical_date", "state"} <= GetPreviousTI.model_fields.keys()


@pytest.mark.parametrize("version", ["3.1.8", "3.0.0", "2.11.2"])
def test_an_older_airflow_is_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(compat, "airflow", SimpleNamespace(__version__=version))
    with pytest.raises(UsageError, match=rf"This is Airflow {version}, and the mirror needs Airflow 3.2 or newer"):
        compat.require_airflow()


@pytest.mark.parametrize("version", ["3.2.1", "3.3.2", "3.4.0.dev0", "4.0.0"])
def test_this_airflow_and_newer_ones_are_taken(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(compat, "airflow", SimpleNamespace(__version__=version))
    refused = ""
    try:
        compat.require_airflow()
    except UsageError as error:
        refused = str(error)
    assert not refused


def test_an_airflow_that_nobody_has_tested_is_named_and_taken(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    for version in ("3.3.2", "3.9.0"):
        monkeypatch.setattr(compat, "airflow", SimpleNamespace(__version__=version))
        compat.require_airflow()
    assert [record.getMessage() for record in caplog.records] == ["Airflow 3.9.0 is newer than what the mirror was tested with (3.3)."]
