"""The Spark connection of a job: local without any connection, and never another one than the configured."""

import os
from collections.abc import Iterator
from typing import Any

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.sdk import Connection
from airflow.sdk.exceptions import AirflowException, AirflowNotFoundException

from mirror.config import Flow
from mirror.config.connections import handed_over
from mirror.copy.job_files import JobFiles
from mirror.copy.job_log import level_for_job, relayed
from mirror.copy.spark_start import LOCAL_MASTER, environment, is_local, package, program, properties_file, tuned_spark
from mirror.copy.spark_submit import Job
from mirror.errors import ConfigurationError, Problem


class JobHook(SparkSubmitHook):
    """SparkSubmitHook for a configured connection; '' is a local master.

    The provider's own hook turns a connection that does not exist into a submission to YARN; this one raises ConfigurationError.
    `environment` is given to spark-submit's process with any master and never stands on a command line, as the provider's env_vars do on
    YARN and Kubernetes; `inherited` are file descriptors that it keeps open.
    """

    def __init__(self, conn_id: str, environment: dict[str, str] | None = None, inherited: tuple[int, ...] = (), **options: Any) -> None:
        super().__init__(conn_id=conn_id, deploy_mode="client", **options)
        self._environment = environment
        self._inherited = inherited

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

    def submit(self, application: str = "", **options: Any) -> str | None:
        """Runs the job and waits for it. Raises AirflowException, with the end of its output, if it ends badly."""
        return super().submit(application, env=self._environment, pass_fds=self._inherited, **options)

    def _process_spark_submit_log(self, itr: Iterator[Any]) -> None:
        """Takes the job's output, in order: the mirror's lines are logged at their own levels, all others by the provider's hook."""
        super()._process_spark_submit_log(relayed(itr))

    def run(self, job: Job) -> str:
        """Runs the job to its end, and gives the words with which it ended badly; '' if it did not. What its result file holds says
        more than the exit code: without a result, these words are all there is."""
        try:
            self.submit(str(job.program))
        except AirflowException as error:
            return str(error)
        return ""


def job_hook(flow: Flow, files: JobFiles, job: Job) -> JobHook:
    """The hook that submits a job for a flow, on the Spark cluster that the flow names. Raises ConfigurationError."""
    connection, properties = flow.value("mirror.spark.connection"), flow.value("mirror.spark.properties.file")
    found = JobHook(connection)
    local = is_local(found.master)
    tuned = None if properties else tuned_spark()
    return JobHook(
        connection,
        environment={**os.environ, **level_for_job(), **environment(found.master, "", tuned, files.directory), **handed_over(flow)},
        inherited=(files.lock,),
        name=job.name,
        application_args=list(job.arguments),
        properties_file=properties_file(found.master, properties, tuned),
        py_files=None if local else str(package(files.directory)),
        spark_binary=program(found.master, str(found.spark_binary), tuned),
    )
