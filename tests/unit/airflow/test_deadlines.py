"""What people are told when Airflow says that a run has missed its deadline, as it says of all that have not succeeded by then."""

import pytest

from kafka_mirror.airflow import deadlines
from kafka_mirror.airflow.deadlines import WATCHED, tell_missed_run
from kafka_mirror.status.problems import Alert

DUE = {"deadline_time": "2026-11-21T10:15:00Z"}
DATE = "2026-11-21T10:00:00Z"


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Alert]:
    alerts: list[Alert] = []
    monkeypatch.setattr(deadlines, "send_by", lambda _connections, alert: alerts.append(alert) or {})
    return alerts


def tell(kind: str, state: str, logical_date: str | None) -> None:
    run = {"dag_id": f"east-to-west.{kind}", "dag_run_id": "run 7", "state": state, "logical_date": logical_date}
    tell_missed_run("east->west", ["mail"], 900, {"dag_run": run, "deadline": DUE})


@pytest.mark.parametrize(("kind", "logical_date"), [("copy", None), ("freshness", DATE), ("freshness", None), ("schemas", None)])
@pytest.mark.parametrize("state", ["running", "queued"])
def test_a_run_that_freshness_cannot_see_is_told_with_what_to_do_about_its_end(
    sent: list[Alert], kind: str, logical_date: str | None, state: str
) -> None:
    tell(kind, state, logical_date)
    [alert] = sent
    assert (alert.key, alert.since.isoformat()) == (f"east->west/DeadlineMissed/east-to-west.{kind}", "2026-11-21T10:15:00+00:00")
    assert f"Run run 7, state {state}." in alert.detail
    assert "end this alert by hand" in alert.detail


@pytest.mark.parametrize("kind", [*WATCHED, "freshness"])
@pytest.mark.parametrize("logical_date", [None, DATE])
@pytest.mark.parametrize("state", ["failed", "success"])
def test_a_run_that_has_ended_is_told_to_nobody(sent: list[Alert], kind: str, logical_date: str | None, state: str) -> None:
    tell(kind, state, logical_date)
    assert sent == []


@pytest.mark.parametrize("kind", WATCHED)
def test_a_run_that_freshness_sees_is_told_by_it_alone(sent: list[Alert], kind: str) -> None:
    tell(kind, "running", DATE)
    assert sent == []
