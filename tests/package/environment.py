"""Python environments that hold one wheel of ours and what it asks for, and nothing else of what is installed here.

A download of Airflow for each run of the tests would take minutes. So what the wheel asks for is linked from the environment of the tests:
each requirement, and what that asks for in turn. What the wheel forgets to ask for is not there.
"""

import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import Distribution, distributions
from pathlib import Path, PurePosixPath
from sysconfig import get_path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from kafka_mirror.config.support import AIRFLOW, SPARK

ROOT = Path(__file__).parents[2]
LOCKED = Path(get_path("purelib"))
SAME_FILES = {"pyspark-client"}
"""The lock leaves it out: pyspark has all of its files."""


@dataclass(frozen=True)
class Environment:
    """A Python environment of its own."""

    directory: Path

    @property
    def bin(self) -> Path:
        """Where its programs are."""
        return self.directory / "bin"

    @property
    def packages(self) -> Path:
        """Its site-packages."""
        return Path(get_path("purelib", vars={"base": str(self.directory)}))

    def run(self, *command: str, check: bool = True, **environment: str) -> "subprocess.CompletedProcess[str]":
        """Runs a program of it, outside the checkout, with nothing of the tests' environment but the PATH."""
        variables = {"PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}", "HOME": str(self.directory), **environment}
        done = subprocess.run(command, cwd=self.directory, env=variables, capture_output=True, text=True, timeout=300, check=False)
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done


def build_wheel(directory: Path, source: Path = ROOT) -> Path:
    """The wheel of this checkout, or of a copy of it."""
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(directory)], cwd=source, check=True)
    [wheel] = directory.glob("*.whl")
    return wheel


def install(wheel: Path, directory: Path, *requirements: str) -> Environment:
    """An environment with the wheel, and with what these requirements ask for ("airflow-kafka-mirror[all]", …)."""
    made = Environment(directory)
    subprocess.run([sys.executable, "-m", "venv", str(directory)], check=True)
    made.run("python", "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", str(wheel))
    ours = {name_of(each): each for each in distributions(path=[str(made.packages)])}
    wanted = closure(requirements, {**locked(), **ours})
    link(wanted - set(ours), made.packages)
    for name in sorted(wanted - set(ours)):
        for script in locked()[name].entry_points.select(group="console_scripts"):
            module, _, function = script.value.partition(":")
            program = made.bin / script.name
            program.write_text(f"#!{made.bin / 'python'}\nimport sys\nfrom {module} import {function}\nsys.exit({function}())\n")
            program.chmod(0o755)
    return made


def install_oldest(directory: Path, *requirements: str) -> Environment:
    """An environment with these requirements, the oldest Airflow, and all versions that its official constraints give it: a download.

    A resolver's choice is no test of it: with newer packages than its constraints have, Airflow 3.2's own API fails.
    """
    [constraints] = (ROOT / "tests" / "package" / "constraints").glob(f"airflow-{AIRFLOW.oldest}.*.txt")
    airflow, python = constraints.stem.removeprefix("airflow-").split("-")
    [spark] = re.findall(rf"^{SPARK.also}==(\S+)$", constraints.read_text(), re.MULTILINE)
    subprocess.run([python, "-m", "venv", str(directory)], check=True)
    pins = (f"apache-airflow=={airflow}", f"{SPARK.package}=={spark}", f"{SPARK.also}=={spark}")
    pip = [str(directory / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, "-c", str(constraints), *requirements, *pins], check=True)
    return Environment(directory)


def closure(requirements: Iterable[str], known: Mapping[str, Distribution]) -> set[str]:
    """The names of all distributions that are asked for, directly or not. Fails where one is missing or not in its range."""
    found: set[tuple[str, frozenset[str]]] = set()
    waiting = [Requirement(each) for each in requirements]
    while waiting:
        wanted = waiting.pop()
        name, extras = canonicalize_name(wanted.name), frozenset(wanted.extras)
        if name in SAME_FILES:
            continue
        assert name in known, f"{wanted} is not locked"
        assert wanted.specifier.contains(known[name].version, prereleases=True), f"{wanted}, and locked is {known[name].version}"
        if (name, extras) in found:
            continue
        found.add((name, extras))
        waiting += asked_by(known[name], extras)
    return {name for name, _ in found}


def asked_by(distribution: Distribution, extras: Iterable[str]) -> Iterator[Requirement]:
    for text in distribution.requires or ():
        requirement = Requirement(text)
        if requirement.marker is None or any(requirement.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield requirement


@cache
def locked() -> dict[str, Distribution]:
    """What is installed beside the tests, by name."""
    return {name_of(each): each for each in distributions(path=[str(LOCKED)])}


def name_of(distribution: Distribution) -> str:
    return canonicalize_name(distribution.metadata["Name"])


def link(names: Iterable[str], packages: Path) -> None:
    """Links the files of these distributions. A folder that is one's alone is linked whole, and with it its compiled modules."""
    owners: defaultdict[PurePosixPath, set[str]] = defaultdict(set)
    files = {name: [PurePosixPath(file) for file in each.files or () if ".." not in file.parts] for name, each in locked().items()}
    for name, paths in files.items():
        for path in paths:
            for parent in path.parents:
                owners[parent].add(name)
    for name in names:
        for path in files[name]:
            whole = next((parent for parent in reversed(path.parents) if owners[parent] == {name}), path)
            target = packages / whole
            if not target.is_symlink():
                target.parent.mkdir(parents=True, exist_ok=True)
                target.symlink_to(LOCKED / whole)
