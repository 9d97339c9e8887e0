"""The whole of docker-compose.yaml is started from the built image, mirrors, is well, and is stopped: `make compose-trial`.

All of it is in a network of its own, which cannot be reached from outside: the containers, brokers on an address that the containers
reach, and the tests.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from kafka_mirror import __version__
from services.airflow_api import AirflowApi
from services.flows import ClusterPair
from services.kafka import KafkaCluster
from services.oracle import Oracle
from services.ports import LOOPBACK, free_ports, is_free
from services.waiting import PATIENCE, eventually
from tests.airflow.scheduler.in_airflow import InAirflow
from tests.package.compose_stack import ComposeStack
from tests.session import running

pytestmark = pytest.mark.containers

KAFKA_HOST = "10.90.0.1"
"""An address of this network's own: on 127.0.0.1 a container reaches itself alone."""
URL = f"http://{LOOPBACK}:8080"
RECORDS = 40
CLASSES_OF_THE_ARCHIVE = """
export SPARK_HOME=$HOME/.local/share/mirror/spark/home JAVA_TOOL_OPTIONS=-Xlog:class+load:file=/tmp/loaded-%p
job=$(python -c 'from kafka_mirror.spark.start import JOBS; print(JOBS)')/training_job.py
$SPARK_HOME/bin/spark-submit --master 'local[1]' --properties-file $SPARK_HOME/../spark.properties $job
cat /tmp/loaded-* | grep -c 'file (top)'
"""
OF_AIRFLOW = ("api-server", "scheduler", "dag-processor", "triggerer", "retention")


def cluster(directory: Path, alias: str) -> tuple[KafkaCluster, str]:
    """A cluster that containers reach, and its address."""
    plain, controller = free_ports(2)
    address = f"{KAFKA_HOST}:{plain}"
    reached = {"listeners": f"PLAIN://:{plain},CONTROLLER://{LOOPBACK}:{controller}", "advertised.listeners": f"PLAIN://{address}"}
    return KafkaCluster(directory / alias, alias, properties=reached, ports=(plain, controller)), address


@pytest.fixture(scope="module")
def pair(services_directory: Path) -> Iterator[ClusterPair]:
    """Two clusters outside of the containers."""
    subprocess.run(["ip", "address", "add", f"{KAFKA_HOST}/32", "dev", "lo"], check=True)
    (east, from_east), (west, from_west) = (cluster(services_directory, alias) for alias in ("east", "west"))
    with running(east, west):
        yield ClusterPair("east", "west", from_east, from_west, "composed", services_directory)


@pytest.fixture(scope="module")
def stack(pair: ClusterPair, services_directory: Path) -> Iterator[ComposeStack]:
    """All services, each of them well."""
    directory = services_directory / "checkout"
    directory.mkdir()
    stack = ComposeStack(directory)
    stack.prepare(pair.properties(extra={"source->target.mirror.copy.interval.seconds": "10"}))
    try:
        stack.up()
        yield stack
    finally:
        stack.down()


@pytest.fixture(scope="module")
def flow(stack: ComposeStack, pair: ClusterPair, oracle: Oracle) -> Iterator[InAirflow]:
    """The flow as the Airflow in the containers knows it."""
    api = AirflowApi(URL, "admin", stack.password)
    yield InAirflow(pair, api, oracle)
    api.close()


def test_records_are_mirrored_by_the_schedule(flow: InAirflow) -> None:
    topic = flow.create_topic("orders")
    flow.produce(topic, RECORDS)
    flow.api.wait_for_dags([flow.dag])
    flow.api.unpause(flow.dag)
    eventually(lambda: flow.mirrored(topic) == RECORDS, "the records on the target", seconds=3 * PATIENCE)
    assert flow.assert_mirrored(topic) == RECORDS
    [run] = eventually(lambda: [each for each in flow.ended_runs().values() if each["state"] == "success"][:1], "a green run")
    assert run["run_type"] == "scheduled"
    assert flow.api.import_errors() == {}


def test_each_service_says_that_it_is_well(stack: ComposeStack) -> None:
    assert [name for name in stack.services if name != "init" and not stack.is_healthy(name)] == []
    assert stack.state("init")["State"]["ExitCode"] == 0


def test_command_line_and_page_show_the_flow(stack: ComposeStack, flow: InAirflow) -> None:
    assert "east->west" in stack.exec("scheduler", "kafka-mirror", "status")
    assert stack.exec("scheduler", "kafka-mirror", "--version") == f"airflow-kafka-mirror {__version__}\n"
    with httpx.Client(base_url=URL, timeout=120, trust_env=False) as client:
        login = client.post("/auth/token", json={"username": "admin", "password": stack.password}).raise_for_status().json()
        client.headers["Authorization"] = f"Bearer {login['access_token']}"
        assert "east" in client.get("/mirror/", follow_redirects=True).raise_for_status().text


@pytest.mark.parametrize("service", OF_AIRFLOW)
def test_a_container_may_do_what_a_user_may_and_no_more(stack: ComposeStack, service: str) -> None:
    status = dict(line.split(":\t") for line in stack.exec(service, "cat", "/proc/1/status").splitlines() if ":\t" in line)
    assert status["Uid"].split() == ["50000"] * 4
    assert {status[name] for name in ("CapPrm", "CapEff", "CapBnd")} == {"0" * 16}
    assert status["NoNewPrivs"] == "1"
    refused = stack.exec(service, "sh", "-c", "touch /opt/mirror/config/file 2>&1 || true")
    assert "Read-only file system" in refused


def test_no_container_knows_a_secret_by_its_environment(stack: ComposeStack) -> None:
    secrets = {file.read_text() for file in (stack.directory / ".secrets").iterdir() if file.is_file()}
    assert len(secrets) == 6
    for service in stack.services:
        assert not [each for each in stack.state(service)["Config"]["Env"] for secret in secrets if secret in each], service


def test_spark_starts_from_the_archive_of_classes_that_the_image_was_built_with(stack: ComposeStack) -> None:
    """It fits one Java and the very files that it was made from: a layer that changed either would lose it."""
    assert int(stack.exec("scheduler", "sh", "-c", CLASSES_OF_THE_ARCHIVE).split()[-1]) > 3000


def test_at_the_end_all_stop_within_their_time_and_nothing_is_left(stack: ComposeStack) -> None:
    stack.stop()
    # 137 is a kill after the time was over.
    assert {name for name in OF_AIRFLOW if stack.state(name)["State"]["ExitCode"] == 137} == set()
    stack.down()
    assert is_free(8080)
    for listed in (["podman", "ps", "--all", "--quiet"], ["podman", "volume", "ls", "--quiet"]):
        assert subprocess.run(listed, capture_output=True, text=True, check=True).stdout == ""
