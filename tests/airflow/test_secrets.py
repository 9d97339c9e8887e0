"""Where a secret must not stand: XCom and all else of Airflow's database, the log, command lines, the job's files."""

import json
import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from services.flows import ClusterPair
from services.kafka import KafkaCluster
from services.oracle import Oracle, Record, Side
from tests.airflow.task_log import TaskLog

SECRET = "tr0ub4dor-and-3-more"
OTHER_SECRET = "c0rrect-horse-4-more"


class Watch:
    """Looks at every command line while the job runs, and at its files: again and again, and right before their directory goes."""

    def __init__(self, temporary: Path) -> None:
        self._temporary = temporary
        self._over = threading.Event()
        self.jobs_seen = 0
        self.files_seen: set[str] = set()
        self.leaks: set[str] = set()

    @contextmanager
    def looking(self) -> Iterator[None]:
        cleanup = tempfile.TemporaryDirectory.cleanup

        def look_and_clean_up(directory: tempfile.TemporaryDirectory[str]) -> None:
            self._files()
            cleanup(directory)

        thread = threading.Thread(target=self._look)
        thread.start()
        try:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(tempfile.TemporaryDirectory, "cleanup", look_and_clean_up)
                yield
        finally:
            self._over.set()
            thread.join()

    def _look(self) -> None:
        while not self._over.wait(0.02):
            for command in Path("/proc").glob("[0-9]*/cmdline"):
                self._command(_content(command))
            self._files()

    def _files(self) -> None:
        # Not by rglob, which fails where a directory goes while it is listed.
        paths = (Path(directory, name) for directory, _, names in os.walk(self._temporary) for name in names if name.endswith(".json"))
        for path in paths:
            self.files_seen.add(path.name)
            if _leaks(_content(path)):
                self.leaks.add(str(path))

    def _command(self, line: bytes) -> None:
        self.jobs_seen += b"spark_job.py" in line
        if _leaks(line):
            self.leaks.add(line.decode(errors="replace"))


def _leaks(content: bytes) -> bool:
    return any(secret.encode() in content for secret in (SECRET, OTHER_SECRET))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""  # it is gone


@pytest.fixture
def connection(airflow_home: Path) -> Iterator[str]:
    """A connection in Airflow's own database, as an operator makes it in the UI."""
    from airflow.models.connection import Connection
    from airflow.utils.session import create_session

    with create_session() as session:
        session.add(Connection(conn_id="kafka_east", conn_type="kafka", login="reader", password=OTHER_SECRET))
    yield "kafka_east"
    with create_session() as session:
        session.query(Connection).filter(Connection.conn_id == "kafka_east").delete()


def by_references(source: KafkaCluster, connection: str, tmp_path: Path) -> dict[str, str]:
    """The source's settings in the file, with passwords out of a file and of single fields of the connection."""
    (tmp_path / "secrets.properties").write_text(f"password={SECRET}\n")
    login = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    return {
        "source.bootstrap.servers": source.secure_bootstrap,
        "source.security.protocol": "SASL_PLAINTEXT",
        "source.sasl.mechanism": "PLAIN",
        "source.consumer.sasl.jaas.config": f'{login} username="${{conn:{connection}:login}}" password="${{conn:{connection}:password}}";',
        "source.sasl.jaas.config": f'{login} username="mirror" password="${{file:{tmp_path}/secrets.properties:password}}";',
    }


def by_the_whole_connection(source: KafkaCluster, connection: str, tmp_path: Path) -> dict[str, str]:
    """The source's settings in the connection's extra, by librdkafka's names."""
    from airflow.models.connection import Connection
    from airflow.utils.session import create_session

    extra = {
        "bootstrap.servers": source.secure_bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "reader",
        "sasl.password": OTHER_SECRET,
        "group.id": "of-somebody",
    }
    with create_session() as session:
        session.query(Connection).filter(Connection.conn_id == connection).one().set_extra(json.dumps(extra))
    return {"source.connection": connection}


@pytest.mark.parametrize("settings", [by_references, by_the_whole_connection], ids=["references", "a connection for the cluster"])
def test_passwords_of_a_file_and_of_an_airflow_connection_stand_nowhere_while_the_dag_uses_them(
    make_cluster: Callable[..., KafkaCluster],
    west: KafkaCluster,
    make_pair: Callable[..., ClusterPair],
    oracle: Oracle,
    run_dag: Callable[..., Any],
    airflow_home: Path,
    connection: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    task_log: TaskLog,
    capfd: pytest.CaptureFixture[str],
    settings: Callable[[KafkaCluster, str, Path], dict[str, str]],
) -> None:
    source = make_cluster("east", users={"mirror": SECRET, "reader": OTHER_SECRET})
    oracle.create_acls(
        source.bootstrap,
        [
            {"principal": f"User:{user}", "type": kind, "name": name, "operation": "ALL"}
            for user in ("mirror", "reader")
            for kind, name in (("TOPIC", "*"), ("GROUP", "*"), ("CLUSTER", "kafka-cluster"))
        ],
    )
    pair = make_pair(source, west)
    topic = pair.topic("orders")
    oracle.create_topic(source.bootstrap, topic)
    oracle.produce_records(source.bootstrap, topic, [Record(value=b"one")])
    monkeypatch.setenv("MIRROR_CONFIG", str(pair.properties(extra=settings(source, connection, tmp_path))))
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    watch = Watch(temporary)

    with watch.looking():
        run = run_dag(f"{pair.source}-to-{pair.target}.copy")

    assert run.state == "success"
    oracle.assert_mirrored(Side(source.bootstrap, topic), Side(west.bootstrap, pair.remote(topic)))
    assert watch.jobs_seen
    assert {"work.json", "result.json"} <= watch.files_seen
    assert not watch.leaks
    said = task_log.take()
    assert f"{pair.flow}: " in said, "the lines of the job are in it"
    assert not _leaks((said + "".join(capfd.readouterr())).encode())
    # By another process: to open and close them here would end SQLite's locks.
    database = subprocess.run(["cat", *airflow_home.glob("airflow.db*")], check=True, capture_output=True).stdout
    assert topic.encode() in database, "the XComs are in this file"
    assert not _leaks(database)
    assert not list(temporary.rglob("mirror-copy-*"))
