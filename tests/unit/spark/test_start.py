import json
import sys
import zipfile
from pathlib import Path

import pytest

from kafka_mirror.errors import ConfigurationError
from kafka_mirror.spark.connect_url import connect_url, is_connect
from kafka_mirror.spark.files import package
from kafka_mirror.spark.start import (
    LOG4J,
    TunedSpark,
    environment,
    installed_spark,
    is_local,
    master_by_hand,
    master_of,
    program,
    properties_file,
    spark_master,
    tuned_spark,
)

CLUSTER = "spark://master:7077"
TUNED = TunedSpark(Path("/tuned"))
SCRATCH = Path("/scratch")


@pytest.mark.parametrize(
    ("master", "local"), [("local", True), ("local[*,4]", True), ("local-cluster[2,1,1024]", False), (CLUSTER, False), ("yarn", False)]
)
def test_only_threads_of_one_process_are_local(master: str, local: bool) -> None:
    assert is_local(master) is local


def test_the_tuned_properties_are_for_local_masters_alone() -> None:
    assert properties_file("local[*,4]", "", TUNED) == "/tuned/spark.properties"
    assert properties_file("local[*,4]", "", None) is None
    assert properties_file(CLUSTER, "", TUNED) is None


def test_a_configured_properties_file_is_for_any_master_and_has_to_exist(tmp_path: Path) -> None:
    own = tmp_path / "own.properties"
    own.touch()
    assert properties_file("local[*,4]", str(own), TUNED) == properties_file(CLUSTER, str(own), None) == str(own)
    with pytest.raises(ConfigurationError, match=r"mirror\.spark\.properties\.file: there is no such file"):
        properties_file(CLUSTER, str(tmp_path / "none"), None)


def test_a_tuned_start_counts_when_its_last_file_is_there(tmp_path: Path) -> None:
    assert tuned_spark(tmp_path) is None
    (tmp_path / "spark.properties").touch()
    assert tuned_spark(tmp_path) == TunedSpark(tmp_path)


def test_the_program_is_ours_locally_and_the_clusters_own_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = str(installed_spark() / "bin" / "spark-submit")
    monkeypatch.setenv("PATH", "/nothing/here")
    assert program("local[*,4]", "spark-submit", TUNED) == "/tuned/home/bin/spark-submit"
    assert program("local[*,4]", "spark-submit", None) == ours
    assert program(CLUSTER, "spark-submit", TUNED) == ours
    assert program(CLUSTER, "spark3-submit", None) == "spark3-submit"
    (tmp_path / "spark-submit").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert program(CLUSTER, "spark-submit", None) == "spark-submit"
    assert program("local[*,4]", "spark-submit", None) == ours


def test_a_cluster_keeps_its_own_python_address_and_home() -> None:
    there = environment(CLUSTER, (), TUNED, SCRATCH)
    assert set(there) == {"PYTHONPATH"}
    here = environment("local[*,4]", (), TUNED, SCRATCH)
    assert (here["PYSPARK_PYTHON"], here["SPARK_LOCAL_IP"], here["SPARK_HOME"]) == (sys.executable, "127.0.0.1", "/tuned/home")
    assert here["SPARK_LOCAL_DIRS"] == "/scratch"
    assert environment("local[*,4]", (), None, SCRATCH)["SPARK_HOME"] == str(installed_spark())


def test_the_job_finds_all_files_of_the_flows_configuration() -> None:
    there = environment(CLUSTER, ("/one.properties", "/two.properties"), None, SCRATCH)
    assert there["MIRROR_CONFIG"] == "/one.properties,/two.properties"


def test_the_package_holds_the_library_and_nothing_else(tmp_path: Path) -> None:
    with zipfile.ZipFile(package(tmp_path)) as archive:
        names = archive.namelist()
    assert "kafka_mirror/copy/run.py" in names
    assert all(name.startswith("kafka_mirror/") and name.endswith((".py", ".json")) for name in names)


