"""The task `copy` of a flow that follows: it waits for work, and leaves that to a job that follows on Spark.

A Spark job takes seconds to start and holds its cores. So it is started only once there is something to copy, and more of it than
`mirror.copy.spark.threshold`: what is less the task copies itself.
"""

import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from kafka_mirror.airflow.tasks import clear_number, from_xcom, run_name, to_xcom, try_number
from kafka_mirror.airflow.work.state_stores import task_store
from kafka_mirror.config import Flow
from kafka_mirror.config.deadlines import hand_over_seconds
from kafka_mirror.copy.follow import Following, due_time
from kafka_mirror.copy.model import LaneResult
from kafka_mirror.copy.plan.model import Plan
from kafka_mirror.copy.run import copy_in_process, follow_with_spark
from kafka_mirror.copy.run_result import RunResult
from kafka_mirror.formats.documents import from_document, to_document
from kafka_mirror.groups.job import checkpoints_meanwhile
from kafka_mirror.spark.run import SparkRunner

_EARLIER_TRY = "earlier_try"
"""Where Airflow keeps what a try did that failed: the next one goes on after it, and counts it."""


def follow_in_task(flow: Flow, plan: Plan, context: Any, runner: SparkRunner) -> RunResult:
    """Follows until the next run has taken over, after the plan of the task `plan` or after an earlier try."""
    begun = time.time()
    result = _earlier_try(context) or RunResult(plan)
    following = Following(flow, result, run_name(), due_time(flow, begun), runner.wait, hand_over=hand_over_seconds(flow))
    with checkpoints_meanwhile(flow, following.due):
        return _follow(following, runner)


def _follow(following: Following, runner: SparkRunner) -> RunResult:
    flow = following.flow
    most = flow.value("mirror.copy.spark.threshold")
    stop = threading.Event()

    def copy_here(now: Flow, newest: Plan, max_bytes: int) -> Sequence[LaneResult]:
        """Copies in the task's process; the runner's end ends it after its open transactions."""
        runner.set_end(stop.set)
        return copy_in_process(now, newest, run_name(), max_bytes, stop) if runner.wait(0) else []

    if following.copy_little(copy_here, most) if most else following.await_work():
        return following.hand_to(partial(follow_with_spark, runner, run=run_name(), due=following.due))
    return following.result


def remember_try(context: Any, result: RunResult | None) -> None:
    """Keeps what a try did for the next one; None: no other follows, and what an earlier one did is forgotten."""
    store = task_store(context)
    if result is not None:
        store.set(_EARLIER_TRY, {"cleared": clear_number(context["dag_run"]), "result": to_xcom(to_document(result), {})})
    elif try_number() > 1:
        store.delete(_EARLIER_TRY)


def _earlier_try(context: Any) -> RunResult | None:
    stored = task_store(context).get(_EARLIER_TRY)
    document = from_xcom(stored["result"]) if stored and stored["cleared"] == clear_number(context["dag_run"]) else None
    if document is None:
        return None
    # What failed then is tried again, and is an error again if it fails again.
    earlier = from_document(RunResult, document)
    results = tuple(replace(result, errors=(), stopped=()) for result in earlier.results)
    return replace(earlier, plan=replace(earlier.plan, errors=()), results=results, failure=None)
