"""Spark Connect servers for tests: they keep the events of what ran, can be hurt, and may run their tasks on a standalone cluster."""

from contextlib import suppress
from functools import partial
from pathlib import Path

import psutil

from kafka_mirror.spark.start import installed_spark
from services.ports import LOOPBACK, is_listening
from services.spark import SparkCluster, SparkConnectServer, clean_environment, command_of, descendants

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


class SparkServer(SparkConnectServer):
    """`spark serve` with two cores; with `start_on`, Spark's own server on a cluster."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._events = directory / "events"
        self._events.mkdir(parents=True)
        options = {"enabled": "true", "dir": self._events.as_uri(), "compress": "false", "rolling.enabled": "false"}
        self._logging = {"SPARK_SUBMIT_OPTS": " ".join(f"-Dspark.eventLog.{name}={value}" for name, value in options.items())}
        super().__init__(directory, TOKEN, environment=self._logging)

    def start_on(self, cluster: SparkCluster, python: Path) -> None:
        """Starts it on the cluster, with this Python on the workers. Returns when it listens."""
        home = installed_spark()
        properties = self._directory / "spark.properties"
        token = f"spark.connect.authenticate.token {TOKEN}\nspark.connect.grpc.binding.port {self.port}\n"
        properties.write_text(_ON_CLUSTER + token)
        variables = {
            **clean_environment(),
            "PYSPARK_PYTHON": str(python),
            "SPARK_LOCAL_IP": LOOPBACK,
            "SPARK_HOME": str(home),
            **self._logging,
        }
        arguments = ["--master", cluster.url, "--properties-file", str(properties), "--class", _SERVER, "spark-internal"]
        self._server.start([str(home / "bin" / "spark-submit"), *arguments], env=variables)
        self._server.wait(partial(is_listening, self.port), 180, "listen")

    def freeze(self) -> None:
        """SIGSTOP for the JVM and its Python workers: its host hangs."""
        for process in descendants(self._server):
            with suppress(psutil.NoSuchProcess):
                process.suspend()

    def thaw(self) -> None:
        """SIGCONT for all of them."""
        for process in descendants(self._server):
            with suppress(psutil.NoSuchProcess):
                process.resume()

    def kill_workers(self) -> int:
        """kill -9 of its Python workers alone, as the kernel does it when memory is short; how many processes that were."""
        hit = [process for process in descendants(self._server) if "pyspark.daemon" in " ".join(command_of(process))]
        for process in hit:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(hit, timeout=20)
        return len(hit)

    def events(self) -> str:
        """What Spark's page shows is made of: the properties, plans and results of all that ran."""
        return "".join(file.read_text(errors="replace") for file in self._events.iterdir())
