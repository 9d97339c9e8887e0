"""What runs on a worker of Spark. It travels by value: a worker without the library could not even say what it lacks."""

import importlib
import pickle
import socket
import sys
from collections.abc import Iterable, Iterator
from typing import Any

_WATCHDOG = "kafka_mirror.watchdog.watch"
OTHER_CODE = "other code"
"""The answer of a worker whose library is not the submitter's, or that has none."""


def on_worker(function: str, level: str, hand_over: bool, tasks: Iterable[bytes]) -> Iterator[Any]:
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
    watched = sys.modules[_WATCHDOG].watched("a worker of Spark", "Spark gives its tasks to another one, or the next run does.")
    with watched, sys.modules["kafka_mirror.spark.log"].worker_log(level, hand_over) as lines:
        yield from getattr(sys.modules[module], name)([pickle.loads(task) for task in tasks])  # noqa: S301 — our own driver sent them
    if lines:
        yield {"log": lines}


def on_same_code(digest: str, function: str, level: str, tasks: Iterable[bytes]) -> Iterator[Any]:
    """The function's answers to the tasks, if the worker's library is the one with this digest; else the one answer OTHER_CODE."""
    try:
        own_digest = importlib.import_module("kafka_mirror.spark.package").code_digest()
    except (ImportError, AttributeError):
        own_digest = ""
    if own_digest == digest:
        yield from on_worker(function, level, True, tasks)
        return
    # The process may serve the next try too, when the right package has come: it must not go on with the modules of this one.
    for name in [name for name in sys.modules if name.partition(".")[0] == "kafka_mirror"]:
        del sys.modules[name]
    yield OTHER_CODE
