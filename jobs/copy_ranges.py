"""The Spark job of a copy: a few lanes that have work in each Spark task, side by side. Arguments: plan file, result file, flow, run.

Spark only schedules. A lane's function never raises, so a failing lane does not end the job for the others; Spark's own retries are for
lost executors, and fencing makes them safe.
"""

import sys
from functools import partial
from pathlib import Path
from typing import Any


def run(plan_file: str, flow_name: str, run_id: str) -> list[Any]:
    """Runs on the driver: the plan's lanes through Spark, their answers in the same order."""
    from spark_job import run_on_workers, spark_context

    from mirror.config import load
    from mirror.copy.job import read_plan
    from mirror.copy.run import copy_on_spark

    flow, plan = load().flow(flow_name), read_plan(Path(plan_file))
    with spark_context(flow_name, run_id) as spark:
        return copy_on_spark(flow, plan, run_id, spark.defaultParallelism, partial(run_on_workers, spark))


def main(plan_file: str, result_file: str, flow_name: str, run_id: str) -> int:
    """The whole job; its exit code."""
    from mirror.copy.job import write_results
    from mirror.spark.driver import exit_code

    return exit_code(result_file, lambda result: write_results(result, run(plan_file, flow_name, run_id)))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
