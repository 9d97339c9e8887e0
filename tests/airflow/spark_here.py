"""Jobs of spark-submit without Spark: their programs run in the process of the test, for tests of what comes of a job."""

import pickle
import runpy
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.spark_session import SparkOfThisProcess


def submit(hook: Any, application: str = "", **_: Any) -> None:
    """In the place of `JobHook.submit`: the whole program, but for what `jobs/spark_job.py` does with Spark."""
    from airflow.sdk.exceptions import AirflowException

    with pytest.MonkeyPatch.context() as patch:
        for name, value in hook._environment.items():
            patch.setenv(name, value)
        patch.setitem(sys.modules, "spark_job", _without_spark())
        patch.setattr("kafka_mirror.spark.driver.log_to_standard_error", lambda _level: None)
        code = runpy.run_path(application)["main"](*hook._application_args)
    if code:
        raise AirflowException(f"Cannot execute: spark-submit. Error code is: {code}.")


def _without_spark() -> ModuleType:
    """The module that all jobs import, with workers that are this process; tasks and answers are pickled as for others."""

    @contextmanager
    def spark_context(*_: Any, **__: Any) -> Iterator[Any]:
        yield SimpleNamespace(defaultParallelism=SparkOfThisProcess.cores)

    def run_on_workers(_spark: Any, function: str, tasks: Sequence[Any], slices: int) -> list[Any]:
        handed_over = pickle.loads(pickle.dumps(list(tasks)))
        answers: list[Any] = pickle.loads(pickle.dumps(SparkOfThisProcess().run(function, handed_over, slices)))
        return answers

    module = ModuleType("spark_job")
    module.__dict__.update(spark_context=spark_context, run_on_workers=run_on_workers)
    return module
