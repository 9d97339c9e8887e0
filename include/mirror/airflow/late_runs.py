"""Which runs of a flow's DAGs are late, or were until a moment ago, for telling that it is over: Airflow's deadlines only begin."""

from datetime import UTC, datetime, timedelta
from typing import Any

from mirror.alerts.limits import run_seconds
from mirror.alerts.notify import connections_of
from mirror.alerts.problems import Problem
from mirror.alerts.runs import late_run
from mirror.alerts.state import State
from mirror.config import Flow

WATCHED = ("copy", "refresh-topics", "refresh-groups", "checkpoints", "group-offsets", "topic-configs", "topic-acls", "heartbeats")
"""The DAGs whose runs have a deadline, but for the one that asks."""


def late_runs(flow: Flow, before: State) -> list[Problem]:
    """One problem for each DAG whose newest scheduled run is late, or was and ended since the check before. Airflow told its beginning."""
    if not connections_of(flow):
        return []
    problems = []
    for what in WATCHED:
        seconds, dag_id = run_seconds(flow, what), flow.dag_id(what)
        run = _newest_run(dag_id) if seconds is not None else None
        if seconds is None or run is None:
            continue
        problem = late_run(dag_id, run.run_id, seconds, str(run.state), told_elsewhere=True)
        is_known = problem.key(flow.name) in before.tracking
        if is_late(run, timedelta(seconds=seconds), datetime.now(UTC), None if is_known else before.time):
            problems.append(problem)
    return problems


def is_late(run: Any, allowed: timedelta, now: datetime, unseen_since: datetime | None) -> bool:
    """Whether a run takes too long, or took so and ended since then, unseen."""
    began = _began(run)
    if began is None:
        return False
    if run.end_date is None:
        return bool(now - began > allowed)
    return unseen_since is not None and bool(run.end_date > unseen_since and run.end_date - began > allowed)


def _began(run: Any) -> datetime | None:
    """When it was queued. Airflow does not say that here; one that a person triggered was queued when it was to run, unless it was cleared
    since, and another one begins when it is queued, for its DAG has no other run then."""
    began: datetime | None = run.run_after if run.run_type == "manual" and not run.clear_number else run.start_date
    return began


def _newest_run(dag_id: str) -> Any:
    """The newest run by logical date; None if there is none. Runs without one, triggered by hand, are not found."""
    from airflow.sdk.execution_time import task_runner
    from airflow.sdk.execution_time.comms import GetPreviousDagRun

    asked = GetPreviousDagRun(dag_id=dag_id, logical_date=datetime.now(UTC) + timedelta(days=1))
    return getattr(task_runner.SUPERVISOR_COMMS.send(asked), "dag_run", None)
