"""A flow by some lines of its configuration."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_mirror.config import Flow, load

HEAD = (
    "clusters = east, west",
    "east.bootstrap.servers = 127.0.0.1:1",
    "west.bootstrap.servers = 127.0.0.1:2",
    "east->west.enabled = true",
)


@pytest.fixture
def make_flow(tmp_path: Path) -> Callable[..., Flow]:
    """`make_flow("mirror.lanes = 4")`: the flow east->west with these lines."""

    def make(*lines: str) -> Flow:
        path = tmp_path / "mm2.properties"
        path.write_text("\n".join((*HEAD, *lines)) + "\n")
        return load([path], {}).flow("east->west")

    return make
