"""The Spark job of a large audit: reads both sides of the stretches that it is given, and compares them. Arguments: work file, result file.

Spark only spreads the tasks: shares of the stretches, each of which does on its own what the task does for a small audit, and pieces of
stretches that are too large for one. Nothing is written.
"""

import json
import pickle
import socket
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

WORKER_MODULES = ("mirror", "confluent_kafka")


def compare(tasks: Iterable[bytes]) -> Iterator[Any]:
    """Runs on a worker: tasks in, outcomes out, or the digests of pieces. They come pickled, so that a worker that lacks a module can say
    so."""
    import importlib

    for module in WORKER_MODULES:
        try:
            importlib.import_module(module)
        except ImportError as error:
            yield {"module": module, "host": socket.gethostname(), "python": sys.executable, "detail": str(error)}
            return
    from mirror.audit.pieces import work_on

    for task in tasks:
        yield from work_on(*pickle.loads(task))  # noqa: S301 — our own driver sent it


def run(document: dict[str, Any]) -> list[Any]:
    """Runs on the driver: the stretches through Spark, their outcomes in any order; those that were read in pieces once more."""
    from pyspark import SparkConf, SparkContext

    from mirror.audit.job import stretches_of
    from mirror.audit.pieces import joined, tasks_of
    from mirror.audit.work import audit_work
    from mirror.config import load
    from mirror.copy.job_driver import check_configuration, of_prepared_workers, settled, stop

    flow = load().flow(document["flow"])
    check_configuration(document["config"], flow.config_hash)
    work = audit_work(flow, document["show_payload"])
    stretches = stretches_of(document)
    context = SparkContext(conf=settled(SparkConf()))

    def spread(tasks: Sequence[Any]) -> list[Any]:
        parts = [pickle.dumps((work, task)) for task in tasks]
        return list(of_prepared_workers(context.parallelize(parts, len(parts)).mapPartitions(compare).collect())) if parts else []

    try:
        first = spread(tasks_of(stretches, context.defaultParallelism, flow.value("mirror.audit.spark.threshold")))
        outcomes, in_pieces = joined(stretches, first)
        return outcomes + spread(in_pieces)
    finally:
        stop(context)


def main(work_file: str, result_file: str) -> int:
    """The whole job; its exit code."""
    from mirror.audit.job import write_outcomes
    from mirror.copy.job_driver import exit_code

    document = json.loads(Path(work_file).read_text(encoding="utf-8"))
    return exit_code(result_file, lambda result: write_outcomes(result, run(document)))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
