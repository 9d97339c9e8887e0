"""Stands in for a Spark that stays: its workers are this process."""

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from kafka_mirror.config import Flow


class SparkOfThisProcess:
    """A server with two cores: `monkeypatch.setattr("kafka_mirror.spark.connect.flow_session", spark.flow_session)`.

    `sessions` has step, who runs it, and the master; `tasks` the function and the number of tasks and of slices.
    """

    cores = 2

    def __init__(self) -> None:
        self.sessions: list[tuple[str, str, str]] = []
        self.tasks: list[tuple[str, int, int]] = []
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

    def run(self, function: str, tasks: Sequence[Any], slices: int) -> list[Any]:
        self.tasks.append((function, len(tasks), slices))
        self.meanwhile()
        module, _, name = function.partition(":")
        return list(getattr(importlib.import_module(module), name)(tasks))

    def interrupt(self) -> None:
        self.interrupted += 1
