"""The Spark job of a large audit: reads both sides of the stretches that it is given, and compares them. Arguments: work file, result file.

Spark only spreads the stretches; each share does on its own what the task does for a small audit. Nothing is written.
"""

import json
import pickle
import socket
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

WORKER_MODULES = ("mirror", "confluent_kafka")


def compare(shares: Iterable[bytes]) -> Iterator[Any]:
    """Runs on a worker: shares of the stretches in, outcomes out. They come pickled, so that a worker that lacks a module can say so."""
    import importlib

    for module in WORKER_MODULES:
        try:
            importlib.import_module(module)
        except ImportError as error:
            yield {"module": module, "host": socket.gethostname(), "python": sys.executable, "detail": str(error)}
            return
    from mirror.audit.stretch_audit import audit_stretches

    for share in shares:
        yield from audit_stretches(*pickle.loads(share))  # noqa: S301 — our own driver sent it


def run(document: dict[str, Any]) -> list[Any]:
    """Runs on the driver: the stretches through Spark, their outcomes in any order."""
    from pyspark import SparkConf, SparkContext

    from mirror.audit.job import shares, stretches_of
    from mirror.audit.work import audit_work
    from mirror.config import load
    from mirror.copy.job_driver import check_configuration, of_prepared_workers, settled, stop

    flow = load().flow(document["flow"])
    check_configuration(document["config"], flow.config_hash)
    work = audit_work(flow, document["show_payload"])
    context = SparkContext(conf=settled(SparkConf()))
    try:
        parts = [pickle.dumps((work, share)) for share in shares(stretches_of(document), context.defaultParallelism)]
        return list(of_prepared_workers(context.parallelize(parts, len(parts)).mapPartitions(compare).collect()))
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
