"""The copy on a Spark that stays: `spark serve` and `copy --master sc://…` as processes, between real brokers."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from mirror.spark.package import INCLUDE
from services.flows import ClusterPair
from services.oracle import Oracle, Side
from services.ports import LOOPBACK, free_ports
from services.processes import Server
from tests.waiting import eventually

TOKEN = "a-token-of-the-tests"
RECORDS = 3_000


class SparkServer:
    """`spark serve` with two cores, on a port of its own, in a process."""

    def __init__(self, directory: Path) -> None:
        (self.port,) = free_ports(1)
        self._server = Server("spark-connect", directory)

    @property
    def master(self) -> str:
        return f"sc://{LOOPBACK}:{self.port}"

    def start(self) -> None:
        command = [sys.executable, "-m", "mirror", "spark", "serve", "--port", str(self.port), "--cores", "2"]
        self._server.start(command, env=environment(TOKEN))
        self._server.wait(self._listens, 180, "listen")

    def kill(self) -> None:
        """kill -9 of the JVM and its Python workers."""
        assert self._server.pid is not None
        for process in psutil.Process(self._server.pid).children(recursive=True):
            process.kill()
        self._server.stop(timeout=20.0)

    def stop(self) -> None:
        self._server.stop(timeout=20.0)

    def log(self) -> str:
        return self._server.log.read_text(errors="replace")

    def _listens(self) -> bool:
        try:
            socket.create_connection((LOOPBACK, self.port), 1.0).close()
        except OSError:
            return False
        return True


def environment(token: str) -> dict[str, str]:
    path = os.pathsep.join(filter(None, (str(INCLUDE), os.environ.get("PYTHONPATH", ""))))
    return {**os.environ, "PYTHONPATH": path, "SPARK_CONNECT_AUTHENTICATE_TOKEN": token}


@pytest.fixture(scope="module")
def spark(services_directory: Path) -> Iterator[SparkServer]:
    """The server of all tests here."""
    server = SparkServer(services_directory / "spark-connect")
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture
def start_copy(pair: ClusterPair, oracle: Oracle, spark: SparkServer, tmp_path: Path) -> Callable[..., "subprocess.Popen[str]"]:
    """Starts `copy --json` on the server; of a topic of four partitions, in small transactions."""
    lanes = {"source->target.mirror.lanes": "4", "source->target.mirror.transaction.max.bytes": "20000"}
    config = pair.properties(extra=lanes)
    oracle.create_topic(pair.source_bootstrap, pair.topic("orders"), 4)
    oracle.produce(pair.source_bootstrap, pair.topic("orders"), RECORDS, seed=1)

    def start(token: str = TOKEN) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "mirror", "--config", str(config), "copy", "--json", "--master", spark.master]
        return subprocess.Popen(
            command, env=environment(token), stdout=subprocess.PIPE, stderr=(tmp_path / "copy.log").open("ab"), text=True
        )

    return start


def flow_answer(copy: "subprocess.Popen[str]") -> dict:
    output, _ = copy.communicate(timeout=400)
    (flow,) = json.loads(output)["flows"]
    return flow


def assert_mirrored(pair: ClusterPair, oracle: Oracle) -> int:
    topic = pair.topic("orders")
    return oracle.assert_mirrored(Side(pair.source_bootstrap, topic), Side(pair.target_bootstrap, pair.remote(topic))).records


def test_copy_runs_on_the_server_with_its_token_alone(
    start_copy: Callable[..., "subprocess.Popen[str]"], pair: ClusterPair, oracle: Oracle, spark: SparkServer
) -> None:
    refused = flow_answer(start_copy("another-token"))
    assert [error["code"] for error in refused["errors"]][:1] == ["SparkServerRefused"], refused
    flow = flow_answer(start_copy())
    assert (flow["state"], flow["errors"]) == ("done", []), flow
    assert flow["result"]["records"] == assert_mirrored(pair, oracle) == RECORDS
    assert TOKEN not in spark.log()


def test_server_that_is_killed_in_the_middle_is_one_error_and_the_next_run_is_exact(
    start_copy: Callable[..., "subprocess.Popen[str]"], pair: ClusterPair, oracle: Oracle, spark: SparkServer
) -> None:
    oracle.produce(pair.source_bootstrap, pair.topic("orders"), 20 * RECORDS, seed=2)
    seen = spark.log().count(" begins: ")
    copy = start_copy()
    eventually(lambda: spark.log().count(" begins: ") > seen, "a lane")
    spark.kill()
    killed = flow_answer(copy)
    assert killed["errors"][0]["code"] == "SparkServerUnavailable", killed
    assert killed["errors"][0]["retriable"]
    spark.start()
    flow = flow_answer(start_copy())
    assert (flow["state"], flow["errors"]) == ("done", []), flow
    assert assert_mirrored(pair, oracle) == 21 * RECORDS
