"""Runs a job on Spark: its function in this process, with a session of a Spark that stays, or in the driver of a job of spark-submit.

    runner.run(compare, flow, AuditWork(stretches), "audit")
        sc://…  ──► a session is opened, and compare(spark, flow, work) runs here
        else    ──► work.json ── jobs/spark_job.py: compare(spark, flow, work) ── result.json ──► the answer

A function is the same on both ways, for the command line as for a task of Airflow. What passes through the files is made a document by its
annotations.
"""

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from kafka_mirror.config import Flow
from kafka_mirror.config.support import require_one_pyspark
from kafka_mirror.errors import MirrorError
from kafka_mirror.formats.documents import from_document, to_document
from kafka_mirror.spark.connect_url import is_connect
from kafka_mirror.spark.driver import Function, Job, Spark, answer_type, name_of, tasks_at_once
from kafka_mirror.spark.files import JobFiles, job_directory, read_answer
from kafka_mirror.spark.log import SayLines, write_lines
from kafka_mirror.spark.start import master_by_hand, submit

W = TypeVar("W")
A = TypeVar("A")


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

    def ends_by(self, end: Callable[[], Any]) -> None:
        """Takes what ends the job that runs now."""
        self._end_job = end

    def _run_in_session(self, function: Function[W, A], flow: Flow, work: W, step: str, by: str) -> A:
        from kafka_mirror.spark.connect import flow_session

        with flow_session(flow, step, by, self._master, self._say) as session:
            self.ends_by(session.interrupt)
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
