"""A copy whose executors are pods of Kubernetes, as far as that goes without one: what Spark asks for by the handbook's files."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_mirror.spark.start import INCLUDE
from services.flows import ClusterPair
from services.kubernetes import KubernetesApi, kubernetes_api
from services.oracle import Oracle
from services.waiting import PATIENCE, eventually

pytestmark = pytest.mark.release

GUIDE = Path(__file__).parents[2] / "docs" / "get-started" / "spark-on-kubernetes.md"
TASKS = 5


def guide_file(name: str) -> str:
    """A file of the guide."""
    [text] = re.findall(rf"^ *<!-- file: {re.escape(name)} -->\n( *)```\w+\n(.*?)^ *```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    indent, lines = text
    return "".join(line.removeprefix(indent) for line in lines.splitlines(keepends=True))


@pytest.fixture
def config(pair: ClusterPair, oracle: Oracle, mm2_properties: Callable[..., Path], tmp_path: Path) -> Path:
    """A flow with the guide's files, and with records for as many lanes as it has tasks."""
    (tmp_path / "executor.yaml").write_text(guide_file("executor.yaml"))
    (tmp_path / "spark.properties").write_text(guide_file("spark.properties").replace("/etc/mirror/", f"{tmp_path}/"))
    oracle.create_topic(pair.source_bootstrap, pair.topic("orders"), 16)
    oracle.produce(pair.source_bootstrap, pair.topic("orders"), 500)
    return mm2_properties(
        extra={
            "source->target.mirror.spark.properties.file": str(tmp_path / "spark.properties"),
            "source->target.mirror.spark.tasks": str(TASKS),
        }
    )


@pytest.fixture
def api() -> Iterator[KubernetesApi]:
    with kubernetes_api() as api:
        yield api


@pytest.fixture
def pods(config: Path, api: KubernetesApi, tmp_path: Path) -> Iterator[list[dict[str, Any]]]:
    """The pods that a copy asks for; it waits for them in vain, and is interrupted."""
    environment = {**os.environ, "PYTHONPATH": str(INCLUDE), "MIRROR_CONFIG": str(config), "SPARK_LOCAL_IP": "127.0.0.1"}
    environment.pop("PYSPARK_PYTHON", None)
    mirror = [sys.executable, "-m", "kafka_mirror"]
    subprocess.run([*mirror, "refresh-topics"], env=environment, check=True, capture_output=True)
    log = tmp_path / "copy.log"
    copy = subprocess.Popen([*mirror, "copy", "--master", api.master], env=environment, stdout=log.open("wb"), stderr=subprocess.STDOUT)
    try:
        eventually(lambda: copy.poll() is not None or len(api.pods()) >= TASKS, "the executors' pods")
        assert copy.poll() is None, log.read_text()[-3000:]
        yield api.pods()
    finally:
        copy.send_signal(signal.SIGINT)
        copy.wait(PATIENCE)


def test_executors_are_asked_for_by_the_handbooks_files_and_for_as_many_tasks_as_the_flow_says(
    pods: list[dict[str, Any]], api: KubernetesApi
) -> None:
    assert len(pods) == TASKS, "dynamic allocation asks for an executor for each task that waits"
    assert {path for path, _ in api.created} == {"/api/v1/namespaces/data/pods", "/api/v1/namespaces/data/configmaps"}
    pod = pods[0]["spec"]
    [container] = pod["containers"]
    assert container["image"] == "registry.example.org/spark-mirror:4.2.0"
    assert container["resources"]["limits"]["memory"] == "1280Mi"
    assert container["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    assert pod["nodeSelector"] == {"pool": "batch"}
    assert {"mountPath": "/run/kafka", "name": "cluster-secrets-volume"} in container["volumeMounts"]
    given = {each["name"]: each.get("value", "") for each in container["env"]}
    assert given["SPARK_DRIVER_URL"].startswith("spark://CoarseGrainedScheduler@")
    assert "-Dspark.network.crypto.enabled=true" in given.values()


def test_no_secret_of_a_cluster_and_no_path_of_the_driver_stands_in_a_pod(pods: list[dict[str, Any]], config: Path) -> None:
    said = json.dumps(pods)
    assert str(config) not in said
    assert sys.executable not in said
    assert "bootstrap" not in said
