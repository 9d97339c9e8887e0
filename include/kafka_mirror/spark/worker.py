"""Spark's Python workers: the daemon that forks them on a local master, and what runs on each.

    driver's JVM ── starts ──► daemon ── imports the job's modules, freezes, forks ──► a worker for each core

So the modules are read once, and shared. Spark starts the daemon in place of `pyspark.daemon` where `spark.python.daemon.module` names it,
as jobs/spark_job.py does on a local master.

What runs on a worker travels by value: one without the library could not even say what it lacks.
"""

import gc
import importlib
import os
import pickle
import socket
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

MODULE = "kafka_mirror.spark.worker"
"""The name that Spark starts the daemon by."""
MODULES = "MIRROR_WORKER_MODULES"
"""The variable with the modules, with commas between them."""

_WATCHDOG = "kafka_mirror.watchdog.watch"
OTHER_CODE = "other code"
"""The answer of a worker whose library is not the submitter's, or that has none."""


def run_on_worker(function: str, level: str, hand_over: bool, tasks: Iterable[bytes]) -> Iterator[Any]:
    """The answers of a function ('module:name') to its tasks; with `hand_over` what it logged comes after them. The tasks come pickled, so
    that a worker that lacks a module can say so."""
    module, _, name = function.partition(":")
    try:
        for needed in ("kafka_mirror", "confluent_kafka", _WATCHDOG, "kafka_mirror.spark.log", module):
            importlib.import_module(needed)
    except ImportError as error:
        lacking = error.name or needed
        yield {"module": lacking, "host": socket.gethostname(), "python": sys.executable, "detail": str(error)}
        return
    watched = sys.modules[_WATCHDOG].kill_if_hung("a worker of Spark", "Spark gives its tasks to another one, or the next run does.")
    with watched, sys.modules["kafka_mirror.spark.log"].worker_log(level, hand_over) as lines:
        yield from getattr(sys.modules[module], name)([pickle.loads(task) for task in tasks])  # noqa: S301 — our own driver sent them
    if lines:
        yield {"log": lines}


def run_on_same_code(digest: str, function: str, level: str, tasks: Iterable[bytes]) -> Iterator[Any]:
    """The function's answers to the tasks, if the worker's library is the one with this digest; else the one answer OTHER_CODE."""
    try:
        own_digest = importlib.import_module("kafka_mirror.spark.files").code_digest()
    except (ImportError, AttributeError):
        own_digest = ""
    if own_digest == digest:
        yield from run_on_worker(function, level, True, tasks)
        return
    # The process may serve the next try too, when the right package has come: it must not go on with the modules of this one.
    for name in [name for name in sys.modules if name.partition(".")[0] == "kafka_mirror"]:
        del sys.modules[name]
    yield OTHER_CODE


def share(modules: Iterable[str]) -> None:
    """Imports modules for processes that are forked from this one. One that lacks a package is left to the worker, which says so. None of
    them may start a thread: a fork has only the one that forks."""
    for module in modules:
        with suppress(ImportError):
            importlib.import_module(module)
    # To look at an object is to write to it: the workers' garbage collectors would copy every page of what they share.
    gc.freeze()


def main() -> None:
    """The daemon: runs until Spark ends it. Nothing may be printed: Spark reads the daemon's port from its standard output."""
    from pyspark import daemon

    share(filter(None, os.environ.get(MODULES, "").split(",")))
    daemon.manager()


if __name__ == "__main__":
    main()
