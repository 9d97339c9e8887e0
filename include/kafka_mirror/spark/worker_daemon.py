"""Spark's daemon of Python workers, with the modules of a job imported before it forks the first worker: so they are read once, and shared.

    driver's JVM ── starts ──► daemon ── imports, freezes, forks ──► a worker for each core

Spark starts it in place of `pyspark.daemon` where `spark.python.daemon.module` names it, as jobs/spark_job.py does on a local master.
"""

import gc
import importlib
import os
from collections.abc import Iterable
from contextlib import suppress

MODULE = "kafka_mirror.spark.worker_daemon"
"""The name that Spark starts it by."""
MODULES = "MIRROR_WORKER_MODULES"
"""The variable with the modules, with commas between them."""


def share(modules: Iterable[str]) -> None:
    """Imports modules for processes that are forked from this one. One that lacks a package is left to the worker, which says so. None of
    them may start a thread: a fork has only the one that forks."""
    for module in modules:
        with suppress(ImportError):
            importlib.import_module(module)
    # To look at an object is to write to it: the workers' garbage collectors would copy every page of what they share.
    gc.freeze()


def main() -> None:
    """Runs until Spark ends it. Nothing may be printed: Spark reads the daemon's port from its standard output."""
    from pyspark import daemon

    share(filter(None, os.environ.get(MODULES, "").split(",")))
    daemon.manager()


if __name__ == "__main__":
    main()
