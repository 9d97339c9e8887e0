"""Spark Connect servers on this machine: `kafka-mirror spark serve`, and Spark's own on a standalone cluster."""

import os
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psutil

from mirror.spark.package import INCLUDE
from mirror.spark.start import installed_spark
from services.ports import LOOPBACK, free_ports
from services.processes import Server
from services.spark import SparkCluster, command_of

TOKEN = "a-token-of-the-tests"  # noqa: S105 — of a server that lives as long as a test
_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
_ON_CLUSTER = """\
spark.ui.enabled false
spark.log.level WARN
spark.driver.bindAddress 127.0.0.1
spark.driver.host 127.0.0.1
spark.driver.memory 512m
spark.executor.memory 512m
spark.driver.extraJavaOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
spark.executor.extraJavaOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
spark.connect.grpc.binding.address 127.0.0.1
"""


class SparkConnectServer:
    """A server on a port of 127.0.0.1 that is its own, with the token of the tests, and a file of Spark's events."""

    def __init__(self, directory: Path, name: str = "spark-connect") -> None:
        (self.port,) = free_ports(1)
        self._server = Server(name, directory)
        self._events = directory / f"{name}-events"
        self._events.mkdir(parents=True)

    @property
    def master(self) -> str:
        """What --master takes; the token is not in it."""
        return f"sc://{LOOPBACK}:{self.port}"

    def start(self) -> None:
        """`kafka-mirror spark serve` with two cores, unless it runs. Returns when it listens."""
        command = [sys.executable, "-m", "mirror", "spark", "serve", "--port", str(self.port), "--cores", "2"]
        self._start(command, client_environment())

    def start_on(self, cluster: SparkCluster, python: Path) -> None:
        """Spark's own server, whose tasks run on the cluster, with this Python on its workers."""
        home = installed_spark()
        properties = self._server.log.parent / f"{self._server.name}.properties"
        token = f"spark.connect.authenticate.token {TOKEN}\nspark.connect.grpc.binding.port {self.port}\n"
        properties.write_text(_ON_CLUSTER + token)
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYSPARK", "SPARK", "MIRROR"))}
        variables = {**inherited, "PYSPARK_PYTHON": str(python), "SPARK_LOCAL_IP": LOOPBACK, "SPARK_HOME": str(home)}
        arguments = ["--master", cluster.url, "--properties-file", str(properties), "--class", _SERVER, "spark-internal"]
        self._start([str(home / "bin" / "spark-submit"), *arguments], variables)

    def kill(self) -> None:
        """kill -9 of the JVM and all below it, its Python workers too."""
        for process in self._below():
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self._server.stop(timeout=20.0)

    def freeze(self) -> None:
        """SIGSTOP for the JVM and its Python workers: its host hangs."""
        for process in self._below():
            with suppress(psutil.NoSuchProcess):
                process.suspend()

    def thaw(self) -> None:
        """SIGCONT for all of them."""
        for process in self._below():
            with suppress(psutil.NoSuchProcess):
                process.resume()

    def kill_workers(self) -> int:
        """kill -9 of its Python workers alone, as the kernel does it when memory is short; how many processes that were."""
        hit = [process for process in self._below() if "pyspark.daemon" in " ".join(command_of(process))]
        for process in hit:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(hit, timeout=20)
        return len(hit)

    def stop(self) -> None:
        """Ends it politely."""
        self._server.stop(timeout=20.0)

    def log(self) -> str:
        """All that it and its local workers said."""
        return self._server.log.read_text(errors="replace")

    def events(self) -> str:
        """What Spark's page shows is made of: the properties, plans and results of all that ran."""
        return "".join(file.read_text(errors="replace") for file in self._events.iterdir())

    def _start(self, command: list[str], variables: Mapping[str, str]) -> None:
        options = {"enabled": "true", "dir": self._events.as_uri(), "compress": "false", "rolling.enabled": "false"}
        events = " ".join(f"-Dspark.eventLog.{name}={value}" for name, value in options.items())
        self._server.start(command, env={**variables, "SPARK_SUBMIT_OPTS": events})
        self._server.wait(self._listens, 180, "listen")

    def _below(self) -> list[psutil.Process]:
        return psutil.Process(self._server.pid).children(recursive=True) if self._server.pid is not None else []

    def _listens(self) -> bool:
        try:
            socket.create_connection((LOOPBACK, self.port), 1.0).close()
        except OSError:
            return False
        return True


def client_environment(token: str = TOKEN, **variables: str) -> dict[str, str]:
    """The environment of `python -m mirror` as a process that has the token, and of `spark serve`."""
    path = os.pathsep.join(filter(None, (str(INCLUDE), os.environ.get("PYTHONPATH", ""))))
    return {**os.environ, "PYTHONPATH": path, "SPARK_CONNECT_AUTHENTICATE_TOKEN": token, **variables}
