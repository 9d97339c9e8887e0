"""The wheel of this checkout, built once, and environments that it is installed into."""

from importlib.metadata import Distribution, PathDistribution
from pathlib import Path
from zipfile import Path as ZipPath

import pytest

import kafka_mirror
from tests.package.environment import Environment, build_wheel, install


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`airflow_kafka_mirror-….whl`."""
    return build_wheel(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def distribution(wheel: Path) -> Distribution:
    """What the wheel says of itself."""
    return PathDistribution(ZipPath(wheel, f"airflow_kafka_mirror-{kafka_mirror.__version__}.dist-info/"))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def command_line(wheel: Path, services_directory: Path) -> Environment:
    """The wheel without any extra: no Airflow, no Spark."""
    return install(wheel, services_directory / "command-line", "airflow-kafka-mirror")