@pytest.mark.parametrize(
    ("fields", "master"),
    [
        ({"host": "spark://one", "port": "7077"}, "spark://one:7077"),
        ({"host": "spark://one:7077"}, "spark://one:7077"),
        ({"host": "local[2]"}, "local[2]"),
        ({"host": "one", "port": "7077"}, "spark://one:7077"),
        ({"host": "one:7077"}, "spark://one:7077"),
        ({"host": "yarn"}, "yarn"),
        ({"host": "spark://one:7077,two:7077"}, "spark://one:7077,two:7077"),
        ({"host": "k8s://https://kube", "port": "6443"}, "k8s://https://kube:6443"),
        ({"host": "sc://server", "port": "15002"}, "sc://server:15002"),
    ],
)
def test_a_copy_by_hand_reads_the_master_as_airflow_does(fields: dict[str, str], master: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIRROR_CONNECTIONS", json.dumps({f"spark_prod:{field}": value for field, value in fields.items()}))
    monkeypatch.setattr("kafka_mirror.config.references._lookup", [])
    assert master_of("spark_prod") == master


@pytest.mark.parametrize(
    ("fields", "master"),
    [
        ({"host": "127.0.0.1", "port": "15003"}, "sc://127.0.0.1:15003/;"),
        ({"host": "sc://localhost", "login": "ann", "password": "a/b="}, "sc://localhost/;user_id=ann;token=a%2Fb%3D"),
        ({"host": "spark.example.org", "extra.use_ssl": "true"}, "sc://spark.example.org/;use_ssl=true"),
    ],
)
def test_a_run_by_hand_finds_the_server_of_a_connection_of_its_type(
    fields: dict[str, str], master: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lookup(_connection: str, field: str) -> str:
        if field not in known:
            raise ValueError(f"there is no {field}")
        return known[field]

    known = {**fields, "conn_type": "spark_connect"}
    monkeypatch.setattr("kafka_mirror.config.references._lookup", [lookup])
    assert master_by_hand(None, "mirror_spark") == master
    assert connect_url(master).with_session("1").endswith(";session_id=1")
    assert master_by_hand("spark://one:7077", "mirror_spark") == "spark://one:7077"
    known |= {"conn_type": "spark", "port": "7077"}
    assert is_connect(master_by_hand(None, "mirror_spark")) == is_connect(fields["host"])


def test_a_connection_that_cannot_be_asked_for_is_an_error_that_names_the_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_mirror.config.references._lookup", [])
    with pytest.raises(ConfigurationError, match=r"mirror\.spark\.connection: .*--master.*spark_prod"):
        master_of("spark_prod")


@pytest.mark.parametrize("fields", [{"host": "one"}, {"host": "spark://one"}, {"host": "locl[2]"}, {"host": "mesos://one", "port": "5050"}])
def test_what_is_no_master_is_an_error_that_names_the_connection_and_what_it_leads_to(
    fields: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MIRROR_CONNECTIONS", json.dumps({f"spark_prod:{field}": value for field, value in fields.items()}))
    monkeypatch.setattr("kafka_mirror.config.references._lookup", [])
    with pytest.raises(ConfigurationError, match=r"mirror\.spark\.connection: .*is no Spark master.*connection's host.*spark_prod"):
        master_of("spark_prod")


def test_a_master_on_the_command_line_that_is_none_is_refused_before_spark_starts() -> None:
    with pytest.raises(ConfigurationError, match="--master: 'spark-master:7077' is no Spark master"):
        master_by_hand("spark-master:7077", "")


@pytest.mark.parametrize(
    ("kind", "host", "port", "master"),
    [
        ("spark", "one", "7077", "spark://one:7077"),
        ("k8s", "kube.example.org", "6443", "k8s://kube.example.org:6443"),
        ("spark", "k8s://https://kube", "6443", "k8s://https://kube:6443"),
        ("spark", "local[*]", "", "local[*]"),
    ],
)
def test_a_connection_by_uri_has_the_scheme_as_its_type(kind: str, host: str, port: str, master: str) -> None:
    assert spark_master("x", kind, host, port) == master


def test_spark_logs_by_our_file_on_a_local_master_unless_the_user_has_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SPARK_SUBMIT_OPTS", "SPARK_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    ours = f"-Dlog4j2.configurationFile={LOG4J.as_uri()}"
    assert LOG4J.is_file()
    assert environment("local[2]", (), None, SCRATCH)["SPARK_SUBMIT_OPTS"] == ours
    assert "SPARK_SUBMIT_OPTS" not in environment(CLUSTER, "", None, SCRATCH)
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", "-Da=b")
    assert environment("local[2]", (), None, SCRATCH)["SPARK_SUBMIT_OPTS"] == f"-Da=b {ours}"
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert environment("local[2]", (), None, SCRATCH)["SPARK_SUBMIT_OPTS"] == f"-Da=b {ours}"
    (tmp_path / "log4j2.xml").touch()
    assert "SPARK_SUBMIT_OPTS" not in environment("local[2]", (), None, SCRATCH)
    (tmp_path / "log4j2.xml").unlink()
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", "-Dlog4j2.configurationFile=/mine.xml")
    assert "SPARK_SUBMIT_OPTS" not in environment("local[2]", (), None, SCRATCH)
