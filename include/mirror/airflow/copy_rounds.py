"""The rounds of the task `copy`: in this process with a session of a Spark Connect server, else in the driver of its Spark job.

A Spark job takes seconds to start and holds its cores. So it is submitted only once a round has work; until then the task makes the rounds.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mirror.airflow.backfill_runs import clear_number
from mirror.airflow.copy_xcom import run_from_xcom
from mirror.airflow.spark_hook import connect_master, job_hook
from mirror.airflow.tasks import run_name
from mirror.config import Flow
from mirror.copy.connect import rounds_in_session
from mirror.copy.job import JOB, arguments, job_files, read_run
from mirror.copy.rounds import Rounds, run_times
from mirror.copy.run_result import RunResult
from mirror.plan.model import Plan
from mirror.spark.connect import ConnectSession
from mirror.spark.log import log_lines
from mirror.spark.submit import Job

_EARLIER_TRY = "earlier_try"
"""Where Airflow keeps what a try did that failed: the next one goes on behind it, and counts it."""

SetEnd = Callable[[Callable[[], Any]], None]
"""Takes what ends the task's rounds, and whatever copies at the moment."""


def rounds_of_task(flow: Flow, plan: Plan, context: Any, set_end: SetEnd) -> RunResult:
    """Makes the rounds of a run, the first of them by the plan of the task `plan`, or behind an earlier try."""
    begun, stop = time.time(), threading.Event()
    set_end(stop.set)
    earlier = _earlier_try(context)
    rounds = Rounds(
        flow,
        earlier or RunResult(plan),
        run_name(),
        run_times(flow, begun),
        lambda seconds: not stop.wait(seconds),
        plan=None if earlier else plan,
    )
    master = connect_master(flow)
    if not master:
        return _by_spark_submit(rounds, begun, set_end)

    def opened(session: ConnectSession) -> None:
        def end() -> None:
            stop.set()
            session.interrupt()

        set_end(end)

    with rounds_in_session(master, run_name(), opened, log_lines) as copy:
        return rounds.run(copy)


def store_try(context: Any, value: Any) -> None:
    """Keeps what this try did for the next one."""
    context["task_state_store"].set(_EARLIER_TRY, {"cleared": clear_number(context["dag_run"]), "value": value})


def _earlier_try(context: Any) -> RunResult | None:
    stored = context["task_state_store"].get(_EARLIER_TRY)
    earlier = run_from_xcom(stored["value"]) if stored and stored["cleared"] == clear_number(context["dag_run"]) else None
    if earlier is None:
        return None
    # What failed then is tried again, and told again if it fails again.
    results = tuple(replace(result, errors=()) for result in earlier.results)
    return replace(earlier, plan=replace(earlier.plan, errors=()), results=results)


def _by_spark_submit(rounds: Rounds, begun: float, set_end: SetEnd) -> RunResult:
    if not rounds.await_work():
        return rounds.result

    def copy(flow: Flow, plan: Plan) -> RunResult:
        with job_files(plan) as files:
            job = Job(JOB, f"mirror copy {flow.name}", arguments(files, flow.name, run_name(), begun))
            hook = job_hook(flow, files, job)
            set_end(hook.on_kill)
            return read_run(files.result, hook.run(job))

    return rounds.followed_by(copy)
