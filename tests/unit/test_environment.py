"""The environment that `make install` makes. Installed plainly, pip brings pyspark-client as well, with the same files as pyspark."""

import re
from importlib.metadata import distributions
from pathlib import Path

import pyspark

ROOT = Path(__file__).parents[2]


def pins(file: str) -> dict[str, str]:
    text = (ROOT / file).read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z0-9._-]+)==([^\s;\\]+)", text, flags=re.MULTILINE))


def installed(name: str) -> set[str]:
    return {distribution.version for distribution in distributions(name=name)}


def test_pyspark_is_the_pinned_one() -> None:
    assert pyspark.__version__ == pins("requirements.lock")["pyspark"]


def test_pyspark_client_is_absent_or_the_same_version() -> None:
    """Another version would overwrite files of pyspark with its own, and nothing would say so."""
    lean = (ROOT / ".venv" / ".made-from").exists()
    assert installed("pyspark-client") <= (set() if lean else {pyspark.__version__})


def test_lean_lock_leaves_out_the_client_whose_files_pyspark_has_and_holds_what_it_needs() -> None:
    locked = pins("requirements.lock")
    assert "pyspark-client" not in locked
    assert {"pandas", "pyarrow", "grpcio", "grpcio-status", "zstandard"} <= set(locked)


def test_every_requirement_is_pinned_and_locked_at_its_pin() -> None:
    wanted = pins("requirements.txt")
    lines = [line for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    assert len(wanted) == len(lines)
    locked = pins("requirements.lock")
    assert {name: locked.get(name) for name in wanted if name != "pyspark-client"} == {
        k: v for k, v in wanted.items() if k != "pyspark-client"
    }


def test_lock_and_build_files_name_no_host_of_a_registry_and_no_path() -> None:
    for file in ("requirements.txt", "requirements.lock", "pyproject.toml", "pom.xml"):
        text = (ROOT / file).read_text(encoding="utf-8").replace("http://maven.apache.org/POM/4.0.0", "")
        assert not re.search(r"https?://|index-url|/root/|/home/", text), file
