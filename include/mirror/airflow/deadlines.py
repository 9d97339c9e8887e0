"""Airflow's own alert on a run that does not end in time: it works while the run hangs, waits or has lost its worker.

The scheduler notices, and the executor calls `tell_missed_run`, once for each run. That process may not read Airflow's connections from
the database (3.3.2 refuses it), so those for alerts have to be in the environment: AIRFLOW_CONN_<ID>.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from mirror.alerts.limits import run_seconds
from mirror.alerts.model import Alert, key_of
from mirror.alerts.notify import connections_of, send_by
from mirror.config import Flow
from mirror.report.words import duration

MISSED = "DeadlineMissed"


def deadlines(flow: Flow, what: str) -> list[Any]:
    """The deadline of the runs of the flow's DAG `what`; none without a limit, or without anybody to tell."""
    from airflow.sdk.definitions.callback import SyncCallback
    from airflow.sdk.definitions.deadline import DeadlineAlert, DeadlineReference

    seconds, connections = run_seconds(flow, what), list(connections_of(flow))
    if seconds is None or not connections:
        return []
    told = SyncCallback(tell_missed_run, kwargs={"flow": flow.name, "connections": connections, "seconds": seconds})
    return [DeadlineAlert(reference=DeadlineReference.DAGRUN_QUEUED_AT, interval=timedelta(seconds=seconds), callback=told)]


def tell_missed_run(flow: str, connections: list[str], seconds: int, context: Mapping[str, Any]) -> None:
    """Sends the alert that a run has missed its deadline. Raises when a connection did not take it: the callback's log says why."""
    failed = send_by(connections, missed_run(flow, seconds, context))
    for error in failed.values():
        raise error


def missed_run(flow: str, seconds: int, context: Mapping[str, Any]) -> Alert:
    """The alert; its key is the DAG's, so that a service that knows incidents has one while run after run is late."""
    run = context.get("dag_run") or {}
    dag_id, run_id = str(run.get("dag_id")), str(run.get("dag_run_id") or run.get("run_id"))
    due = context.get("deadline", {}).get("deadline_time")
    since = datetime.fromisoformat(str(due)) if due else datetime.now(UTC)
    return Alert(
        key=key_of(flow, MISSED, dag_id),
        kind=MISSED,
        summary=f"A run of {dag_id} did not end within {duration(seconds)}.",
        detail=f"Run {run_id}, state {run.get('state', 'unknown')}, queued at {run.get('queued_at', 'unknown')}.",
        next=f"Look at the run in Airflow: which of its tasks waits (for a slot, its pool, a retry) or hangs. {dag_id} begins no other run "
        "before this one has ended; a run that is marked as failed loses nothing.",
        since=since.astimezone(UTC),
        flow=flow,
        severity="warning",
    )
