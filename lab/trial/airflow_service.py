"""An Airflow of a site's own, which runs the site's cutover DAGs, and whose processes can be killed."""

import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import psycopg2

from lab.trial.site import TrialSite
from services.airflow import AirflowServices
from services.java import ROOT
from services.postgres import PostgresServer

_DAGS, _PRELOAD = (Path(__file__).with_name(name) for name in ("dags", "preload"))
_COMPONENTS = ("scheduler", "dag-processor", "api-server")
_SETTINGS = {
    # A process that was killed is known by its old heartbeat: here after seconds.
    "AIRFLOW__SCHEDULER__SCHEDULER_HEARTBEAT_SEC": "1",
    "AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD": "6",
    "AIRFLOW__SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "2",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "12",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "2",
    "PYTHONPATH": f"{_PRELOAD}:{ROOT / 'include'}",
}


_END_SESSIONS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE client_port = ANY(%s)"


class TrialAirflow:
    """The Airflow of one site."""

    def __init__(self, services: AirflowServices, database: str) -> None:
        self._services = services
        self._database = database.replace("+psycopg2", "")
        self._abandoned: list[int] = []
        self.api = services.api()

    def task(self, dag: str, run: str, task: str) -> psutil.Process | None:
        """The process of a task that runs; None if there is none any more. Its parent is a worker of the executor, and supervises it."""
        api = self._services.api()  # of this thread
        try:
            return process_of(next(instance for instance in api.tasks(dag, run) if instance["task_id"] == task))
        finally:
            api.close()

    def kill_scheduler(self, *, alone: bool) -> None:
        """SIGKILL: alone, so that its workers go on without it, or with its workers and their tasks, as when a machine fails."""
        pid = self._services.pid("scheduler")
        if not alone:
            self._services.kill("scheduler")
        elif pid is not None:
            os.kill(pid, signal.SIGKILL)
            self._abandoned.append(pid)

    def end_locks_of_the_dead(self) -> None:
        """Ends the database sessions of a scheduler that was killed alone. Its workers hold them open, and with them the locks of its
        transaction, so the next scheduler would pass over the run for ever. A person would end the workers; here their tasks are to go
        on."""
        ports = [port for group in self._abandoned for port in _ports_of(group)]
        if ports:
            with closing(psycopg2.connect(self._database)) as connection, connection, connection.cursor() as cursor:
                cursor.execute(_END_SESSIONS, (ports,))

    def start_scheduler(self) -> None:
        """Starts another one, and waits until Airflow calls it healthy."""
        self._services.start("scheduler")

    def remove_abandoned(self) -> None:
        """Ends the processes of schedulers that were killed alone."""
        for group in self._abandoned:
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)
        self._abandoned.clear()


def _ports_of(group: int) -> Iterator[int]:
    """Our ends of the connections to the database that the processes of a group hold: a scheduler's, which its workers have from it."""
    for process in psutil.process_iter():
        with suppress(psutil.Error, ProcessLookupError):
            if os.getpgid(process.pid) == group:
                yield from (connection.laddr.port for connection in process.net_connections("tcp") if connection.raddr)


def process_of(task: Mapping[str, Any]) -> psutil.Process | None:
    """The process of a task as Airflow's REST API shows it; None if there is none (any more)."""
    with suppress(psutil.NoSuchProcess):
        process = None if task["pid"] is None else psutil.Process(task["pid"])
        if process is not None and "LocalExecutor" in " ".join(process.parent().cmdline()):
            return process
    return None


def is_alive(process: psutil.Process | None) -> bool:
    """Whether this very process runs."""
    try:
        return process is not None and process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@contextmanager
def start_airflow(directory: Path, dags: Path, ids: Sequence[str], environment: Mapping[str, str]) -> Iterator[TrialAirflow]:
    """Airflow with PostgreSQL inside the block, and these DAGs of a folder unpaused."""
    database = PostgresServer(directory / "postgres")
    plugins = directory / "plugins"
    plugins.mkdir()
    try:
        database.start()
        services = AirflowServices(
            directory / "airflow",
            database.url,
            dags=dags,
            plugins=plugins,
            environment={**environment, **_SETTINGS},
            components=_COMPONENTS,
        )
        try:
            services.start()
            airflow = TrialAirflow(services, database.url)
            airflow.api.wait_for_dags(ids)
            for dag in ids:
                airflow.api.unpause(dag)
            yield airflow
            airflow.api.close()
        finally:
            services.stop()
    finally:
        database.remove()


@contextmanager
def start_trial_airflow(site: TrialSite) -> Iterator[TrialAirflow]:
    """An Airflow inside the block with the cutover DAGs of both of the site's flows."""
    dags = [cutover_dag(source, target) for source in site.clusters for target in site.clusters if source != target]
    with start_airflow(site.directory, _DAGS, dags, {"MIRROR_CONFIG": str(site.config)}) as airflow:
        yield airflow


def cutover_dag(source: str, target: str) -> str:
    """The id of a flow's DAG."""
    return f"{source}-to-{target}.cutover"
