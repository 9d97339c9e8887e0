"""The Spark job of a copy: a few lanes that have work in each Spark task, side by side. Arguments: plan file, result file, flow, run; and
for a run that follows until when, in seconds since the epoch, and the process that submitted it.

Spark only schedules. A lane's function never raises, so a failing lane does not end the job for the others; Spark's own retries are for
lost executors, and fencing makes them safe.
"""

import sys
import time
from functools import partial
from pathlib import Path
from typing import Any


def run(plan_file: str, flow_name: str, run_id: str) -> list[Any]:
    """Runs on the driver: the plan's lanes through Spark, their answers in the same order."""
    from spark_job import run_on_workers, spark_context

    from kafka_mirror.config import load
    from kafka_mirror.copy.job import read_plan
    from kafka_mirror.copy.run import MODULES, copy_on_spark

    flow, plan = load().flow(flow_name), read_plan(Path(plan_file))
    with spark_context(flow_name, run_id, MODULES) as spark:
        return copy_on_spark(flow, plan, run_id, spark.defaultParallelism, partial(run_on_workers, spark))


def follow(plan_file: str, result_file: str, flow_name: str, run_id: str, until: str, submitter: str) -> Any:
    """The same for a run that follows: what came of all of its plans. It ends with the process that submitted it."""
    from spark_job import cancel_with, run_on_workers, spark_context

    from kafka_mirror.config import load
    from kafka_mirror.copy.follow import Following
    from kafka_mirror.copy.job import keep_run, read_plan
    from kafka_mirror.copy.run import MODULES, copy_on_spark
    from kafka_mirror.copy.run_result import RunResult
    from kafka_mirror.spark.driver import wait_while_alive

    flow, plan, wait = load().flow(flow_name), read_plan(Path(plan_file)), wait_while_alive(int(submitter))
    with spark_context(flow_name, run_id, MODULES) as spark:
        cancel_with(spark, wait)

        def copy(now: Any, planned: Any, max_bytes: int) -> list[Any]:
            return copy_on_spark(now, planned, run_id, spark.defaultParallelism, partial(run_on_workers, spark), max_bytes)

        due, keep = float(until) - time.time() + time.monotonic(), partial(keep_run, Path(result_file))
        following = Following(flow, RunResult(plan), run_id, due, wait, plan=plan, hand_over=plan.hand_over_for, keep=keep)
        return following.run(copy)


def main(plan_file: str, result_file: str, flow_name: str, run_id: str, *following: str) -> int:
    """The whole job; its exit code."""
    from kafka_mirror.copy.job import write_results, write_run
    from kafka_mirror.spark.driver import exit_code

    if following:
        return exit_code(result_file, lambda result: write_run(result, follow(plan_file, result_file, flow_name, run_id, *following)))
    return exit_code(result_file, lambda result: write_results(result, run(plan_file, flow_name, run_id)))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
