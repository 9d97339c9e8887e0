"""The Spark job of a copy: one Spark task per lane that has work. Arguments: plan file, result file, flow.

Spark only schedules. A lane's function never raises, so a failing lane does not end the job for the others; Spark's own retries are for
lost executors, and fencing makes them safe.
"""

import pickle
import socket
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

WORKER_MODULES = ("mirror.copy.run", "confluent_kafka")


def copy_lanes(lanes: Iterable[tuple[int, bytes]]) -> Iterator[dict[str, Any]]:
    """Runs on a worker. The tasks arrive pickled, so that a worker that lacks a module can say so instead of failing to read them."""
    import importlib

    for lane, task in lanes:
        try:
            for module in WORKER_MODULES:
                importlib.import_module(module)
        except ImportError as error:
            yield {"lane": lane, "lacks": module, "host": socket.gethostname(), "python": sys.executable, "detail": str(error)}
            continue
        from mirror.copy.results import result_document
        from mirror.copy.run import copy_lane

        yield result_document(copy_lane(pickle.loads(task)))  # noqa: S301  (our own driver sent it)


def run(plan_file: Path, flow_name: str) -> list[dict[str, Any]]:
    """Runs on the driver: the plan's lanes through Spark."""
    from mirror.config import load
    from mirror.copy.job_files import read_plan
    from mirror.copy.run import lane_tasks
    from mirror.errors import PlanMismatch

    plan = read_plan(plan_file)
    flow = load().flow(flow_name)
    if plan.config_hash != flow.config_hash:
        raise PlanMismatch(plan.config_hash, flow.config_hash)
    tasks = [(task.lane, pickle.dumps(task)) for task in lane_tasks(flow, plan)]
    return through_spark(tasks) if tasks else []


def through_spark(tasks: list[tuple[int, bytes]]) -> list[dict[str, Any]]:
    """One Spark task for each; their answers in the same order."""
    from pyspark import SparkConf, SparkContext

    # Speculation would run side effects twice. The fencing would bear it, but it costs the work of one of the two.
    settings = SparkConf().set("spark.speculation", "false").set("spark.task.maxFailures", "4").setIfMissing("spark.log.level", "WARN")
    context = SparkContext(conf=settings)
    # The context is stopped by spark-submit when this program ends: SparkContext.stop() would wait a second for accumulators, unused here.
    return context.parallelize(tasks, len(tasks)).mapPartitions(copy_lanes).collect()


def main(plan_file: str, result_file: str, flow_name: str) -> int:
    """The whole job. An error of ours is handed back as a value; the exit code alone could not say whether to retry."""
    from mirror.copy.job_files import write_failure, write_results
    from mirror.copy.results import result_of
    from mirror.errors import MirrorError, WorkerUnprepared

    try:
        answers = run(Path(plan_file), flow_name)
        for answer in answers:
            if "lacks" in answer:
                raise WorkerUnprepared(answer["lacks"], answer["host"], answer["python"], answer["detail"])
        write_results(Path(result_file), [result_of(answer) for answer in answers])
    except MirrorError as error:
        write_failure(Path(result_file), error)
        print(error, file=sys.stderr)  # noqa: T201  (the job's log)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
