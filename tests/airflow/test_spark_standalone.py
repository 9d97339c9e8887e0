"""The copy on a standalone Spark cluster: a master and two workers in processes of their own, which have nothing but what is sent to them.

Through the DAG's operator with an Airflow connection, and by hand with the same connection or with --master; a worker without a module;
an executor that is killed.
"""

import json
import os
import subprocess
import sys
import time
import venv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_mirror.config import load
from kafka_mirror.formats.offsets.partition import lane_of
from kafka_mirror.ledger.clusters import clusters, ledger_of
from kafka_mirror.ledger.record import LedgerRecord
from kafka_mirror.spark.start import INCLUDE
from services.flows import ClusterPair
from services.oracle import Oracle, Side
from services.spark import SparkCluster
from services.waiting import PATIENCE
from tests.airflow.task_log import TaskLog
from tests.unit.test_handbook import marked_blocks

EXECUTORS = """\
spark.executor.memory 512m
spark.cores.max 2
spark.ui.enabled false
"""
RECORDS = 6_000


@pytest.fixture(scope="module")
def spark(services_directory: Path) -> Iterator[SparkCluster]:
    """The cluster of all tests here."""
    cluster = SparkCluster(services_directory / "spark")
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def config(pair: ClusterPair, spark: SparkCluster, oracle: Oracle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A flow whose connection leads to the cluster, with small transactions, and a topic with records in six partitions."""
    host, port = spark.host_and_port
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_CLUSTER", json.dumps({"conn_type": "spark", "host": host, "port": port}))
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    (tmp_path / "spark.properties").write_text(EXECUTORS)
    file = pair.properties(
        extra={
            "source->target.mirror.spark.connection": "spark_cluster",
            "source->target.mirror.spark.properties.file": str(tmp_path / "spark.properties"),
            "source->target.mirror.lanes": "4",
            "source->target.mirror.audit.spark.threshold": "0",
            "source->target.mirror.transaction.max.bytes": "20000",
        }
    )
    monkeypatch.setenv("MIRROR_CONFIG", str(file))
    oracle.create_topic(pair.source_bootstrap, pair.topic("orders"), 6)
    oracle.produce(pair.source_bootstrap, pair.topic("orders"), RECORDS, seed=1, transactions=100, abort_percent=20)
    return file


def compare(pair: ClusterPair, oracle: Oracle) -> int:
    """The witness finds both sides equal; gives the number of records."""
    topic = pair.topic("orders")
    return oracle.assert_mirrored(Side(pair.source_bootstrap, topic), Side(pair.target_bootstrap, pair.remote(topic))).records


def ledger(pair: ClusterPair, config: Path) -> list[LedgerRecord]:
    flow = load([config]).flow(pair.flow)
    with clusters(flow) as (_, target):
        return list(ledger_of(flow, target).read().records.values())


def by_hand(config: Path, log: Path, *arguments: str) -> "subprocess.Popen[str]":
    """`python -m kafka_mirror copy --json` as a process, its words in a file."""
    command = [sys.executable, "-m", "kafka_mirror", "--config", str(config), "copy", "--json", *arguments]
    return subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": str(INCLUDE)}, stdout=subprocess.PIPE, stderr=log.open("wb"), text=True
    )


def test_our_code_reaches_the_workers_from_the_dag(
    config: Path, pair: ClusterPair, spark: SparkCluster, oracle: Oracle, run_dag: Callable[..., Any], task_log: TaskLog
) -> None:
    run = run_dag(f"{pair.source}-to-{pair.target}.copy")
    assert run.state == "success"
    copied = compare(pair, oracle)
    reached = run.xcom["copy"]["watermarks"]
    assert (sum(reached["records"]), sorted(reached["partition"])) == (copied, [0, 1, 2, 3, 4, 5])
    [application] = [each for each in spark.applications() if each["name"] == f"mirror copy {pair.flow}"]
    assert application["state"] == "FINISHED"
    # The workers' standard errors are their executors', so they hand their lines to the driver.
    said = task_log.said_by("kafka_mirror.job.copy.lane")
    lanes = len({lane_of(pair.topic("orders"), number, 4) for number in range(6)})
    for words in (" begins: ", " has fenced earlier attempts ", " ended: "):
        assert len([line for line in said if words in line]) == lanes, said

    audited = run_dag(f"{pair.source}-to-{pair.target}.audit").xcom["audit"]
    assert (audited["total_state"], audited["total_target_records"]) == ("equal", copied)
    said = task_log.said_by("kafka_mirror.job.audit.parallel")
    assert said, "each task of the audit says what it read"
    assert all(line.startswith(f"{pair.flow}: ") for line in said), said


def test_an_executor_that_is_killed_costs_nothing_but_time(
    config: Path, pair: ClusterPair, spark: SparkCluster, oracle: Oracle, tmp_path: Path
) -> None:
    oracle.produce(pair.source_bootstrap, pair.topic("orders"), 10 * RECORDS, seed=2, transactions=100, abort_percent=20)
    copy = by_hand(config, tmp_path / "copy.log", "--master", spark.url)
    await_first_records(pair, config, lambda: copy.poll() is None, tmp_path / "copy.log")
    killed = spark.kill_executor()
    hit = copy.poll() is None
    output, _ = copy.communicate(timeout=400)

    assert hit, "the copy was over before the executor was killed"
    assert killed > 1, "the executor and its Python"
    (flow,) = json.loads(output)["flows"]
    assert (copy.returncode, flow["state"], flow["errors"]) == (0, "done", []), (tmp_path / "copy.log").read_text()[-3000:]
    copied = compare(pair, oracle)
    marks = flow["result"]["watermarks"]
    assert sorted(marks["partition"]) == list(range(6)), "each partition's result came once"
    assert sum(marks["records"]) <= copied
    assert sum(record.records for record in ledger(pair, config)) == copied


def await_first_records(pair: ClusterPair, config: Path, running: Callable[[], bool], log: Path) -> None:
    """Returns as soon as the ledger says that something was copied."""
    deadline = time.monotonic() + PATIENCE
    flow = load([config]).flow(pair.flow)
    with clusters(flow) as (_, target):
        found = ledger_of(flow, target)
        while not (found.exists() and any(record.records for record in found.read().records.values())):
            assert running() and time.monotonic() < deadline, log.read_text()[-3000:]


@pytest.mark.release
def test_workers_without_our_packages_take_them_from_the_handbooks_archive(
    config: Path, pair: ClusterPair, oracle: Oracle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [recipe] = marked_blocks("get-started/spark-cluster.md", "archive")
    subprocess.run(["bash", "-euo", "pipefail", "-c", recipe], cwd=tmp_path, check=True, capture_output=True)
    with (tmp_path / "spark.properties").open("a") as properties:
        properties.write(f"spark.archives {tmp_path}/workers.tar.gz#workers\nspark.pyspark.python ./workers/bin/python\n")
    (tmp_path / "workers").rename(tmp_path / "not where the workers look")
    monkeypatch.delenv("PYSPARK_PYTHON")
    copy = by_hand(config, tmp_path / "copy.log")
    output, _ = copy.communicate(timeout=400)
    assert copy.returncode == 0, (tmp_path / "copy.log").read_text()[-3000:]
    assert sum(json.loads(output)["flows"][0]["result"]["watermarks"]["records"]) == compare(pair, oracle)


@pytest.mark.release  # the same of a server that stays is in tests/integration/test_spark_connect_cluster.py
def test_a_worker_without_the_kafka_client_is_named_with_its_host(
    config: Path, pair: ClusterPair, spark: SparkCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    venv.create(tmp_path / "bare", symlinks=True)
    monkeypatch.setenv("PYSPARK_PYTHON", str(tmp_path / "bare" / "bin" / "python"))
    copy = by_hand(config, tmp_path / "copy.log")
    output, _ = copy.communicate(timeout=400)
    assert output, (tmp_path / "copy.log").read_text()[-3000:]
    (flow,) = json.loads(output)["flows"]
    assert copy.returncode == 1, (tmp_path / "copy.log").read_text()[-3000:]
    [error] = flow["errors"]
    assert error["code"] == "WorkerUnprepared"
    assert f"on {os.uname().nodename} cannot import 'confluent_kafka' with {tmp_path}/bare/bin/python" in error["message"]
