"""Runs of DAGs that do not end in time, as problems. Airflow tells that one begins to be late, the freshness DAG that it is over."""

from mirror.alerts.problems import Problem
from mirror.report.words import duration

MISSED = "DeadlineMissed"


def late_run(dag_id: str, run_id: str, seconds: int, state: str, *, told_elsewhere: bool = False) -> Problem:
    """A run that has not ended within so many seconds. Its key is the DAG's: while run after run is late, it is one problem."""
    return Problem(
        MISSED,
        f"A run of {dag_id} did not end within {duration(seconds)}.",
        f"Run {run_id}, state {state}.",
        f"Look at the run in Airflow: which of its tasks waits (for a slot, its pool, a retry) or hangs. {dag_id} begins no other run "
        "before this one has ended; a run that is marked as failed loses nothing.",
        patience=0,
        what=dag_id,
        severity="warning",
        told_elsewhere=told_elsewhere,
    )
