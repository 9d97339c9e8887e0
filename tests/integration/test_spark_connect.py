"""A Spark that stays: `spark serve`, and copies, audits and group steps on it, as processes between real brokers."""

import base64
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from kafka_mirror.__main__ import main
from kafka_mirror.copy.plan.run import plan
from kafka_mirror.copy.run import follow_with_spark
from kafka_mirror.copy.run_result import publish_and_judge
from kafka_mirror.spark.run import SparkRunner
from kafka_mirror.spark.serve import TOKEN as TOKEN_VARIABLE
from services.certificates import Authority
from services.consumers import set_offsets
from services.flow_in_process import Mirroring
from services.flows import ClusterPair
from services.kafka import KafkaCluster
from services.oracle import Oracle, Side
from services.ports import LOOPBACK
from services.spark_connect import TOKEN, SparkServer
from services.tls import TlsProxy
from services.waiting import PATIENCE, eventually
from tests.integration.access import JAAS, acl
from tests.spark_stranger import ask_all, listening, refusals

PASSWORD = "tr0ub4dor-and-3-more"
RECORDS = 3_000
RUN = "a run that follows"
# It leaves a task on the server that nobody waits for: its function is the library's of Python, which every worker has.
LEFT_BEHIND = """
import sys
from kafka_mirror.config import load
from kafka_mirror.spark.connect import flow_session
with flow_session(load([sys.argv[1]]).flow(sys.argv[2]), "audit", "its DAG", sys.argv[3]) as session:
    print(session.run("subprocess:check_output", sys.argv[4:], 1) if sys.argv[4:] else "began", flush=True)
"""


