"""The versions that the mirror is made for, pyproject.toml, Airflow's official constraints, and Spark's two distributions."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from kafka_mirror.config import support
from kafka_mirror.config.support import AIRFLOW, MATRIX, PYTHON, SPARK, judge, require_one_pyspark
from kafka_mirror.errors import PysparkMixed

ROOT = Path(__file__).resolve().parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CONSTRAINTS = sorted((ROOT / "tests" / "package" / "constraints").glob("*.txt"))


def requirements() -> Iterator[Requirement]:
    """What the package and each of its extras ask for."""
    for line in (*PROJECT["dependencies"], *(line for extra in PROJECT["optional-dependencies"].values() for line in extra)):
        yield Requirement(line)


def floor(name: str) -> str:
    asked = next(requirement for requirement in requirements() if requirement.name == name)
    return next(each.version for each in asked.specifier if each.operator == ">=")


@pytest.mark.parametrize("file", CONSTRAINTS, ids=lambda file: file.stem)
def test_the_package_can_be_installed_under_airflows_official_constraints(file: Path) -> None:
    pinned = dict(re.findall(r"^([\w.-]+)==(\S+)$", file.read_text(), re.MULTILINE))
    held = {canonicalize_name(name): number for name, number in pinned.items()}
    asked = [requirement for requirement in requirements() if canonicalize_name(requirement.name) in held]
    refused = [str(each) for each in asked if not each.specifier.contains(held[canonicalize_name(each.name)])]
    assert len(asked) > 10
    assert refused == []
    pyspark = next(each for each in requirements() if each.name == SPARK.package)
    assert pyspark.specifier.contains(held[SPARK.also]), "no pyspark of the version that the other distribution is pinned to"


def test_there_are_constraints_of_each_airflow_that_is_tested() -> None:
    assert {file.stem.split("-")[1].rpartition(".")[0] for file in CONSTRAINTS} == set(AIRFLOW.tested)


def test_pyproject_asks_for_the_oldest_versions_and_forbids_no_newer_airflow_or_python() -> None:
    assert floor(AIRFLOW.package) == f"{AIRFLOW.oldest}.0"
    assert floor(SPARK.package) == f"{SPARK.oldest}.0"
    assert PROJECT["requires-python"] == f">={PYTHON.oldest}"
    assert all("<" not in str(each.specifier) for each in requirements() if each.name == AIRFLOW.package)
    assert {f"Programming Language :: Python :: {number}" for number in PYTHON.tested} <= set(PROJECT["classifiers"])


@pytest.mark.parametrize(
    ("number", "said"),
    [
        ("3.3.2", "tested every time"),
        ("3.2.1", "tested before a release"),
        ("3.4.0", "not tested; the newest that was seen is 3.3"),
        ("3.1.8", "too old; the mirror needs 3.2 or newer"),
    ],
)
def test_a_version_is_judged_by_its_first_two_numbers(number: str, said: str) -> None:
    assert judge(AIRFLOW, number) == said


def test_each_thing_lists_its_versions_from_the_oldest_to_the_newest() -> None:
    for each in MATRIX:
        assert list(each.tested) == sorted(each.tested, key=support.minor), each.name


def test_two_distributions_of_spark_in_two_versions_are_an_error_with_the_command_that_mends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    held = {"pyspark": "4.3.0", "pyspark-client": "4.2.0"}
    monkeypatch.setattr(support, "version", held.__getitem__)
    with pytest.raises(PysparkMixed) as mixed:
        require_one_pyspark()
    assert "pip install --force-reinstall --no-deps pyspark==4.2.0 pyspark-client==4.2.0" in str(mixed.value.report().next)
    held["pyspark"] = "4.2.0"
    assert require_one_pyspark() is None
