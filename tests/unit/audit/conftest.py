"""A flow whose clusters nobody asks."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_mirror.config import Flow, load

BOTH = {"clusters": "east, west", "east.bootstrap.servers": "127.0.0.1:1", "west.bootstrap.servers": "127.0.0.1:2"}


@pytest.fixture
def make_flow(tmp_path: Path) -> Callable[..., Flow]:
    """The flow east->west with these properties."""

    def make(properties: dict[str, str] | None = None) -> Flow:
        file = tmp_path / "mm2.properties"
        lines = {**BOTH, "east->west.enabled": "true", **(properties or {})}
        file.write_text("".join(f"{name}={value}\n" for name, value in lines.items()), encoding="utf-8")
        return load([file], {}).flow("east->west")

    return make
