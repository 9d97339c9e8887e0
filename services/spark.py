"""Spark on this machine, from the pip package: a standalone cluster, a master and some workers with their executors below them, and the
mirror's own server that stays."""

import json
import os
import signal
import sys
import urllib.request
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from kafka_mirror.spark.files import INCLUDE
from kafka_mirror.spark.serve import TOKEN
from kafka_mirror.spark.start import installed_spark
from services.ports import LOOPBACK, free_ports, is_listening
from services.processes import Server

_MASTER, _WORKER = "org.apache.spark.deploy.master.Master", "org.apache.spark.deploy.worker.Worker"
_EXECUTOR = "CoarseGrainedExecutorBackend"


class SparkCluster:
    """Master and workers with a core each, on free ports of 127.0.0.1. Nothing of this project is on their paths."""

    def __init__(self, directory: Path, workers: int = 2, memory: str = "700m", environment: Mapping[str, str] | None = None) -> None:
        self._directory = directory
        self._memory = memory
        self._extra = dict(environment or {})
        self._port, self._page = free_ports(2)
        self._master = Server("spark-master", directory)
        self._workers = [Server(f"spark-worker-{number}", directory) for number in range(1, workers + 1)]

    @property
    def url(self) -> str:
        """What --master takes."""
        return f"spark://{LOOPBACK}:{self._port}"

    @property
    def host_and_port(self) -> tuple[str, int]:
        """Host and port, as an Airflow connection has them."""
        return f"spark://{LOOPBACK}", self._port

    def start(self) -> None:
        """Returns when all workers are registered."""
        self._start(self._master, _MASTER, "--host", LOOPBACK, "--port", str(self._port), "--webui-port", str(self._page))
        self._master.wait(lambda: self._status().get("status") == "ALIVE", 180)
        for worker, page in zip(self._workers, free_ports(len(self._workers)), strict=True):
            work = self._directory / f"{worker.name}-work"
            size = ("--cores", "1", "--memory", self._memory)
            self._start(worker, _WORKER, "--host", LOOPBACK, *size, "--webui-port", str(page), "--work-dir", str(work), self.url)
        for worker in self._workers:
            worker.wait(lambda: self._status().get("aliveworkers") == len(self._workers), 180, "register all workers")

    def stop(self) -> None:
        """Stops the workers first, and with each what is left of its executors."""
        for server in (*self._workers, self._master):
            executors = descendants(server)
            server.stop(timeout=10.0)
            for process in executors:
                _kill(process)

    def applications(self) -> list[dict[str, Any]]:
        """What was submitted: `name`, `state`, `cores` ..., as the master's page has it."""
        page = self._read_page()
        return [*page["activeapps"], *page["completedapps"]]

    def executors(self) -> list[psutil.Process]:
        """The executors' JVMs that run now."""
        return [process for worker in self._workers for process in descendants(worker) if _EXECUTOR in " ".join(command_of(process))]

    def kill_executor(self) -> int:
        """kill -9 of one executor with its Python workers, as a host that dies; gives how many processes that were."""
        executor = self.executors()[0]
        tree = [executor, *executor.children(recursive=True)]
        for process in tree:
            _kill(process)
        psutil.wait_procs(tree, timeout=20)
        return len(tree)

    def log_tail(self, lines: int = 30) -> str:
        """The last lines that each of them logged."""
        return "\n".join(server.log_tail(lines) for server in (self._master, *self._workers))

    def _start(self, server: Server, main: str, *arguments: str) -> None:
        home = installed_spark()
        local = self._directory / f"{server.name}-local"
        local.mkdir(parents=True, exist_ok=True)
        variables = {
            **clean_environment(),
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": LOOPBACK,
            "SPARK_LOCAL_DIRS": str(local),
            "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",  # it would take port 6066
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
            **self._extra,
        }
        server.start([str(home / "bin" / "spark-class"), main, *arguments], env=variables, cwd=self._directory)

    def _status(self) -> dict[str, Any]:
        """What the page says; nothing while it does not answer, or answers something else, as its server does before the page is there."""
        try:
            return self._read_page()
        except (OSError, json.JSONDecodeError):
            return {}

    def _read_page(self) -> dict[str, Any]:
        with urllib.request.urlopen(f"http://{LOOPBACK}:{self._page}/json/", timeout=30) as page:
            document: dict[str, Any] = json.load(page)
            return document


class SparkConnectServer:
    """`spark serve` in a process, on a free port of 127.0.0.1."""

    def __init__(self, directory: Path, token: str, *, cores: int = 2, environment: Mapping[str, str] | None = None) -> None:
        (self.port,) = free_ports(1)
        self.token = token
        self._cores = cores
        self._extra = dict(environment or {})
        self._server = Server("spark-connect", directory)

    @property
    def master(self) -> str:
        """What --master takes; the token goes by `environment`."""
        return f"sc://{LOOPBACK}:{self.port}"

    @property
    def connection(self) -> str:
        """The Airflow connection, as AIRFLOW_CONN_<NAME> takes it."""
        return f"spark-connect://mirror:{self.token}@{LOOPBACK}:{self.port}"

    @property
    def pid(self) -> int | None:
        """The process of the command; the JVM and its Python workers are below it."""
        return self._server.pid

    def environment(self, **variables: str) -> dict[str, str]:
        """The environment of a command that uses the server."""
        path = os.pathsep.join(filter(None, (str(INCLUDE), os.environ.get("PYTHONPATH", ""))))
        return {**os.environ, "PYTHONPATH": path, TOKEN: self.token, **variables}

    def start(self) -> None:
        """Returns when it listens."""
        command = [sys.executable, "-m", "kafka_mirror", "spark", "serve", "--port", str(self.port), "--cores", str(self._cores)]
        self._server.start(command, env=self.environment(**self._extra))
        self._server.wait(partial(is_listening, self.port), 180, "listen")

    def stop(self) -> None:
        """Ends it in order."""
        self._server.stop(timeout=20.0)

    def kill(self) -> None:
        """kill -9 of the JVM and its Python workers."""
        for process in descendants(self._server):
            _kill(process)
        self.stop()

    def log(self) -> str:
        """All that it logged."""
        return self._server.log.read_text(errors="replace")


def descendants(server: Server) -> list[psutil.Process]:
    """All processes that a server's process started; none if it does not run."""
    return psutil.Process(server.pid).children(recursive=True) if server.pid is not None else []


def clean_environment() -> dict[str, str]:
    """The environment of this process without what would change a Python's or Spark's paths."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYSPARK", "SPARK", "MIRROR"))}


def command_of(process: psutil.Process) -> list[str]:
    """Its command line; nothing of one that has ended."""
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []


def _kill(process: psutil.Process) -> None:
    try:
        process.send_signal(signal.SIGKILL)
    except psutil.NoSuchProcess:
        return
