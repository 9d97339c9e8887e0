"""A Spark that stays: `spark serve`, and copies, audits and group steps on it, as processes between real brokers."""

import base64
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from services.flows import ClusterPair
from services.kafka import KafkaCluster
from services.oracle import Oracle, Side
from services.ports import LOOPBACK
from services.spark_connect import TOKEN, SparkConnectServer, client_environment
from tests.integration.access import JAAS, acl
from tests.integration.consumers import set_offsets
from tests.waiting import eventually

PASSWORD = "tr0ub4dor-and-3-more"
RECORDS = 3_000
# It leaves a task on the server that nobody waits for: its function is the library's of Python, which every worker has.
LEFT_BEHIND = """
import sys
from mirror.config import load
from mirror.spark.connect import flow_session
with flow_session(load([sys.argv[1]]).flow(sys.argv[2]), "audit", "its DAG", sys.argv[3]) as session:
    print(session.run("subprocess:check_output", sys.argv[4:], 1) if sys.argv[4:] else "began", flush=True)
"""


def encodings(secret: str) -> set[str]:
    """The secret as it is, in hexadecimal digits, and what of it is the same in any text in base64, at each of three places in that."""
    plain = secret.encode()
    coded = [base64.b64encode(b" " * place + plain)[-(-8 * place // 6) : 8 * (place + len(plain)) // 6] for place in range(3)]
    return {secret, plain.hex(), *(text.decode() for text in coded)}


@pytest.fixture(scope="module")
def spark(services_directory: Path) -> Iterator[SparkConnectServer]:
    """The server of all tests here."""
    server = SparkConnectServer(services_directory / "spark-connect")
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture
def start_copy(pair: ClusterPair, oracle: Oracle, spark: SparkConnectServer, tmp_path: Path) -> Callable[..., "subprocess.Popen[str]"]:
    """Starts `copy --json` on the server; of a topic of four partitions, in small transactions."""
    lanes = {"source->target.mirror.lanes": "4", "source->target.mirror.transaction.max.bytes": "20000"}
    config = pair.properties(extra=lanes)
    oracle.create_topic(pair.source_bootstrap, pair.topic("orders"), 4)
    oracle.produce(pair.source_bootstrap, pair.topic("orders"), RECORDS, seed=1)

    def start() -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "mirror", "--config", str(config), "copy", "--json", "--master", spark.master]
        return subprocess.Popen(
            command, env=client_environment(), stdout=subprocess.PIPE, stderr=(tmp_path / "copy.log").open("ab"), text=True
        )

    return start


def flow_answer(copy: "subprocess.Popen[str]") -> dict:
    output, _ = copy.communicate(timeout=400)
    (flow,) = json.loads(output)["flows"]
    return flow


def assert_mirrored(pair: ClusterPair, oracle: Oracle) -> int:
    topic = pair.topic("orders")
    return oracle.assert_mirrored(Side(pair.source_bootstrap, topic), Side(pair.target_bootstrap, pair.remote(topic))).records


def test_copy_audit_and_group_step_run_with_the_servers_token_alone_and_leave_no_password_in_log_or_event(
    make_cluster: Callable[..., KafkaCluster],
    west: KafkaCluster,
    make_pair: Callable[..., ClusterPair],
    oracle: Oracle,
    spark: SparkConnectServer,
    tmp_path: Path,
) -> None:
    source = make_cluster("east", users={"mirror": PASSWORD})
    oracle.create_acls(source.bootstrap, [acl("mirror", "*", "ALL", kind=kind) for kind in ("TOPIC", "GROUP")])
    oracle.create_acls(source.bootstrap, [acl("mirror", "kafka-cluster", "ALL", kind="CLUSTER")])
    pair = make_pair(source, west)
    (tmp_path / "secrets.properties").write_text(f"password={PASSWORD}\n")
    flow = {
        "source.bootstrap.servers": source.secure_bootstrap,
        "source.security.protocol": "SASL_PLAINTEXT",
        "source.sasl.mechanism": "PLAIN",
        "source.sasl.jaas.config": JAAS.format(f"${{file:{tmp_path}/secrets.properties:password}}"),
        "groups": f".*-{pair.mark}",
        "source->target.mirror.lanes": "4",
        "source->target.mirror.audit.spark.threshold": "0",
        "source->target.mirror.checkpoints.spark.threshold": "0",
        "source->target.mirror.spark.connection": "mirror_spark",
    }
    config, topic, log = pair.properties(extra=flow), pair.topic("orders"), tmp_path / "mirror.log"
    oracle.create_topic(source.bootstrap, topic, 4)
    oracle.produce(source.bootstrap, topic, RECORDS, seed=3)
    set_offsets(source.bootstrap, f"shop-{pair.mark}", {(topic, 0): 5})
    # Two commands name the server, and the third finds it by the flow's connection, as its DAGs do.
    connection = f"spark-connect://mirror:{TOKEN}@{LOOPBACK}:{spark.port}"

    def run(*command: str) -> dict:
        started = [sys.executable, "-m", "mirror", "--config", str(config), *command, "--json"]
        with log.open("ab") as output:
            variables = client_environment("", AIRFLOW_CONN_MIRROR_SPARK=connection)
            return flow_answer(subprocess.Popen(started, env=variables, stdout=subprocess.PIPE, stderr=output, text=True))

    def result_of(*command: str) -> dict:
        answer = run(*command)
        assert (answer["state"], answer["errors"]) == ("done", []), answer
        return answer["result"]

    (refused, *_) = run("copy", "--master", f"{spark.master}/;token=another-token")["errors"]
    assert (refused["code"], refused["retriable"]) == ("SparkServerRefused", False), refused
    named = ("--master", f"{spark.master}/;token={TOKEN}")
    assert result_of("copy", *named)["records"] == assert_mirrored(pair, oracle) == RECORDS
    audited = result_of("audit", *named)
    assert (audited["total_state"], audited["total_source_records"]) == ("equal", RECORDS)
    assert result_of("checkpoints")["written"] == 1
    said, events = log.read_text(), spark.events()
    assert all(text in said for text in (" begins: ", " offsets of ", "checkpoints of 1 groups in ")), said
    assert all(f"mirror {step} {pair.flow} into " in events for step in ("audit", "checkpoints"))
    for place, text in {"our log": said, "Spark's log": spark.log(), "Spark's events": events}.items():
        assert not [secret for secret in encodings(PASSWORD) | {TOKEN} if secret in text], place


def test_what_a_killed_task_left_on_the_server_is_interrupted_by_the_next_run(pair: ClusterPair, spark: SparkConnectServer) -> None:
    program = [sys.executable, "-c", LEFT_BEHIND, str(pair.properties()), pair.flow, spark.master]
    killed = subprocess.Popen([*program, "sleep", "30"], env=client_environment())
    try:
        eventually(lambda: f"mirror audit {pair.flow} into " in spark.events(), "the task")
    finally:
        killed.kill()
        killed.wait()
    begun = [subprocess.run(program, env=client_environment(), capture_output=True, text=True, check=True) for _ in range(2)]
    assert ["was interrupted" in each.stderr for each in begun] == [True, False], begun
    assert begun[0].stdout == "began\n"


def test_server_that_is_killed_in_the_middle_is_one_error_and_the_next_run_is_exact(
    start_copy: Callable[..., "subprocess.Popen[str]"], pair: ClusterPair, oracle: Oracle, spark: SparkConnectServer
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
