"""The wheel: what is in it, what it says of itself, and the command line that it installs where neither Airflow nor Spark is."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import Distribution
from pathlib import Path
from zipfile import ZipFile

import jsonschema
import pytest
import yaml

import kafka_mirror
from kafka_mirror.provider import get_provider_info
from services.flows import ClusterPair
from services.oracle import Oracle, Side
from tests.package.environment import LOCKED, ROOT, Environment, build_wheel, closure, locked


def test_everything_of_the_library_the_spark_programs_and_the_example_are_in_the_wheel(wheel: Path) -> None:
    packed = set(ZipFile(wheel).namelist())
    library = {path.relative_to(ROOT / "include").as_posix() for path in (ROOT / "include" / "kafka_mirror").rglob("*") if path.is_file()}
    beside = {f"kafka_mirror/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "jobs").glob("*.*")} | {"kafka_mirror/mm2.properties"}
    assert {"kafka_mirror/py.typed", "kafka_mirror/web/templates/base.html", "kafka_mirror/web/static/page.css"} <= library
    assert {name for name in packed if name.startswith("kafka_mirror/")} == {name for name in library if "__pycache__" not in name} | beside


def test_image_builds_the_same_wheel_from_what_is_copied_into_it(wheel: Path, tmp_path: Path) -> None:
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    copied = re.findall(r"^COPY (\S+) /opt/mirror/wheel/\1$", dockerfile, flags=re.MULTILINE)
    for name in copied:
        (tmp_path / name).symlink_to(ROOT / name)
    assert ZipFile(build_wheel(tmp_path / "dist", tmp_path)).namelist() == ZipFile(wheel).namelist()


def test_version_is_that_of_the_library_and_of_the_changelog(distribution: Distribution) -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## \[?(\d[^\]\s]*)", changelog, flags=re.MULTILINE)
    assert newest is not None
    assert newest[1] == distribution.version == kafka_mirror.__version__


def test_airflow_takes_the_description_of_the_provider(distribution: Distribution) -> None:
    schema = json.loads((LOCKED / "airflow" / "provider_info.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(get_provider_info(), schema)
    assert get_provider_info()["package-name"] == distribution.metadata["Name"]


IMPORT_ALL = """
import sys
from importlib import import_module
for name in sys.argv[1:]:
    module, _, found = name.rpartition(":")
    assert not module or hasattr(import_module(module), found), name
    module or import_module(found)
"""


def test_what_the_provider_names_to_airflow_and_its_registry_can_be_imported() -> None:
    told, registry = get_provider_info(), yaml.safe_load((ROOT / ".airflow-registry.yaml").read_text(encoding="utf-8"))
    modules = [name for kind in ("operators", "sensors", "triggers", "hooks") for each in told[kind] for name in each["python-modules"]]
    listed = [each["module"] for kind in registry.values() if isinstance(kind, list) for each in kind]
    classes = [*told["extra-links"], *told["notifications"], *(each["plugin-class"] for each in told["plugins"]), *listed]
    names = [*modules, *(":".join(name.rpartition(".")[::2]) for name in classes)]
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL, *names], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": "include"}
    )
    assert done.returncode == 0, done.stderr
    assert (registry["package-name"], registry["display-name"]) == (told["package-name"], told["name"])
    public = re.findall(r'^    "(\w+)",$', (ROOT / "include/kafka_mirror/airflow/operators.py").read_text(encoding="utf-8"), re.MULTILINE)
    assert {name.rpartition(".")[2] for name in listed if ".operators." in name} == set(public)


@pytest.mark.parametrize("extra", ["", "airflow", "spark", "web", "smtp", "msk", "azure", "google", "all"])
def test_what_the_wheel_asks_for_is_locked_within_its_ranges(distribution: Distribution, extra: str) -> None:
    known = {**locked(), "airflow-kafka-mirror": distribution}
    assert extra in ("", *(distribution.metadata.get_all("Provides-Extra") or ()))
    assert len(closure([f"airflow-kafka-mirror[{extra}]"], known)) > 5


def test_the_command_is_installed_and_calls_itself_by_its_name(command_line: Environment, tmp_path: Path) -> None:
    assert command_line.run("kafka-mirror", "--version").stdout == f"airflow-kafka-mirror {kafka_mirror.__version__}\n"
    assert command_line.run("kafka-mirror", "--help").stdout.startswith("usage: kafka-mirror ")
    assert command_line.run("python", "-m", "kafka_mirror", "--help").stdout.startswith("usage: python -m kafka_mirror ")
    refused = command_line.run("kafka-mirror", "plan", "--config", str(tmp_path / "none"), "--what", check=False)
    assert (refused.returncode, "See kafka-mirror plan --help." in refused.stderr) == (2, True)


def test_the_example_is_printed_without_a_checkout(command_line: Environment) -> None:
    example = (ROOT / "include" / "mm2.properties").read_text(encoding="utf-8")
    assert command_line.run("kafka-mirror", "config", "--example").stdout == example


@pytest.mark.parametrize("package", ["airflow", "pyspark", "fastapi", "jinja2", "httpx", "pytest"])
def test_environment_of_the_command_line_has_none_of_the_extras(command_line: Environment, package: str) -> None:
    assert command_line.run("python", "-c", f"import {package}", check=False).returncode == 1


def test_without_airflow_and_spark_the_command_line_mirrors(
    command_line: Environment, pair: ClusterPair, mm2_properties: Callable[..., Path], oracle: Oracle
) -> None:
    topic, config = pair.topic("orders"), str(mm2_properties())
    oracle.create_topic(pair.source_bootstrap, topic, partitions=2)
    oracle.produce(pair.source_bootstrap, topic, 50)
    for command in (["refresh-topics"], ["copy", "--without-spark"], ["status"], ["audit"]):
        command_line.run("kafka-mirror", *command, MIRROR_CONFIG=config)
    unknown = command_line.run("kafka-mirror", "audit", "--topics", "nosuch", check=False, MIRROR_CONFIG=config)
    assert (unknown.returncode, "What a flow mirrors: kafka-mirror status." in unknown.stderr) == (1, True), unknown.stderr
    target = Side(pair.target_bootstrap, pair.remote(topic))
    assert oracle.assert_mirrored(Side(pair.source_bootstrap, topic), target).records == 50
