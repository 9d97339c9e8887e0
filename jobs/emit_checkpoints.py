"""The Spark job for very many consumer groups: translates their offsets, and writes checkpoints or commits on the target, part by part.

Arguments: work file, result file. Spark only spreads the groups; each part does on its own what the task does for few groups.
"""

import json
import pickle
import socket
import sys
from collections.abc import Iterable, Iterator
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

WORKER_MODULES = ("mirror", "confluent_kafka", "kafka", "regex")


def work_on(parts: Iterable[bytes]) -> Iterator[Any]:
    """Runs on a worker: parts of the groups in, what was done out. They come pickled, so that a worker that lacks a module can say so."""
    import importlib

    for module in WORKER_MODULES:
        try:
            importlib.import_module(module)
        except ImportError as error:
            yield {"module": module, "host": socket.gethostname(), "python": sys.executable, "detail": str(error)}
            return
    from mirror.sync.group_job import run_part

    for part in parts:
        yield run_part(*pickle.loads(part))  # noqa: S301 — our own driver sent it


def run(document: dict[str, Any]) -> Any:
    """Runs on the driver: the groups through Spark, their answers as one."""
    from pyspark import SparkConf, SparkContext

    from mirror.config import load
    from mirror.copy.job_driver import check_configuration, of_prepared_workers, settled, stop
    from mirror.sync.group_job import chunks
    from mirror.sync.group_steps import GROUP_STEPS
    from mirror.sync.group_work import group_work, with_share

    flow = load().flow(document["flow"])
    check_configuration(document["config"], flow.config_hash)
    step, work, dry_run = document["step"], group_work(flow), document["dry_run"]
    context = SparkContext(conf=settled(SparkConf()))
    try:
        named = chunks(document["names"], context.defaultParallelism)
        parts = [pickle.dumps((step, with_share(work, len(named)), names, dry_run)) for names in named]
        answers = of_prepared_workers(context.parallelize(parts, len(parts)).mapPartitions(work_on).collect())
    finally:
        stop(context)
    return GROUP_STEPS[step].done(reduce(add, answers), dry_run)


def main(work_file: str, result_file: str) -> int:
    """The whole job; its exit code."""
    from mirror.copy.job_driver import exit_code
    from mirror.sync.group_job import write_done

    document = json.loads(Path(work_file).read_text(encoding="utf-8"))
    return exit_code(result_file, lambda result: write_done(result, run(document)))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
