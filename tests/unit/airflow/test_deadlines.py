"""What people are told of a run that has missed its deadline."""

import pytest

from mirror.airflow.deadlines import missed_run

DUE = {"deadline_time": "2026-11-21T10:15:00Z"}


@pytest.mark.parametrize(
    ("dag_id", "logical_date", "by_hand"),
    [
        ("east-to-west.copy", "2026-11-21T10:00:00Z", False),
        ("east-to-west.copy", None, True),
        ("east-to-west.freshness", "2026-11-21T10:00:00Z", True),
    ],
)
def test_a_missed_run_says_which_and_whether_its_end_will_be_told(dag_id: str, logical_date: str | None, by_hand: bool) -> None:
    run = {"dag_id": dag_id, "dag_run_id": "run 7", "state": "running", "logical_date": logical_date}
    alert = missed_run("east->west", 900, {"dag_run": run, "deadline": DUE})
    assert (alert.key, alert.since.isoformat()) == (f"east->west/DeadlineMissed/{dag_id}", "2026-11-21T10:15:00+00:00")
    assert "Run run 7, state running." in alert.detail
    assert ("end this alert by hand" in alert.detail) == by_hand
