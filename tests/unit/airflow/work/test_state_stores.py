"""Where tasks remember: in Airflow's state stores, and in Variables where Airflow has none. Real stores are used in tests/airflow."""

from types import SimpleNamespace
from typing import Any

import pytest

from kafka_mirror.airflow.work.state_stores import task_store


@pytest.fixture
def variables(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Airflow's Variables, in memory."""
    from airflow.sdk import Variable

    held: dict[str, Any] = {}
    monkeypatch.setattr(Variable, "get", lambda key, default=None, deserialize_json=False: held.get(key, default))
    monkeypatch.setattr(Variable, "set", lambda key, value, description=None, serialize_json=False: held.update({key: value}))
    monkeypatch.setattr(Variable, "delete", lambda key: held.pop(key, None))
    return held


def task(run: str) -> dict[str, Any]:
    return {"ti": SimpleNamespace(dag_id="mirror_east_west_backfill", task_id="history", run_id=run)}


def test_a_task_remembers_in_the_state_store_that_airflow_gives_it(variables: dict[str, Any]) -> None:
    given = object()
    assert task_store({**task("a"), "task_state_store": given}) is given


def test_where_airflow_has_no_state_store_each_run_of_a_task_has_its_own_variables(variables: dict[str, Any]) -> None:
    store, other = task_store(task("backfill__" + "2026" * 60)), task_store(task("manual__2026"))
    store.set("earlier try", {"records": 3})
    assert task_store(task("backfill__" + "2026" * 60)).get("earlier try") == {"records": 3}
    assert other.get("earlier try") is None
    assert all(len(name) <= 250 for name in variables)
    store.delete("earlier try")
    assert store.get("earlier try", default="gone") == "gone"
    assert not variables
