"""Runs that take too long: the freshness DAG looks at the newest runs (`find_late_runs`), and Airflow's own alert tells what it cannot see.

It cannot see that its own runs are late, nor runs without a logical date. Airflow's alert works while a run hangs, waits or has lost its
worker. The scheduler notices, and the executor calls `tell_missed_run`, once for each run that has not succeeded by its deadline: also for
one that failed long before. That process may not read Airflow's connections from the database (3.3.2 refuses it), so those for alerts
must be in the environment: AIRFLOW_CONN_<ID>. Airflow never says that a late run has ended.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from kafka_mirror.airflow.compat import is_dags_test, run_before
from kafka_mirror.airflow.flow_files import files_of, set_files
from kafka_mirror.config import Flow
from kafka_mirror.config.deadlines import run_seconds
from kafka_mirror.config.flow import FlowName
from kafka_mirror.status.alerts.channels import connections_of, send_by
from kafka_mirror.status.problems import Alert, FlowProblem, report_late_run

WATCHED = (
    "copy",
    "refresh-topics",
    "refresh-groups",
    "checkpoints",
    "group-offsets",
    "topic-configs",
    "topic-acls",
    "schemas",
    "heartbeats",
)
"""The DAGs whose runs have a deadline, but for `freshness`, which looks at the others."""

_ENDED = ("success", "failed")

log = logging.getLogger(__name__)


def deadlines(flow: Flow, kind: str) -> list[Any]:
    """The deadline of the runs of the flow's DAG `what`; none without a limit, without a connection for alerts, or for `airflow dags test`,
    whose run somebody watches."""
    from airflow.sdk import DeadlineAlert, DeadlineReference, SyncCallback  # type: ignore[attr-defined]

    seconds, connections = run_seconds(flow, kind), list(connections_of(flow))
    if seconds is None or not connections or is_dags_test():
        return []
    arguments: dict[str, Any] = {"flow": flow.name, "connections": connections, "seconds": seconds}
    if files_of(flow.name):
        arguments["files"] = list(files_of(flow.name))
    callback = SyncCallback(tell_missed_run, kwargs=arguments)
    return [DeadlineAlert(reference=DeadlineReference.DAGRUN_QUEUED_AT, interval=timedelta(seconds=seconds), callback=callback)]


def tell_missed_run(flow: str, connections: list[str], seconds: int, context: Mapping[str, Any], files: Sequence[str] = ()) -> None:
    """Sends the alert that a run has missed its deadline, if it still goes on and `freshness` cannot see it. Raises when a connection did
    not take it: the callback's log says why.

    `files`: those that the flow's DAG file names; a notifier's parameters stand in them.
    """
    run = context.get("dag_run") or {}
    name, state = f"{run.get('dag_id')} / {run.get('dag_run_id') or run.get('run_id')}", run.get("state")
    if state in _ENDED:
        log.info("%s: no alert says that %s missed its deadline, for it has ended (%s).", flow, name, state)
        return
    if run.get("logical_date") is not None and str(run.get("dag_id")).rpartition(".")[2] in WATCHED:
        log.info("%s: freshness tells that %s is late, and when that is over.", flow, name)
        return
    set_files([FlowName(*flow.split("->"))], files)
    failed = send_by(connections, missed_run(flow, seconds, context))
    for error in failed.values():
        raise error


def missed_run(flow: str, seconds: int, context: Mapping[str, Any]) -> Alert:
    """The alert on a run that `freshness` cannot see, by what Airflow says of it."""
    run = context.get("dag_run") or {}
    due = context.get("deadline", {}).get("deadline_time")
    since = datetime.fromisoformat(str(due)).astimezone(UTC) if due else datetime.now(UTC)
    run_id = str(run.get("dag_run_id") or run.get("run_id"))
    dag_id = str(run.get("dag_id"))
    problem = report_late_run(dag_id, run_id, seconds, str(run.get("state", "unknown")))
    problem = replace(problem, detail=f"{problem.detail}\nNo message says when it has ended: end this alert by hand.")
    return problem.alert(flow, since)


def find_late_runs(flow: Flow) -> list[FlowProblem]:
    """One problem for each DAG whose newest run is late and goes on. Runs without a logical date, triggered by hand, are not found."""
    problems = []
    for kind in WATCHED:
        seconds, dag_id = run_seconds(flow, kind), flow.dag_id(kind)
        run = run_before(dag_id, datetime.now(UTC) + timedelta(days=1)) if seconds is not None else None
        if seconds is None or run is None:
            continue
        if is_late(run, timedelta(seconds=seconds), datetime.now(UTC)):
            problems.append(report_late_run(dag_id, run.run_id, seconds, str(run.state)))
    return problems


def is_late(run: Any, allowed: timedelta, now: datetime) -> bool:
    """Whether a run takes too long."""
    queued = _read_queued_at(run)
    return queued is not None and run.end_date is None and bool(now - queued > allowed)


def _read_queued_at(run: Any) -> datetime | None:
    """When the run was queued, which Airflow does not tell a task.

    A run that a person triggered was queued when it was to run, unless somebody cleared it since. Any other run starts when it is queued,
    for its DAG has no other run then.
    """
    queued: datetime | None = run.run_after if run.run_type == "manual" and not run.clear_number else run.start_date
    return queued
