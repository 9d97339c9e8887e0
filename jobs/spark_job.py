"""The program of every Spark job: runs the function that its work file names, with tasks on Spark's workers. Arguments: work file, result
file.

Spark only schedules. What a worker runs answers with its errors, so a task that fails does not end the job for the others; Spark's own
retries are for lost executors.

The one file that imports pyspark, and that uses anything of its private side: `SparkContext._jsc`, its gateway and the converters that it
gives py4j, as Spark 4.2.0 has them.
"""

import logging
import pickle
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from py4j.protocol import INPUT_CONVERTER
from pyspark import SparkConf, SparkContext, cloudpickle

from kafka_mirror.spark import worker
from kafka_mirror.spark.log import UI, require_prepared_workers, wanted_level
from kafka_mirror.spark.run import Run, run_job
from kafka_mirror.spark.start import is_local

log = logging.getLogger("kafka_mirror.spark.job")

# A worker gets `on_worker` itself, not its name: one without the library could not even say what it lacks.
cloudpickle.register_pickle_by_value(worker)

# pyspark's converters, for dates and numpy's types, are asked of each argument of each call into the JVM. To answer, those for numpy import
# it, and with it pandas, pyarrow and unittest: 50 MB and half a CPU second for numbers and texts, which need no converter.
INPUT_CONVERTER[:] = [converter for converter in INPUT_CONVERTER if not type(converter).__module__.startswith("pyspark.")]


@contextmanager
def spark_context(flow: str, modules: Sequence[str] = ()) -> Iterator[Any]:
    """A SparkContext with what every job of ours needs; it ends with the block. `modules` are what its workers will import: on this host
    they share them."""
    SparkContext._ensure_initialized()  # without its gateway to the JVM a SparkConf does not see the settings of spark-submit
    # Speculation would run side effects twice. The fencing would bear it, but it costs the work of one of the two.
    settings = SparkConf().set("spark.speculation", "false").set("spark.task.maxFailures", "4").setIfMissing("spark.log.level", "WARN")
    local = is_local(settings.get("spark.master") or "")
    if local:
        # Another user of this host reaches the driver's port and that of its blocks, which hold the tasks with their secrets. With this
        # they ask for a secret, which Spark makes itself. Its page asks for none.
        settings.setIfMissing("spark.authenticate", "true").setIfMissing("spark.ui.enabled", "false")
    if modules and local:
        settings.setIfMissing("spark.python.daemon.module", worker.MODULE)
        settings.setExecutorEnv(worker.MODULES, ",".join(["pyspark.worker", *modules]))
    spark = SparkContext(conf=settings)
    try:
        log.info("%s: Spark %s runs on %s as %s.", flow, spark.version, spark.master, spark.applicationId)
        if spark.uiWebUrl:
            log.info("%s%s", UI, spark.uiWebUrl)
        yield spark
    finally:
        # The JVM's side alone: its own stop would wait another second for its server of accumulators, which no job of ours uses.
        spark._jsc.stop()


def cancel_with(spark: Any, wait: Callable[[float], bool]) -> None:
    """Cancels what Spark does, in a thread, as soon as `wait` says that the process that submitted the job is gone."""

    def watch() -> None:
        """Cancels again and again: the driver may just be between two jobs."""
        while wait(1.0):
            pass
        log.warning("The process that submitted the job is gone, so the job ends. What it has not committed is aborted by the next run.")
        while True:
            spark.cancelAllJobs()
            time.sleep(1.0)

    threading.Thread(target=watch, name="submitter", daemon=True).start()


def run_on_workers(spark: Any, function: str, tasks: Sequence[Any], slices: int) -> list[Any]:
    """The answers of a function ('module:name') to the tasks, in their order; Spark runs them as `slices` tasks of its own. The workers'
    lines go into this process's log. Raises WorkerUnprepared when a worker lacks a module."""
    if not tasks:
        return []
    work = partial(worker.run_on_worker, function, wanted_level(), not is_local(spark.master))
    answers = spark.parallelize([pickle.dumps(task) for task in tasks], slices).mapPartitions(work).collect()
    return list(require_prepared_workers(answers))


@contextmanager
def open_spark(flow: str, modules: Sequence[str], wait: Callable[[float], bool]) -> Iterator[tuple[Callable[[], int], Run]]:
    """How many cores a new SparkContext has, and what runs tasks there. What it does is cancelled once `wait` says so."""
    with spark_context(flow, modules) as spark:
        cancel_with(spark, wait)
        yield lambda: int(spark.defaultParallelism), partial(run_on_workers, spark)


if __name__ == "__main__":
    sys.exit(run_job(*sys.argv[1:], open_spark))
