"""A Spark Connect server whose executors are a standalone cluster of two workers, whose Python has no mirror and lacks other things."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafka_mirror.spark.files import INCLUDE
from services.consumers import set_offsets
from services.flows import ClusterPair
from services.oracle import Oracle, Side
from services.python_environment import linked_environment
from services.spark import SparkCluster
from services.spark_connect import SparkServer

RECORDS = 2_000
ANOTHER_PYTHON = """\
import collections, sys
sys.version_info = collections.namedtuple("version_info", "major minor micro releaselevel serial")(3, 9, 1, "final", 0)
"""


class Workers:
    """The Python of the cluster's workers, which a test chooses. A session has workers of its own, so each test has an installation."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._chosen = directory / "chosen"
        self.python = directory / "python"
        directory.mkdir()
        self.python.write_text(f'#!/bin/sh\nexec "$(/bin/cat {self._chosen})" "$@"\n')
        self.python.chmod(0o755)

    def have(self, name: str, lacks: tuple[str, ...] = ()) -> Path:
        """From now on the workers of a new session have all packages but these and the mirror. Gives the place of the packages."""
        packages = linked_environment(self._directory / name, lacks)
        self._chosen.write_text(str(self._directory / name / "bin" / "python"))
        return packages


@pytest.fixture(scope="module")
def workers(services_directory: Path) -> Workers:
    return Workers(services_directory / "spark-connect-workers")


@pytest.fixture(scope="module")
def spark(services_directory: Path, workers: Workers) -> Iterator[SparkServer]:
    """The server of all tests here."""
    cluster = SparkCluster(services_directory / "spark-connect-cluster")
    server = SparkServer(services_directory / "spark-connect-on-cluster")
    try:
        cluster.start()
        server.start_on(cluster, workers.python)
        yield server
    finally:
        server.stop()
        cluster.stop()


@pytest.fixture
def run(pair: ClusterPair, spark: SparkServer, oracle: Oracle, tmp_path: Path) -> Callable[..., dict]:
    """A command with --json on the server, and its answer for the flow; of a topic of four partitions."""
    oracle.create_topic(pair.source_bootstrap, pair.topic("orders"), 4)
    oracle.produce(pair.source_bootstrap, pair.topic("orders"), RECORDS, seed=1)

    def run(*command: str) -> dict:
        flow = {
            "groups": f".*-{pair.mark}",
            "mirror.installation": f"on-{pair.mark}",
            "source->target.mirror.lanes": "4",
        }
        started = [sys.executable, "-m", "kafka_mirror", "--config", str(pair.properties(extra=flow)), *command, "--json"]
        with log_of(tmp_path).open("ab") as log:
            done = subprocess.run(
                [*started, "--master", spark.master], env=spark.environment(), stdout=subprocess.PIPE, stderr=log, text=True, timeout=400
            )
        assert done.stdout, log_of(tmp_path).read_text()
        (answer,) = json.loads(done.stdout)["flows"]
        return answer

    return run


def log_of(directory: Path) -> Path:
    return directory / "mirror.log"


def assert_mirrored(pair: ClusterPair, oracle: Oracle) -> None:
    topic = pair.topic("orders")
    compared = oracle.assert_mirrored(Side(pair.source_bootstrap, topic), Side(pair.target_bootstrap, pair.remote(topic)))
    assert compared.records == RECORDS


def test_copy_audit_and_group_step_run_on_workers_that_are_sent_the_package(
    run: Callable[..., dict], pair: ClusterPair, spark: SparkServer, workers: Workers, oracle: Oracle, tmp_path: Path
) -> None:
    workers.have("without-mirror")
    assert subprocess.run([workers.python, "-c", "import mirror"], env={}, stderr=subprocess.DEVNULL).returncode == 1
    set_offsets(pair.source_bootstrap, f"shop-{pair.mark}", {(pair.topic("orders"), 0): 5})
    results = []
    for command in (("copy",), ("audit",), ("checkpoints",)):
        answer = run(*command)
        assert (answer["state"], answer["errors"]) == ("done", []), answer
        results.append(answer["result"])
    copied, audited, checkpoints = results
    assert copied["records"] == RECORDS
    assert (audited["total_state"], audited["total_source_records"]) == ("equal", RECORDS)
    assert checkpoints["written"] == 1
    assert_mirrored(pair, oracle)
    said = log_of(tmp_path).read_text()
    assert all(text in said for text in (" begins: ", " offsets of ", "checkpoints of 1 groups in ")), said
    executors = re.findall(r'"Event":"SparkListenerTaskEnd".*?"Executor ID":"(\w+)"', spark.events())
    assert set(executors) == {"0", "1"}, "both workers ran tasks"


def test_another_version_of_the_package_on_the_workers_gives_way_to_the_one_that_is_sent(
    run: Callable[..., dict], pair: ClusterPair, workers: Workers, oracle: Oracle
) -> None:
    installed = workers.have("another-mirror") / "kafka_mirror"
    shutil.copytree(INCLUDE / "kafka_mirror", installed, ignore=shutil.ignore_patterns("__pycache__"))
    (installed / "copy" / "run.py").write_text("raise RuntimeError('the code of another version')\n")
    answer = run("copy")
    assert (answer["state"], answer["errors"], answer["result"]["records"]) == ("done", [], RECORDS), answer
    assert_mirrored(pair, oracle)


@pytest.mark.parametrize(
    "module", ["pyarrow", *(pytest.param(name, marks=pytest.mark.release) for name in ("confluent_kafka", "kafka", "google_crc32c"))]
)
def test_a_package_that_workers_lack_is_named_with_their_host(run: Callable[..., dict], workers: Workers, module: str) -> None:
    packages = workers.have(f"without-{module}", (module,))
    error, *others = run("copy")["errors"]
    assert (error["code"], error["retriable"]) == ("WorkerUnprepared", False), error
    python = packages.parents[2] / "bin" / "python"
    assert f"on {os.uname().nodename} cannot import '{module}' with {python}: No module named '{module}'" in error["message"]
    assert all(other["code"] == "WorkerUnprepared" for other in others), others


def test_another_python_on_the_workers_is_named_with_the_hosts_that_run_tasks(run: Callable[..., dict], workers: Workers) -> None:
    (workers.have("another-python") / "sitecustomize.py").write_text(ANOTHER_PYTHON)
    [error] = run("copy")["errors"]
    assert (error["code"], error["retriable"]) == ("SparkServerRefused", False), error
    ours = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert f"has workers with Python 3.9 (it runs tasks on {os.uname().nodename}), and this is Python {ours}." in error["message"]
