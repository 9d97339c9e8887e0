"""Kafka's jars are those that were looked at: Maven itself compares no digest that stands in the repository."""

import hashlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def install() -> ModuleType:
    """The build step, which is no part of the library."""
    spec = importlib.util.spec_from_file_location("install_of_the_checkout", ROOT / "tools" / "install.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    spec.loader.exec_module(module)
    sys.path[:] = before
    return module


def test_the_jars_that_are_here_are_those_of_the_list(install: ModuleType) -> None:
    assert install.find_wrong_jars(install.LIBS, install.JARS) == []
    assert any(line.split()[1].startswith("kafka-clients-") for line in install.JARS.read_text().splitlines())


def test_a_jar_that_is_missing_unknown_or_another_one_is_named(install: ModuleType, tmp_path: Path) -> None:
    libs, listed = tmp_path / "libs", tmp_path / "jars.sha256"
    libs.mkdir()
    for name in ("same.jar", "other.jar", "unknown.jar"):
        (libs / name).write_bytes(name.encode())
    digests = {name: hashlib.sha256(name.encode()).hexdigest() for name in ("same.jar", "missing.jar")} | {"other.jar": "0" * 64}
    listed.write_text("".join(f"{digest}  {name}\n" for name, digest in digests.items()))
    assert install.find_wrong_jars(libs, listed) == ["missing.jar", "other.jar", "unknown.jar"]
