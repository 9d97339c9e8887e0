"""Stands in for Spark, one that stays and one of spark-submit: its workers are this process."""

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from kafka_mirror.config import Flow
from kafka_mirror.spark.files import JobFiles
from kafka_mirror.spark.run import run_job


class SparkOfThisProcess:
    """A Spark with two cores. Its `flow_session` is in the place of `kafka_mirror.spark.connect.flow_session`, its `submit` in that of
    `kafka_mirror.spark.run.submit`.

    `sessions` has step, who runs it, and the master; `jobs` name and master; `tasks` the function and the number of tasks and of slices.
    """

    cores = 2

    def __init__(self) -> None:
        self.sessions: list[tuple[str, str, str]] = []
        self.jobs: list[tuple[str, str]] = []
        self.tasks: list[tuple[str, int, int]] = []
        self.waits: list[Callable[[float], bool]] = []
        self.failure: Exception | None = None
        self.interrupted = 0
        self.meanwhile: Callable[[], Any] = lambda: None

    @contextmanager
    def flow_session(
        self,
        flow: Flow,
        step: str,
        by: str,
        master: str,
        say: Any = None,
    ) -> Iterator["SparkOfThisProcess"]:
        self.sessions.append((step, by, master))
        if self.failure is not None:
            raise self.failure
        yield self

    def submit(self, name: str, files: JobFiles, flow: Flow, master: str) -> str:
        self.jobs.append((name, master))
        return f"It ended with exit code {self.drive(files.work, files.result, {'MIRROR_CONFIG': ','.join(flow.files)})}."

    def drive(self, work: Any, result: Any, environment: dict[str, str]) -> int:
        """Runs a driver in this process, but for what `jobs/spark_job.py` does with Spark."""
        with pytest.MonkeyPatch.context() as patch:
            for variable, value in environment.items():
                patch.setenv(variable, value)
            patch.setattr("kafka_mirror.spark.run.log_to_standard_error", lambda _level: None)
            return run_job(str(work), str(result), self._open)

    @contextmanager
    def _open(self, _flow: str, _modules: Sequence[str], wait: Callable[[float], bool]) -> Iterator[Any]:
        self.waits.append(wait)
        yield lambda: self.cores, self.run

    def run(self, function: str, tasks: Sequence[Any], slices: int) -> list[Any]:
        self.tasks.append((function, len(tasks), slices))
        self.meanwhile()
        module, _, name = function.partition(":")
        return list(getattr(importlib.import_module(module), name)(tasks))

    def interrupt(self) -> None:
        self.interrupted += 1
