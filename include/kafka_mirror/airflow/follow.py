"""The task `copy` of a flow that follows: in this process with a session of a Spark Connect server, else in the driver of its Spark job.

A Spark job takes seconds to start and holds its cores. So it is submitted only once there is something to copy; until then the task waits.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kafka_mirror.airflow.backfill_runs import clear_number
from kafka_mirror.airflow.copy_xcom import run_from_xcom
from kafka_mirror.airflow.spark_hook import connect_master, job_hook
from kafka_mirror.airflow.tasks import run_name
from kafka_mirror.config import Flow
from kafka_mirror.config.deadlines import hand_over_seconds
from kafka_mirror.copy.connect import following_in_session
from kafka_mirror.copy.follow import Following, due_time
from kafka_mirror.copy.job import JOB, arguments, job_files, read_run
from kafka_mirror.copy.run_result import RunResult
from kafka_mirror.plan.model import Plan
from kafka_mirror.spark.connect import ConnectSession
from kafka_mirror.spark.log import log_lines
from kafka_mirror.spark.submit import Job

_EARLIER_TRY = "earlier_try"
"""Where Airflow keeps what a try did that failed: the next one goes on after it, and counts it."""

SetEnd = Callable[[Callable[[], Any]], None]
"""Takes what ends the task's run, and whatever copies at the moment."""


def follow_in_task(flow: Flow, plan: Plan, context: Any, set_end: SetEnd) -> RunResult:
    """Follows until the next run has taken over, after the plan of the task `plan` or after an earlier try."""
    begun, stop = time.time(), threading.Event()
    set_end(stop.set)
    result = _earlier_try(context) or RunResult(plan)
    due, hand_over = due_time(flow, begun), hand_over_seconds(flow)
    following = Following(flow, result, run_name(), due, lambda seconds: not stop.wait(seconds), hand_over=hand_over)
    master = connect_master(flow)
    if not following.await_work():
        return following.result
    if not master:
        return _by_spark_submit(following, set_end)

    def opened(session: ConnectSession) -> None:
        def end() -> None:
            stop.set()
            session.interrupt()

        set_end(end)

    with following_in_session(master, run_name(), opened, log_lines) as copy:
        return following.run(copy)


def store_try(context: Any, value: Any) -> None:
    """Keeps what this try did for the next one."""
    context["task_state_store"].set(_EARLIER_TRY, {"cleared": clear_number(context["dag_run"]), "value": value})


def _earlier_try(context: Any) -> RunResult | None:
    stored = context["task_state_store"].get(_EARLIER_TRY)
    earlier = run_from_xcom(stored["value"]) if stored and stored["cleared"] == clear_number(context["dag_run"]) else None
    if earlier is None:
        return None
    # What failed then is tried again, and told again if it fails again.
    results = tuple(replace(result, errors=(), stopped=()) for result in earlier.results)
    return replace(earlier, plan=replace(earlier.plan, errors=()), results=results)


def _by_spark_submit(following: Following, set_end: SetEnd) -> RunResult:
    def copy(flow: Flow, plan: Plan) -> RunResult:
        with job_files(plan) as files:
            job = Job(JOB, f"mirror copy {flow.name}", arguments(files, flow.name, run_name(), following.due))
            hook = job_hook(flow, files, job)
            set_end(hook.on_kill)
            return read_run(files.result, hook.run(job))

    return following.followed_by(copy)
