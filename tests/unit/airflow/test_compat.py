"""What the mirror uses of Airflow's private interfaces is there: an upgrade of Airflow that moves some of it fails here first."""

import ast
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from mirror.airflow import compat

IMPORTS = [
    (node.module, alias.name)
    for node in ast.walk(ast.parse(Path(compat.__file__).read_text(encoding="utf-8")))
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
