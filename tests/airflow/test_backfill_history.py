"""Which runs of the `backfill` DAG write history: those of which somebody asked for it, and no run by the schedule."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

ALL_EMPTY = {"topics": [], "from": None, "to": None, "history": False, "into": None, "order": None, "dry_run": False}


@pytest.mark.parametrize(
    ("run_type", "params", "asked"),
    [
        ("scheduled", {}, False),
        ("manual", {}, False),
        ("manual", {"topics": ["orders"], "from": "2026-11-01", "to": "2026-11-02"}, False),
        ("manual", {"history": True}, True),
        ("manual", {"into": "history.{remote}-older"}, True),
        ("manual", {"order": "any"}, True),
        ("backfill", {}, True),
        ("backfill", {"topics": ["orders"], "into": "history.{remote}-older"}, True),
    ],
)
def test_history_is_written_where_somebody_asked_for_it(
    airflow_home: Path, monkeypatch: pytest.MonkeyPatch, run_type: str, params: dict[str, Any], asked: bool
) -> None:
    from kafka_mirror.airflow.work import backfill_run

    context = {"params": {**ALL_EMPTY, **params}, "dag_run": SimpleNamespace(run_type=run_type)}
    monkeypatch.setattr(backfill_run, "get_current_context", lambda: context)
    assert backfill_run.history_is_requested() is asked
