"""What a job's function gets of Spark, and the driver that runs it for its submitter. Imports no Spark: jobs/spark_job.py does."""

import importlib
import json
import logging
import os
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast, get_type_hints

from kafka_mirror.config import Flow, load
from kafka_mirror.errors import MirrorError, PlanMismatch, WorkerUnprepared
from kafka_mirror.formats.documents import from_document, to_document
from kafka_mirror.spark.files import write_answer, write_failure
from kafka_mirror.spark.log import SayLines, log_to_standard_error, wanted_level, write_lines
from kafka_mirror.watchdog.watch import kill_if_hung

_LOOK_SECONDS = 0.25

log = logging.getLogger(__name__)

W = TypeVar("W", contravariant=True)
A = TypeVar("A", covariant=True)
T = TypeVar("T")
Run = Callable[[str, Sequence[Any], int], list[Any]]
Wait = Callable[[float], bool]


@dataclass(frozen=True)
class Spark:
    """A Spark as a job's function uses it: a session of a Spark that stays, or what spark-submit started."""

    cores: Callable[[], int]
    """How many tasks a job is to run at once."""
    run: Run
    """`run(function, tasks, slices)`: the answers of a function ('module:name') to the tasks, in their order, from as many Spark tasks."""
    wait: Wait
    """Waits for this many seconds. False, at once: the job's submitter is gone."""
    keep: Callable[[Any], None]
    """Takes what counts as the job's answer if it ends now, without one."""
    is_shared: bool = False
    """Whether other jobs use its cores too, as those of a Spark that stays."""


class Function(Protocol[W, A]):
    """What a job does: a function of a module, `(spark, flow, work)`. By its annotations work and answer pass through files."""

    def __call__(self, spark: Spark, flow: Flow, work: W, /) -> A:
        """Does the work on the workers of the Spark."""


@dataclass(frozen=True)
class Job:
    """What a submitter tells its driver. No secret is in it: the driver loads the configuration itself."""

    function: str
    """'module:name'."""
    flow: str
    config: str
    """The hash of the submitter's configuration."""
    submitter: int
    """The submitter's process. The job ends with it."""
    work: Any


OpenSpark = Callable[[str, Sequence[str], Wait], AbstractContextManager[tuple[Callable[[], int], Run]]]
"""Starts Spark for a flow, with workers that import these modules, and gives how many cores it has and what runs tasks there. It is
cancelled as soon as the wait says that the job's submitter is gone."""


def tasks_at_once(flow: Flow, cores: Callable[[], int]) -> Callable[[], int]:
    """How many tasks the flow's jobs run at once: as many as it says, else as Spark has `cores` by then. Spark that allocates executors
    for tasks that wait has none, or two, when a job begins."""
    wanted: int = flow.value("mirror.spark.tasks")
    return (lambda: wanted) if wanted else cores


def name_of(function: Function[Any, Any]) -> str:
    """'module:name' of a job's function."""
    return f"{function.__module__}:{cast('Any', function).__name__}"


def find_function(name: str) -> Any:
    """The function whose `name_of` this is."""
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(module), function)


def work_type(function: Function[T, Any]) -> type[T]:
    """What a job's function takes as its work, by its annotation."""
    return cast("type[T]", get_type_hints(function)["work"])


def answer_type(function: Function[Any, T]) -> type[T]:
    """What a job's function gives, by its annotation."""
    return cast("type[T]", get_type_hints(function)["return"])


def run_job(work_file: str, result_file: str, open_spark: OpenSpark) -> int:
    """Runs a whole job, whose answer it writes into the result file. Returns the exit code: 0, or 1 after an error of ours.

    That is handed back as a value: the exit code alone could not say whether to retry. The mirror's lines go to standard error, which is
    the job's log.
    """
    result = Path(result_file)
    log_to_standard_error(wanted_level())
    try:
        with kill_if_hung("the driver of a Spark job", "The next try or run goes on; the ledger says how far the copy is."):
            write_answer(result, _run(Path(work_file), result, open_spark))
    except MirrorError as error:
        write_failure(result, error)
        log.error("%s", error)  # noqa: TRY400 — it is one of ours, and says where it came from
        return 1
    return 0


def _run(work_file: Path, result: Path, open_spark: OpenSpark) -> Any:
    job = from_document(Job, json.loads(work_file.read_text(encoding="utf-8")))
    flow = load().flow(job.flow)
    if job.config != flow.config_hash:
        raise PlanMismatch(job.config, flow.config_hash)
    function = find_function(job.function)
    work = from_document(work_type(function), job.work)
    wait = wait_while_alive(job.submitter)
    with open_spark(flow.name, (function.__module__,), wait) as (cores, run):
        spark = Spark(tasks_at_once(flow, cores), run, wait, lambda interim: write_answer(result, to_document(interim)))
        answer = function(spark, flow, work)
    return to_document(answer)


def require_prepared_workers(answers: Sequence[Any], say: SayLines = write_lines) -> Sequence[Any]:
    """The workers' answers, without the lines of their logs, which `say` takes. Raises WorkerUnprepared if one of them says that its worker
    lacks a module."""
    said = [answer for answer in answers if isinstance(answer, dict)]
    say(answer["log"] for answer in said if "log" in answer)
    for answer in said:
        if "log" not in answer:
            raise WorkerUnprepared(**answer)
    return [answer for answer in answers if not isinstance(answer, dict)]


def wait_while_alive(submitter: int) -> Callable[[float], bool]:
    """A wait for this many seconds that ends at once, as False, when the process that submitted the job is gone, or Spark's own."""
    spark = os.getppid()

    def wait(seconds: float) -> bool:
        """Returns when the seconds are over, as True, or one of the two processes is gone, as False."""
        deadline = time.monotonic() + seconds
        while os.getppid() == spark and _is_alive(submitter):
            seconds_left = deadline - time.monotonic()
            if seconds_left <= 0:
                return True
            time.sleep(min(seconds_left, _LOOK_SECONDS))
        return False

    return wait


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # it runs, as another user
    return True
