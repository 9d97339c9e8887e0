"""What `${conn:…}` leads to with a real Airflow, in its environment and in its database, and on a command line without one."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PASSWORD = "pa55word-of-the-connection"
EXTRA = {"bootstrap.servers": "a:1,b:2", "ssl.key.password": "k3y-pa55word", "tls": True, "nested": {"a": 1}}


@pytest.fixture
def connection(airflow_home: Path) -> Iterator[str]:
    from airflow.models.connection import Connection
    from airflow.utils.session import create_session

    fields = {"conn_type": "kafka", "host": "h", "port": 9092, "login": "mirror", "password": PASSWORD, "extra": json.dumps(EXTRA)}
    with create_session() as session:
        session.add(Connection(conn_id="mirror_test", **fields))
    yield "mirror_test"
    with create_session() as session:
        session.query(Connection).filter(Connection.conn_id == "mirror_test").delete()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("conn_type", "kafka"),
        ("host", "h"),
        ("port", "9092"),
        ("login", "mirror"),
        ("password", PASSWORD),
        ("extra.bootstrap.servers", "a:1,b:2"),
        ("extra__ssl.key.password", "k3y-pa55word"),
        ("extra.tls", "true"),
    ],
)
def test_every_field_of_a_connection_in_airflows_database_is_found(connection, field, value):
    from kafka_mirror.airflow.connections import lookup

    assert lookup(connection, field) == value


@pytest.mark.parametrize(
    ("name", "field", "reason"),
    [
        ("mirror_test", "schema", "Airflow's connection 'mirror_test' has no schema"),
        ("mirror_test", "extra.none", "has no extra.none"),
        ("mirror_test", "extra.nested", "is neither text nor number"),
        ("mirror_nowhere", "password", "Airflow gives no connection 'mirror_nowhere': there is none of this name"),
    ],
)
def test_what_a_connection_does_not_have_is_said(connection, name, field, reason):
    from kafka_mirror.airflow.connections import lookup

    with pytest.raises(ValueError, match=reason):
        lookup(name, field)


@pytest.mark.parametrize("extra", ["[1, 2]", "key=hidden", '"text"'])
def test_an_extra_that_is_no_object_is_said_without_its_text(extra):
    from kafka_mirror.airflow.connections import _extra

    with pytest.raises(ValueError, match=r"the extra of Airflow's connection 'odd' is no JSON object$"):
        _extra("odd", extra, "key")


def test_the_dag_files_are_parsed_without_asking_for_a_connection(configured, dags, monkeypatch):
    from kafka_mirror.config import references

    asked = []
    monkeypatch.setattr(references, "_lookup", [lambda *what: asked.append(what)])
    configured(
        "clusters = east, west",
        "east.bootstrap.servers = ${conn:kafka_east:host}",
        "west.bootstrap.servers = 127.0.0.1:1",
        "west.ssl.key.password = ${conn:kafka_west:password}",
        "east->west.enabled = true",
    )
    assert "east-to-west.copy" in dags()
    assert asked == []


@pytest.fixture
def command_line(tmp_path):
    """`python -m kafka_mirror config` where no Airflow is set up, but for the variables given."""
    (tmp_path / "mm2.properties").write_text(
        "clusters = east, west\neast.bootstrap.servers = ${conn:kafka_east:host}\nwest.bootstrap.servers = b:1\neast->west.enabled = true\n"
    )

    def run(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "MIRROR"))}
        environment |= {"HOME": str(tmp_path), **variables}
        arguments = [sys.executable, "-m", "kafka_mirror", "--config", str(tmp_path / "mm2.properties"), *words]
        return subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=180)

    return run


def test_a_command_line_without_airflow_says_what_to_set_and_makes_no_airflow(command_line, tmp_path):
    done = command_line("config")
    assert done.returncode == 2
    assert (
        "${conn:kafka_east:host} cannot be read: Airflow's connections are known where Airflow is; on the command line set AIRFLOW_HOME"
        in done.stderr
    )
    assert [path.name for path in tmp_path.iterdir()] == ["mm2.properties"]


@pytest.mark.parametrize("way", ["connections = on_call", "notifiers = pagers.Pager()"])
def test_an_alert_by_a_command_line_without_airflow_says_what_to_set_and_makes_no_airflow(command_line, tmp_path, way):
    file = tmp_path / "mm2.properties"
    file.write_text(file.read_text().replace("${conn:kafka_east:host}", "a:1") + f"mirror.alert.{way}\n")
    done = command_line("freshness", "--test-alert")
    assert (done.returncode, "Airflow's connections are known where Airflow is" in done.stderr) == (1, True), done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mm2.properties"]


def test_a_command_line_with_airflows_environment_finds_the_connection(command_line, another_airflow_home):
    declared = json.dumps({"conn_type": "kafka", "host": "a:1"})
    done = command_line("config", AIRFLOW_HOME=str(another_airflow_home), AIRFLOW_CONN_KAFKA_EAST=declared)
    assert done.returncode == 0, done.stderr
    assert "${conn:kafka_east:host}" in done.stdout
