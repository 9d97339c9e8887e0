"""The session of a step: whose earlier run it interrupts, and whose not."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mirror.config import Flow, load
from mirror.spark import connect
from mirror.spark.connect import flow_session

MASTER = "sc://127.0.0.1:15002"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, str]]:
    """Master, installation and tag of each session."""
    sessions: list[tuple[str, str, str]] = []

    @contextmanager
    def connected(master: str, installation: str, tag: str, _say: Any) -> Iterator[str]:
        sessions.append((master, installation, tag))
        yield "the session"

    monkeypatch.setattr(connect, "connected", connected)
    return sessions


def flow_into(servers: str, tmp_path: Path) -> Flow:
    file = tmp_path / "mm2.properties"
    lines = ("clusters=east, west", "east.bootstrap.servers=127.0.0.1:1", f"west.bootstrap.servers={servers}", "east->west.enabled=true")
    file.write_text("\n".join((*lines, "mirror.installation=blue")), encoding="utf-8")
    return load([file], {}).flow("east->west")


def test_the_next_run_by_the_same_has_the_same_tag_and_nobody_else_has_it(opened: list[tuple[str, str, str]], tmp_path: Path) -> None:
    runs = [("audit", "its DAG"), ("audit", "hand: audit orders"), ("checkpoints", "its DAG")]
    for servers in ("127.0.0.1:2", "127.0.0.1:3"):
        for step, by in runs * 2:
            with flow_session(flow_into(servers, tmp_path), step, by, MASTER) as session:
                assert session == "the session"
    assert opened[:3] == opened[3:6]
    assert opened[6:9] == opened[9:12]
    assert len({tag for *_, tag in opened}) == 6, "a cluster of the same flow's name is another one"
    assert {(master, installation) for master, installation, _ in opened} == {(MASTER, "blue")}


def test_a_tag_has_no_comma(opened: list[tuple[str, str, str]], tmp_path: Path) -> None:
    with flow_session(flow_into("127.0.0.1:2,127.0.0.1:3", tmp_path), "audit", "run 1,2", MASTER):
        ((*_, tag),) = opened
    assert tag == "mirror audit east->west into 127.0.0.1:2 127.0.0.1:3 by run 1 2"
