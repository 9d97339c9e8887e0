"""Runs a job on Spark: its function in this process, with a session of a Spark that stays, or in the driver of a job of spark-submit.

    runner.run(compare, flow, AuditWork(stretches), "audit")
        sc://…  ──► a session is opened, and compare(spark, flow, work) runs here
        else    ──► work.json ── jobs/spark_job.py: compare(spark, flow, work) ── result.json ──► the answer

A function is the same on both ways, for the command line as for a task of Airflow. What passes through the files is made a document by its
annotations. Imports no Spark: `connect` and jobs/spark_job.py do.
"""

import importlib
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast, get_type_hints

from kafka_mirror.config import Flow, load
from kafka_mirror.config.support import require_one_pyspark
from kafka_mirror.errors import MirrorError, PlanMismatch
from kafka_mirror.formats.documents import from_document, to_document
from kafka_mirror.spark.connect_url import is_connect
from kafka_mirror.spark.files import JobFiles, job_directory, read_answer, write_answer, write_failure
from kafka_mirror.spark.log import SayLines, log_to_standard_error, wanted_level, write_lines
from kafka_mirror.spark.start import master_by_hand, submit
from kafka_mirror.watchdog.watch import kill_if_hung

W = TypeVar("W", contravariant=True)
A = TypeVar("A", covariant=True)
T = TypeVar("T")
Run = Callable[[str, Sequence[Any], int], list[Any]]
Wait = Callable[[float], bool]

_LOOK_SECONDS = 0.25

log = logging.getLogger(__name__)


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


class SparkRunner:
    """Runs jobs on a Spark, one at a time. `say` takes what the workers of a Spark that stays logged."""

    def __init__(self, master: str, say: SayLines = write_lines) -> None:
        self.interim_answer: Any = None
        """What a job that was interrupted would have answered until then, if it said so."""
        self._master = master
        self._say = say
        self._ended = threading.Event()
        self._end_job: Callable[[], Any] = lambda: None

    def run(self, function: Function[W, A], flow: Flow, work: W, step: str, by: str = "") -> A:
        """The function's answer. `step` names the job, and `by` who runs it: what the same one's earlier job still does on a Spark that
        stays is interrupted.

        Raises what the function raises, what `open_server_session` raises, and JobFailed when a job of spark-submit ends without an answer.
        """
        require_one_pyspark()
        if is_connect(self._master):
            return self._run_in_session(function, flow, work, step, by)
        return self._run_by_submit(function, flow, work, step)

    def wait(self, seconds: float) -> bool:
        """Waits for this many seconds. False, at once: `end` was called."""
        return not self._ended.wait(seconds)

    def end(self) -> None:
        """Ends what runs and what waits; safe in a signal handler."""
        self._ended.set()
        self._end_job()

    def submit(self, name: str, files: JobFiles, flow: Flow) -> str:
        """Runs a job of spark-submit to its end, and says how it ended."""
        return submit(name, files, flow, self._master)

    def set_end(self, end: Callable[[], Any]) -> None:
        """Takes what ends the job that runs now."""
        self._end_job = end

    def _run_in_session(self, function: Function[W, A], flow: Flow, work: W, step: str, by: str) -> A:
        from kafka_mirror.spark.connect import flow_session

        with flow_session(flow, step, by, self._master, self._say) as session:
            self.set_end(session.interrupt)
            cores = tasks_at_once(flow, lambda: session.cores)
            return function(Spark(cores, session.run, self.wait, self._keep, is_shared=True), flow, work)

    def _run_by_submit(self, function: Function[W, A], flow: Flow, work: W, step: str) -> A:
        job = Job(name_of(function), flow.name, flow.config_hash, os.getpid(), to_document(work))
        with job_directory(to_document(job)) as files:
            try:
                ended = self.submit(f"mirror {step} {flow.name}", files, flow)
            except KeyboardInterrupt:
                with suppress(MirrorError):
                    self._keep(_read_answer(function, files))
                raise
            return _read_answer(function, files, ended)

    def _keep(self, answer: Any) -> None:
        self.interim_answer = answer


def runner_by_hand(flow: Flow, named: str | None = None) -> SparkRunner:
    """On the master that is named, else on that of the flow's connection, else on this host. Raises ConfigurationError."""
    return SparkRunner(master_by_hand(named, flow.value("mirror.spark.connection")))


def _read_answer(function: Function[Any, A], files: JobFiles, ended: str = "") -> A:
    return from_document(answer_type(function), read_answer(files.result, ended))


def run_job(work_file: str, result_file: str, open_spark: OpenSpark) -> int:
    """Runs a whole job, whose answer it writes into the result file. Returns the exit code: 0, or 1 after an error of ours.

    That is handed back as a value: the exit code alone could not say whether to retry. The mirror's lines go to standard error, which is
    the job's log.
    """
    result = Path(result_file)
    log_to_standard_error(wanted_level())
    try:
        with kill_if_hung("the driver of a Spark job", "The next try or run goes on; the ledger says how far the copy is."):
            job = from_document(Job, json.loads(Path(work_file).read_text(encoding="utf-8")))
            flow = load().flow(job.flow)
            if job.config != flow.config_hash:
                raise PlanMismatch(job.config, flow.config_hash)
            function, wait = find_function(job.function), wait_while_alive(job.submitter)
            with open_spark(flow.name, (function.__module__,), wait) as (cores, run):
                spark = Spark(tasks_at_once(flow, cores), run, wait, lambda interim: write_answer(result, to_document(interim)))
                answer = function(spark, flow, from_document(work_type(function), job.work))
            write_answer(result, to_document(answer))
    except MirrorError as error:
        write_failure(result, error)
        log.error("%s", error)  # noqa: TRY400 — it is one of ours, and says where it came from
        return 1
    return 0


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
