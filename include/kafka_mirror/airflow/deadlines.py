"""How long tasks and runs may take: Airflow ends a task at its limit and tries again; of a run that misses its deadline it tells people.

The freshness DAG looks at the newest runs, and Airflow's own alert tells what it cannot see: that its own runs are late, and runs without a
logical date. Airflow's alert works while a run hangs, waits or has lost its worker. The scheduler notices, and the executor calls
`tell_missed_run`, once for each run that has not succeeded by its deadline: also for one that failed long before. That process may not read
Airflow's connections from the database (3.3.2 refuses it), so those for alerts must be in the environment: AIRFLOW_CONN_<ID>. Airflow never
says that a late run has ended.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.sdk import DeadlineAlert, DeadlineReference, SyncCallback  # type: ignore[attr-defined]

from kafka_mirror.airflow.compat import is_dags_test
from kafka_mirror.airflow.flow_files import files_of, set_files
from kafka_mirror.config import Flow
from kafka_mirror.config.deadlines import run_seconds
from kafka_mirror.config.flow import FlowName
from kafka_mirror.cutover.wave.step import AUDIT_GATE, CATCH_UP, LAST_COPY
from kafka_mirror.status.alerts.channels import connections_of, send_by
from kafka_mirror.status.problems import report_late_run

BESIDE_COPYING = timedelta(minutes=10)
"""What a copy may take beside copying: until Spark has started, for the last transaction, for the ledger's verdict."""

LONGEST_QUIET = timedelta(minutes=10)
"""For how long a cutover's fence may watch that no producer writes; so long a step may wait beside what it does."""


def copy_limit(flow: Flow) -> timedelta:
    """A copy's limit, and that of a backfill's slice. One that follows ends after mirror.run.max.seconds too."""
    return timedelta(seconds=flow.value("mirror.run.max.seconds")) + BESIDE_COPYING


def audit_limit(flow: Flow) -> timedelta:
    """An audit's limit."""
    return timedelta(seconds=flow.value("mirror.audit.max.seconds"))


def task_limit(flow: Flow) -> timedelta:
    """The limit of all other tasks."""
    return timedelta(seconds=flow.value("mirror.task.max.seconds"))


def step_limit(flow: Flow, step: str) -> timedelta:
    """The limit of a cutover's step. One that copies ends the pass that it began in time; catching up and the audit gate have one whole
    audit in them."""
    if step == AUDIT_GATE:
        return audit_limit(flow)
    if step == CATCH_UP:
        return LONGEST_QUIET + copy_limit(flow) + audit_limit(flow)
    return LONGEST_QUIET + (copy_limit(flow) if step == LAST_COPY else task_limit(flow))


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
    dag_id, run_id, state = str(run.get("dag_id")), str(run.get("dag_run_id") or run.get("run_id")), str(run.get("state", "unknown"))
    name = f"{dag_id} / {run_id}"
    if state in _ENDED:
        log.info("%s: no alert says that %s missed its deadline, for it has ended (%s).", flow, name, state)
        return
    if run.get("logical_date") is not None and dag_id.rpartition(".")[2] in WATCHED:
        log.info("%s: freshness tells that %s is late, and when that is over.", flow, name)
        return
    set_files([FlowName(*flow.split("->"))], files)
    due = context.get("deadline", {}).get("deadline_time")
    since = datetime.fromisoformat(str(due)).astimezone(UTC) if due else datetime.now(UTC)
    problem = report_late_run(dag_id, run_id, seconds, state)
    problem = replace(problem, detail=f"{problem.detail}\nNo message says when it has ended: end this alert by hand.")
    for error in send_by(connections, problem.alert(flow, since)).values():
        raise error
