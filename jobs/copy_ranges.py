"""The Spark job of a copy: a few lanes that have work in each Spark task, side by side. Arguments: plan file, result file, flow, run.

Spark only schedules. A lane's function never raises, so a failing lane does not end the job for the others; Spark's own retries are for
lost executors, and fencing makes them safe.
"""

import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

log = logging.getLogger("mirror.copy.job")


def run(plan_file: str, flow_name: str, run_id: str) -> list[Any]:
    """Runs on the driver: the plan's lanes through Spark, their answers in the same order."""
    from spark_job import run_on_workers, spark_context

    from mirror.config import load
    from mirror.copy.budget import copy_in_rounds
    from mirror.copy.job import read_plan
    from mirror.copy.run import LANES_AT_ONCE, lane_tasks

    flow, plan = load().flow(flow_name), read_plan(Path(plan_file))
    with spark_context(flow_name, run_id) as spark:
        cores = spark.defaultParallelism

        def copy(tasks: Sequence[Any]) -> list[Any]:
            # As many Spark tasks as there are cores, if there are so many lanes; more when they would otherwise hold too many lanes.
            slices = min(len(tasks), max(cores, -(-len(tasks) // LANES_AT_ONCE)))
            log.info("Lanes with work: %d; tasks of Spark: %d, each with up to %d lanes side by side.", len(tasks), slices, LANES_AT_ONCE)
            return run_on_workers(spark, "mirror.copy.run:copy_side_by_side", tasks, slices)

        return copy_in_rounds(lane_tasks(flow, plan, run_id), cores * LANES_AT_ONCE, copy)


def main(plan_file: str, result_file: str, flow_name: str, run_id: str) -> int:
    """The whole job; its exit code."""
    from mirror.copy.job import write_results
    from mirror.spark.driver import exit_code

    return exit_code(result_file, lambda result: write_results(result, run(plan_file, flow_name, run_id)))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
