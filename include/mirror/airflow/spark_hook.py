"""The Spark connection of a job: local without any connection, and never another one than the configured."""

from typing import Any

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.sdk import Connection
from airflow.sdk.exceptions import AirflowNotFoundException

from mirror.copy.spark_start import LOCAL_MASTER
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
