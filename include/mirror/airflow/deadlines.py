"""Airflow's own alert on a run that does not end in time: it works while the run hangs, waits or has lost its worker.

The scheduler notices, and the executor calls `tell_missed_run`, once for each run. That process may not read Airflow's connections from
the database (3.3.2 refuses it), so those for alerts have to be in the environment: AIRFLOW_CONN_<ID>.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from mirror.airflow.late_runs import WATCHED
from mirror.alerts.limits import run_seconds
from mirror.alerts.model import Alert
from mirror.alerts.notify import connections_of, send_by
from mirror.alerts.runs import late_run
from mirror.config import Flow


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
    """The alert on a run, by what Airflow says of it."""
    run = context.get("dag_run") or {}
    due = context.get("deadline", {}).get("deadline_time")
    since = datetime.fromisoformat(str(due)).astimezone(UTC) if due else datetime.now(UTC)
    run_id = str(run.get("dag_run_id") or run.get("run_id"))
    dag_id = str(run.get("dag_id"))
    problem = late_run(dag_id, run_id, seconds, str(run.get("state", "unknown")))
    if run.get("logical_date", "") is None or dag_id.rpartition(".")[2] not in WATCHED:
        problem = replace(problem, detail=f"{problem.detail}\nThat it has ended is not told: end this alert by hand.")
    return problem.alert(flow, since)
