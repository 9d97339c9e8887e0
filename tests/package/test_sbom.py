"""What stands beside the wheel at a release: its bill of materials, and the digests of both."""

import json
import shutil
import subprocess
import sys
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any

import pytest

import kafka_mirror
from tests.package.environment import ROOT, closure, locked

EXTRAS = ("all", "connect", "openlineage", "msk", "azure", "google")
"""Those that the image holds."""


@pytest.fixture
def release(wheel: Path, tmp_path: Path) -> Path:
    """The folder of a release."""
    packed = Path(shutil.copy(wheel, tmp_path))
    subprocess.run([sys.executable, "tools/sbom.py", str(packed)], cwd=ROOT, check=True, capture_output=True)
    return tmp_path


@pytest.fixture
def bill(release: Path) -> dict[str, Any]:
    return dict(json.loads((release / f"airflow_kafka_mirror-{kafka_mirror.__version__}.cdx.json").read_text()))


def test_digests_are_those_of_the_wheel_and_of_its_bill(release: Path, bill: dict[str, Any]) -> None:
    checked = subprocess.run(["sha256sum", "--check", "SHA256SUMS"], cwd=release, capture_output=True, text=True, check=True)
    assert checked.stdout.count(": OK") == 2
    [digest] = bill["metadata"]["component"]["hashes"]
    assert digest["content"] in (release / "SHA256SUMS").read_text()


def test_bill_lists_all_that_the_wheel_asks_for_in_the_locked_versions(bill: dict[str, Any], distribution: Distribution) -> None:
    known = {**locked(), "airflow-kafka-mirror": distribution}
    wanted = closure([f"airflow-kafka-mirror[{','.join(EXTRAS)}]"], known) - {"airflow-kafka-mirror"}
    listed = {(each["name"], each["version"]) for each in bill["components"]}
    assert {(name, locked()[name].version) for name in wanted} <= listed
    assert "asyncpg" not in {name for name, _ in listed}, "the image's, and not the wheel's"


def test_bill_says_what_asks_for_what(bill: dict[str, Any]) -> None:
    asks = {each["ref"]: each["dependsOn"] for each in bill["dependencies"]}
    known = {each["bom-ref"] for each in bill["components"]} | {bill["metadata"]["component"]["bom-ref"]}
    assert set(asks) == known
    assert {ref for refs in asks.values() for ref in refs} <= known
    names = {ref.split("/")[1].split("@")[0] for ref in asks[bill["metadata"]["component"]["bom-ref"]]}
    assert {"kafka-python", "confluent-kafka", "apache-airflow", "pyspark"} <= names
