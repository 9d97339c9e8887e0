"""The copy as a Spark job, by one plan or following."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kafka_mirror.config import Flow
from kafka_mirror.copy.follow import Following
from kafka_mirror.copy.model import LaneResult
from kafka_mirror.copy.plan.model import Plan
from kafka_mirror.copy.run import copy_on_spark
from kafka_mirror.copy.run_result import RunResult
from kafka_mirror.errors import JobFailed
from kafka_mirror.spark.driver import Spark
from kafka_mirror.spark.run import SparkRunner

STEP = "copy"
DRIVER_DIED = JobFailed(
    "The Spark job ended while its lanes copied or followed.",
    next="Look at the job's output above; what was committed is in the ledger, and the next run goes on after it.",
).report()


@dataclass(frozen=True)
class CopyWork:
    """What a job copies. `run` names the run in the ledger."""

    plan: Plan
    run: str = ""


@dataclass(frozen=True)
class FollowWork(CopyWork):
    """What a job copies first, before it follows `until` a time, in seconds since the epoch."""

    until: float = 0.0


def copy_plan(spark: Spark, flow: Flow, work: CopyWork) -> tuple[LaneResult, ...]:
    """The job: copies the plan's ranges, and says what each lane did."""
    return tuple(copy_on_spark(flow, work.plan, work.run, spark))


def follow_plans(spark: Spark, flow: Flow, work: FollowWork) -> RunResult:
    """The job of a run that follows: what came of all of its plans. Should its driver die, its submitter knows what it was to copy.

    On a Spark that stays it takes half of the cores, so that the next run has the other half to take over with. One core is no place for
    both: there the lanes end when their run is due.
    """

    def copy(now: Flow, planned: Plan, max_bytes: int) -> Sequence[LaneResult]:
        if not spark.is_shared:
            return copy_on_spark(now, planned, work.run, spark, max_bytes)
        cores = spark.cores()
        half = replace(spark, cores=lambda: max(1, cores // 2))
        return copy_on_spark(now, planned if cores > 1 else replace(planned, hand_over_for=0.0), work.run, half, max_bytes)

    def keep(result: RunResult) -> None:
        spark.keep(replace(result, failure=DRIVER_DIED))

    due = work.until - time.time() + time.monotonic()
    hand_over = work.plan.hand_over_for
    return Following(flow, RunResult(work.plan), work.run, due, spark.wait, plan=work.plan, hand_over=hand_over, keep=keep).run(copy)


def copy_with_spark(runner: SparkRunner, flow: Flow, plan: Plan, run: str) -> list[LaneResult]:
    """Copies the plan's ranges by a job, and returns what each lane did. Raises as `SparkRunner.run`."""
    return list(runner.run(copy_plan, flow, CopyWork(plan, run), STEP))


def follow_with_spark(runner: SparkRunner, flow: Flow, plan: Plan, run: str, due: float) -> RunResult:
    """Copies and follows by a job until `due`, by the monotonic clock. The run before it hands its lanes over, so only an earlier try of
    this run is interrupted. Raises as `SparkRunner.run`."""
    return runner.run(follow_plans, flow, FollowWork(plan, run, time.time() + due - time.monotonic()), STEP, run)
