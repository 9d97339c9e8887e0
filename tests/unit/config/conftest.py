"""A configuration from a text, as if it stood in a file."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from kafka_mirror.config import Configuration, Flow, InvalidFlow, load

HEAD = """
clusters = east, west
east.bootstrap.servers = 127.0.0.1:9001
west.bootstrap.servers = 127.0.0.1:9002
east->west.enabled = true
"""


@pytest.fixture
def configuration(tmp_path: Path) -> Callable[..., Configuration]:
    """`configuration(text, environ)`: the text whole, as one file."""

    def make(text: str, environ: Mapping[str, str] | None = None) -> Configuration:
        path = tmp_path / "mm2.properties"
        path.write_text(text, "latin-1")
        return load([path], environ if environ is not None else {})

    return make


@pytest.fixture
def flow(configuration: Callable[..., Configuration]) -> Callable[..., Flow]:
    """`flow(lines, environ)`: the flow east->west of a valid file with these lines more."""

    def make(lines: str = "", environ: Mapping[str, str] | None = None) -> Flow:
        return configuration(HEAD + lines, environ).flow("east->west")

    return make


@pytest.fixture
def problems(configuration: Callable[..., Configuration]) -> Callable[..., dict[str, str]]:
    """`problems(lines, environ)`: property -> complaint of the flow east->west, which must be invalid."""

    def make(lines: str, environ: Mapping[str, str] | None = None) -> dict[str, str]:
        found = [each for each in configuration(HEAD + lines, environ).invalid if each.name == "east->west"]
        assert len(found) == 1, "the flow is valid"
        invalid: InvalidFlow = found[0]
        return {problem.property: problem.message for problem in invalid.error.problems}

    return make
