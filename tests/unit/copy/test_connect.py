"""A run that follows in one session of a Spark Connect server, which answers as told."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafka_mirror.config import Flow, load
from kafka_mirror.copy import connect
from kafka_mirror.copy.connect import following_in_session
from kafka_mirror.copy.model import LaneResult, LaneTask
from kafka_mirror.errors import SparkServerUnavailable
from kafka_mirror.plan.model import BEHIND, Plan, Range


class Session:
    """A session that counts what is asked of it."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.tasks: list[LaneTask] = []
        self.slices: list[int] = []
        self.tags: list[str] = []
        self.count = 2
        self.is_down = False

    @property
    def cores(self) -> int:
        self.said.append("cores")
        return self.count

    def run(self, _function: str, tasks: Sequence[LaneTask], slices: int) -> list[LaneResult]:
        if self.is_down:
            raise SparkServerUnavailable("127.0.0.1:15002", "it is down")
        self.said.append("run")
        self.tasks += tasks
        self.slices.append(slices)
        return [LaneResult(task.lane) for task in tasks]

    def interrupt(self) -> None:
        self.said.append("interrupt")


CONFIGURATION = """
clusters = east, west
east.bootstrap.servers = 127.0.0.1:1
west.bootstrap.servers = 127.0.0.1:1
east->west.enabled = true
"""


@pytest.fixture
def flow(tmp_path: Path) -> Flow:
    file = tmp_path / "mm2.properties"
    file.write_text(CONFIGURATION)
    return load([file]).flow("east->west")


@pytest.fixture
def plan(flow: Flow) -> Plan:
    return Plan(flow.name, (Range("orders", 0, "id", 0, 5, BEHIND),), config_hash=flow.config_hash)


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Session:
    found = Session()

    @contextmanager
    def opened(_master: str, _installation: str, tag: str, _say: object) -> Iterator[Session]:
        found.said.append("opened")
        found.tags.append(tag)
        yield found
        found.said.append("closed")

    monkeypatch.setattr(connect, "connected", opened)
    return found


def test_the_plans_of_a_run_share_a_session_that_the_first_of_them_opens(session: Session, flow: Flow, plan: Plan) -> None:
    given: list[Any] = []
    with following_in_session("sc://localhost", "run", given.append) as copy:
        assert (session.said, given) == ([], [])
        copy(flow, plan, -1)
        copy(flow, replace(plan, follow_for=120.0), 70)
    assert (session.said, given) == (["opened", "cores", "run", "run", "closed"], [session])
    assert [task.max_bytes for task in session.tasks] == [-1, 70]
    assert session.tasks[1].max_seconds <= 120.0


@pytest.mark.parametrize(("cores", "slices", "hand_over"), [(1, 1, 0.0), (5, 2, 60.0)])
def test_a_run_leaves_the_next_one_as_many_cores_as_it_has_or_its_lanes_end_when_it_is_due(
    session: Session, flow: Flow, plan: Plan, cores: int, slices: int, hand_over: float
) -> None:
    session.count = cores
    ranges = tuple(Range("orders", partition, "id", 0, 5, BEHIND) for partition in range(8))
    with following_in_session("sc://localhost", "copy / 1, by hand", lambda _: None) as copy:
        copy(flow, replace(plan, ranges=ranges, follow_for=120.0, hand_over_for=60.0), -1)
    assert (session.slices, {task.hand_over_seconds for task in session.tasks}) == ([slices], {hand_over})
    assert session.tags == ["mirror copy east->west into  copy / 1  by hand"], "what the run before it does is not interrupted"


def test_a_copy_that_fails_leaves_nothing_running_on_the_server(session: Session, flow: Flow, plan: Plan) -> None:
    session.is_down = True
    with following_in_session("sc://localhost", "run", lambda _: None) as copy, pytest.raises(SparkServerUnavailable):
        copy(flow, plan, -1)
    assert session.said == ["opened", "cores", "interrupt", "closed"]
