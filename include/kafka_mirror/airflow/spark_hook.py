"""Runs jobs on the Spark of the configured Airflow connection, or on a local master without one.

Checked on the Spark provider 6.3.4, of whose SparkSubmitHook it uses `_connection`, `_resolve_connection` and `_process_spark_submit_log`.
"""

import os
from collections.abc import Iterable, Iterator
from typing import Any

from airflow.providers.apache.spark.hooks.spark_connect import SparkConnectHook
from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.sdk import Connection
from airflow.sdk.exceptions import AirflowException, AirflowNotFoundException

from kafka_mirror.airflow.tasks import SPARK_UI, leave
from kafka_mirror.config import Flow
from kafka_mirror.config.flow import hand_over_connections
from kafka_mirror.errors import ConfigurationError, Problem
from kafka_mirror.spark.files import JobFiles, package
from kafka_mirror.spark.log import UI, level_for_job, log_lines, relay_log
from kafka_mirror.spark.run import SparkRunner
from kafka_mirror.spark.start import JOB, LOCAL_MASTER, SETTINGS, environment, is_local, program, properties_file, spark_master, tuned_spark


class JobHook(SparkSubmitHook):
    """SparkSubmitHook for a configured connection; '' is a local master.

    The provider's own hook submits to YARN if the connection does not exist; this one raises ConfigurationError. `environment` is the
    environment of spark-submit's process with any master, and never on a command line, where the provider puts env_vars on YARN and
    Kubernetes. `inherited` are file descriptors that the process keeps open.
    """

    def __init__(self, conn_id: str, environment: dict[str, str] | None = None, inherited: tuple[int, ...] = (), **options: Any) -> None:
        super().__init__(conn_id=conn_id, deploy_mode="client", **options)
        self._environment = environment
        self._inherited = inherited
        self._has_page = False

    @property
    def master(self) -> str:
        """The master's URL."""
        return str(self._connection["master"])

    @classmethod
    def get_connection(cls, conn_id: str) -> Any:
        """The Airflow connection. Raises ConfigurationError if there is none of this name."""
        if not conn_id:
            return Connection(conn_id="", conn_type="spark", host=LOCAL_MASTER)
        try:
            return super().get_connection(conn_id)
        except AirflowNotFoundException:
            problem = Problem("mirror.spark.connection", "Airflow has no connection of this name", conn_id)
            raise ConfigurationError([problem]) from None

    def _resolve_connection(self) -> dict[str, Any]:
        """The provider's answer, with the master as a run by hand finds it. Raises ConfigurationError if there is none."""
        connection = self.get_connection(self._conn_id)
        resolved: dict[str, Any] = super()._resolve_connection()
        if self._conn_id:
            kind, host, port = connection.conn_type or "", connection.host or "", str(connection.port or "")
            resolved["master"] = spark_master(self._conn_id, kind, host, port)
        return resolved

    def submit(self, application: str = "", **options: Any) -> str | None:
        """Runs the job and waits for it. Raises AirflowException, with the end of its output, if it ends badly."""
        try:
            return super().submit(application, env=self._environment, pass_fds=self._inherited, **options)
        finally:
            if self._has_page:
                leave(SPARK_UI, "")

    def _process_spark_submit_log(self, itr: Iterator[Any]) -> None:
        """Takes the job's output, in order: the mirror's lines are logged at their own levels, all others by the provider's hook."""
        super()._process_spark_submit_log(relay_log(self._with_link(itr)))

    def _with_link(self, lines: Iterable[str]) -> Iterator[str]:
        """The lines; the address of Spark's page is left for the task's link."""
        for line in lines:
            before, mark, address = line.partition(UI)
            if mark and before.endswith(": "):
                self._has_page = True
                leave(SPARK_UI, address.strip())
            yield line


class TaskRunner(SparkRunner):
    """Runs jobs in a task: on the Spark of the flow's connection, by the provider's hook, and with its lines in the task's log."""

    def __init__(self, flow: Flow) -> None:
        """Raises ConfigurationError."""
        super().__init__(connect_master(flow), log_lines)

    def submit(self, name: str, files: JobFiles, flow: Flow) -> str:
        """Runs the job to its end. Returns the end of its output if it failed, else ''.

        The job's result file says more than its exit code; without a result file this text is all that there is.
        """
        hook = job_hook(name, files, flow)
        self.set_end(hook.on_kill)
        try:
            hook.submit(str(JOB))
        except AirflowException as error:
            return str(error)
        return ""


def connect_master(flow: Flow) -> str:
    """The URL of the Spark Connect server, token included, if the flow's connection is of type spark_connect; else ''. Raises
    ConfigurationError."""
    connection = flow.value("mirror.spark.connection")
    if not connection or JobHook.get_connection(connection).conn_type != SparkConnectHook.conn_type:
        return ""
    try:
        return str(SparkConnectHook(connection).get_connection_url())
    except (ValueError, AttributeError):
        # No host, or one with a path.
        problem = Problem(
            "mirror.spark.connection", "the connection of type spark_connect must have a host, and nothing after it", connection
        )
        raise ConfigurationError([problem]) from None


def job_hook(name: str, files: JobFiles, flow: Flow) -> JobHook:
    """The hook that submits a job for a flow, on the Spark cluster that the flow names. Raises ConfigurationError."""
    connection, properties = flow.value("mirror.spark.connection"), flow.value("mirror.spark.properties.file")
    connected = JobHook(connection)
    local = is_local(connected.master)
    tuned = None if properties else tuned_spark()
    return JobHook(
        connection,
        environment={
            **os.environ,
            **level_for_job(),
            **environment(connected.master, flow.files, tuned, files.directory),
            **hand_over_connections(flow),
        },
        inherited=(files.lock,),
        name=name,
        conf=SETTINGS,
        application_args=[str(files.work), str(files.result)],
        properties_file=properties_file(connected.master, properties, tuned),
        py_files=None if local else str(package(files.directory)),
        spark_binary=program(connected.master, str(connected.spark_binary), tuned),
    )