def encodings(secret: str) -> set[str]:
    """The secret as it is, in hexadecimal digits, and what of it is the same in any text in base64, at each of three places in that."""
    plain = secret.encode()
    coded = [base64.b64encode(b" " * place + plain)[-(-8 * place // 6) : 8 * (place + len(plain)) // 6] for place in range(3)]
    return {secret, plain.hex(), *(text.decode() for text in coded)}


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
def start_copy(pair: ClusterPair, oracle: Oracle, spark: SparkServer, tmp_path: Path) -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Starts `copy --json` on the server; of a topic of four partitions, in small transactions."""
    flow = {
        "source->target.mirror.lanes": "4",
        "source->target.mirror.transaction.max.bytes": "20000",
        "source->target.mirror.spark.connection": "mirror_spark",
    }
    config = pair.properties(extra=flow)
    oracle.create_topic(pair.source_bootstrap, pair.topic("orders"), 4)
    oracle.produce(pair.source_bootstrap, pair.topic("orders"), RECORDS, seed=1)

    def start(master: str | None = spark.master, token: str = TOKEN, **variables: str) -> "subprocess.Popen[str]":
        """Without a master the flow's connection says where the server is."""
        named = ("--master", master) if master else ()
        command = [sys.executable, "-m", "kafka_mirror", "--config", str(config), "copy", "--json", *named]
        return subprocess.Popen(
            command,
            env=spark.environment(**{TOKEN_VARIABLE: token, **variables}),
            stdout=subprocess.PIPE,
            stderr=(tmp_path / "copy.log").open("ab"),
            text=True,
        )

    yield start
    print((tmp_path / "copy.log").read_text()[-20_000:])  # shown where the test failed: what a watchdog said, with the stacks


def flow_answer(copy: "subprocess.Popen[str]") -> dict:
    output, _ = copy.communicate(timeout=400)
    assert output, f"it ended with {copy.returncode} and no answer"
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
    spark: SparkServer,
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
        started = [sys.executable, "-m", "kafka_mirror", "--config", str(config), *command, "--json"]
        with log.open("ab") as output:
            variables = spark.environment(**{TOKEN_VARIABLE: ""}, AIRFLOW_CONN_MIRROR_SPARK=connection)
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


def test_what_a_killed_task_left_on_the_server_is_interrupted_by_the_next_run(pair: ClusterPair, spark: SparkServer) -> None:
    program = [sys.executable, "-c", LEFT_BEHIND, str(pair.properties()), pair.flow, spark.master]
    killed = subprocess.Popen([*program, "sleep", "30"], env=spark.environment())
    try:
        eventually(lambda: f"mirror audit {pair.flow} into " in spark.events(), "the task")
    finally:
        killed.kill()
        killed.wait()
    begun = [subprocess.run(program, env=spark.environment(), capture_output=True, text=True, check=True) for _ in range(2)]
    assert ["was interrupted" in each.stderr for each in begun] == [True, False], begun
    assert begun[0].stdout == "began\n"


def test_no_port_of_the_server_answers_a_client_without_a_secret(spark: SparkServer) -> None:
    """One is Connect's, which asks for the token; two are Spark's own, the driver's and that of its blocks."""
    assert spark.pid is not None
    server = psutil.Process(spark.pid)
    ports = listening([server, *server.children(recursive=True)])
    assert spark.port in ports
    assert refusals(ask_all(port for port in ports if port != spark.port)) == 2


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


def test_a_run_follows_in_one_session_and_a_pause_in_its_middle_holds_until_it_is_lifted(
    make_mirroring: Callable[..., Mirroring],
    pair: ClusterPair,
    oracle: Oracle,
    topic: str,
    spark: SparkServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mirroring = make_mirroring(pair, {"source->target.mirror.follow.seconds": "1"})
    monkeypatch.setenv("MIRROR_CONFIG", mirroring.flow.file)
    other, end = pair.topic("clicks"), threading.Event()
    oracle.create_topic(pair.source_bootstrap, other, 1)

    def decide(word: str) -> None:
        assert main(["--config", mirroring.flow.file, "decide", word, "--flow", pair.flow, "--topic", topic, "--reason", "a test"]) == 0

    def arrived(records: int) -> None:
        def there() -> bool:
            assert not run.done(), run.result()
            return sum(record.records for record in mirroring.ledger().values()) >= records

        eventually(there, f"{records} records")

    class Runner(SparkRunner):
        """It ends what waits, and interrupts nothing."""

        def wait(self, seconds: float) -> bool:
            return not end.wait(seconds)

    with ThreadPoolExecutor(1) as threads:
        runner = Runner(f"{spark.master}/;token={TOKEN}")
        run = threads.submit(follow_with_spark, runner, mirroring.flow, plan(mirroring.flow, follow_for=600.0), RUN, time.monotonic() + 600)
        try:
            arrived(60)
            for number in range(1, 4):
                oracle.produce(pair.source_bootstrap, other, 10, seed=number)
                arrived(60 + 10 * number)
            decide("pause")
            oracle.produce(pair.source_bootstrap, topic, 5, seed=2)
            oracle.produce(pair.source_bootstrap, other, 5, seed=4)
            arrived(95)
            decide("resume")
            arrived(100)
        finally:
            end.set()
            decide("pause")  # it ends the lanes, and the run makes no further plan
        result = run.result(PATIENCE)
    assert result.plans == 3
    judged = publish_and_judge(mirroring.flow, result, RUN)
    assert (judged.state, judged.errors, judged.owed, judged.records) == ("done", (), 0, 100)
    mirroring.assert_mirrored(topic)
    mirroring.assert_mirrored(other)


def test_a_server_behind_tls_is_used_by_the_connections_extra_and_one_without_a_certificate_to_trust_is_refused(
    start_copy: Callable[..., "subprocess.Popen[str]"], pair: ClusterPair, oracle: Oracle, spark: SparkServer, tmp_path: Path
) -> None:
    authority = Authority(tmp_path / "authority")
    root = authority.trust_store("PEM")["ssl.truststore.location"]
    of_this_host, of_another = authority.issue("spark"), authority.issue("another", ("spark.example.org",))
    with TlsProxy(spark.port, of_this_host, tmp_path) as server, TlsProxy(spark.port, of_another, tmp_path) as other:
        trusting = {"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": root}
        refusals = {
            "CERTIFICATE_VERIFY_FAILED": start_copy(f"sc://{LOOPBACK}:{server.port}/;use_ssl=true"),
            "Hostname Verification Check failed": start_copy(f"sc://{LOOPBACK}:{other.port}/;use_ssl=true", **trusting),
            "WRONG_VERSION_NUMBER": start_copy(f"{spark.master}/;use_ssl=true", **trusting),
        }
        for reason, copy in refusals.items():
            (error, *_) = flow_answer(copy)["errors"]
            assert (error["code"], error["retriable"]) == ("SparkServerRefused", False), error
            assert f"cannot be reached by TLS: {reason}" in error["message"], error
        connection = {"conn_type": "spark_connect", "host": LOOPBACK, "port": server.port, "password": TOKEN, "extra": {"use_ssl": True}}
        flow = flow_answer(start_copy(None, token="", AIRFLOW_CONN_MIRROR_SPARK=json.dumps(connection), **trusting))
    assert (flow["state"], flow["errors"]) == ("done", []), flow
    assert assert_mirrored(pair, oracle) == RECORDS
