"""The Spark job of a copy: a few lanes that have work in each Spark task, side by side. Arguments: plan file, result file, flow, run.

Spark only schedules. A lane's function never raises, so a failing lane does not end the job for the others; Spark's own retries are for
lost executors, and fencing makes them safe.
"""

import logging
import pickle
import socket
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

WORKER_MODULES = ("mirror", "confluent_kafka")

log = logging.getLogger("mirror.copy.job")


def copy_lanes(level: str, hand_over: bool, tasks: Iterable[bytes]) -> Iterator[Any]:
    """Runs on a worker: lane tasks in, lane results out, and with `hand_over` what it logged. The tasks come pickled, so that a worker that
    lacks a module can say so."""
    import importlib

    for module in WORKER_MODULES:
        try:
            importlib.import_module(module)
        except ImportError as error:
            yield {"module": module, "host": socket.gethostname(), "python": sys.executable, "detail": str(error)}
            return
    from mirror.copy.job_log import worker_log
    from mirror.copy.run import copy_side_by_side

    with worker_log(level, hand_over) as lines:
        yield from copy_side_by_side([pickle.loads(task) for task in tasks])  # noqa: S301 — our own driver sent them
    if lines:
        yield {"log": lines}


def run(plan_file: str, flow_name: str, run_id: str) -> list[Any]:
    """Runs on the driver: the plan's lanes through Spark, their answers in the same order."""
    from pyspark import SparkConf, SparkContext

    from mirror.config import load
    from mirror.copy.job_driver import of_prepared_workers, settled, stop
    from mirror.copy.job_files import read_plan
    from mirror.copy.job_log import wanted_level
    from mirror.copy.rounds import copy_in_rounds
    from mirror.copy.run import LANES_AT_ONCE, lane_tasks
    from mirror.copy.spark_start import is_local

    flow, plan = load().flow(flow_name), read_plan(Path(plan_file))
    context = SparkContext(conf=settled(SparkConf()))
    cores = context.defaultParallelism
    log.info("%s: Spark %s runs on %s as %s, run %s.", flow_name, context.version, context.master, context.applicationId, run_id)

    def copy(tasks: Sequence[Any]) -> list[Any]:
        # As many Spark tasks as there are cores, if there are so many lanes; more when they would otherwise hold too many lanes.
        slices = min(len(tasks), max(cores, -(-len(tasks) // LANES_AT_ONCE)))
        log.info("Lanes with work: %d; tasks of Spark: %d, each with up to %d lanes side by side.", len(tasks), slices, LANES_AT_ONCE)
        work = partial(copy_lanes, wanted_level(), not is_local(context.master))
        answers = context.parallelize([pickle.dumps(task) for task in tasks], slices).mapPartitions(work).collect()
        return list(of_prepared_workers(answers))

    try:
        return copy_in_rounds(lane_tasks(flow, plan, run_id), cores * LANES_AT_ONCE, copy)
    finally:
        stop(context)


def main(plan_file: str, result_file: str, flow_name: str, run_id: str) -> int:
    """The whole job; its exit code."""
    from mirror.copy.job_driver import exit_code
    from mirror.copy.job_files import write_results

    return exit_code(result_file, lambda result: write_results(result, run(plan_file, flow_name, run_id)))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
