"""The copy on a Spark cluster: workers in processes of their own, which have nothing but what is sent to them."""

import sys
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mirror.copy.spark_start import installed_spark
from services.flows import ClusterPair
from services.oracle import Oracle, Record, Side

CLUSTER = '{"conn_type": "spark", "host": "local-cluster[1,1,512]"}'
SETTINGS = """\
spark.executor.memory 512m
spark.ui.enabled false
spark.executorEnv.PYTHONPATH /nothing/here
"""


@pytest.fixture
def on_a_cluster(
    pair: ClusterPair, mm2_properties: Callable[..., Path], oracle: Oracle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> str:
    """A topic with one record and a Spark connection to a cluster whose workers inherit no path of ours; gives the topic's name."""
    topic = pair.topic("orders")
    oracle.create_topic(pair.source_bootstrap, topic)
    oracle.produce_records(pair.source_bootstrap, topic, [Record(value=b"one")])
    (tmp_path / "spark.properties").write_text(SETTINGS)
    extra = {
        "source->target.mirror.spark.connection": "spark_cluster",
        "source->target.mirror.spark.properties.file": str(tmp_path / "spark.properties"),
    }
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_CLUSTER", CLUSTER)
    # Spark makes the workers' directory in its home, and the home of the environment is to stay as it is.
    (tmp_path / "spark").mkdir()
    for part in installed_spark().iterdir():
        (tmp_path / "spark" / part.name).symlink_to(part)
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))
    monkeypatch.setenv("MIRROR_CONFIG", str(mm2_properties(extra=extra)))
    return topic


def test_our_code_reaches_the_workers(
    on_a_cluster: str, pair: ClusterPair, run_dag: Callable[..., Any], oracle: Oracle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    assert run_dag(f"{pair.source}-to-{pair.target}.copy").state == "success"
    oracle.assert_mirrored(Side(pair.source_bootstrap, on_a_cluster), Side(pair.target_bootstrap, pair.remote(on_a_cluster)))


def test_a_worker_without_the_kafka_client_is_named(
    on_a_cluster: str,
    pair: ClusterPair,
    run_dag: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    venv.create(tmp_path / "bare", symlinks=True)
    monkeypatch.setenv("PYSPARK_PYTHON", str(tmp_path / "bare" / "bin" / "python"))
    assert run_dag(f"{pair.source}-to-{pair.target}.copy", retries=1).state == "failed"
    assert f"cannot import 'confluent_kafka' with {tmp_path}/bare/bin/python" in "".join(capfd.readouterr())
