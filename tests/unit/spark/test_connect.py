"""The session of a step: whose earlier run it interrupts, and whose not."""

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_mirror.config import Flow, load
from kafka_mirror.spark import connect, worker
from kafka_mirror.spark.connect import ConnectSession, flow_session
from kafka_mirror.spark.connect_url import ConnectUrl

MASTER = "sc://127.0.0.1:15002"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, str]]:
    """Master, installation and tag of each session."""
    sessions: list[tuple[str, str, str]] = []

    @contextmanager
    def connected(master: str, installation: str, tag: str, _say: Any) -> Iterator[str]:
        sessions.append((master, installation, tag))
        yield "the session"

    monkeypatch.setattr(connect, "open_server_session", connected)
    return sessions


def flow_into(servers: str, tmp_path: Path) -> Flow:
    file = tmp_path / "mm2.properties"
    lines = ("clusters=east, west", "east.bootstrap.servers=127.0.0.1:1", f"west.bootstrap.servers={servers}", "east->west.enabled=true")
    file.write_text("\n".join((*lines, "mirror.installation=blue")), encoding="utf-8")
    return load([file], {}).flow("east->west")


def test_the_next_run_by_the_same_has_the_same_tag_and_nobody_else_has_it(opened: list[tuple[str, str, str]], tmp_path: Path) -> None:
    runs = [("audit", "its DAG"), ("audit", "hand: audit orders"), ("checkpoints", "its DAG"), ("copy", "")]
    for servers in ("127.0.0.1:2", "127.0.0.1:3"):
        for step, by in runs * 2:
            with flow_session(flow_into(servers, tmp_path), step, by, MASTER) as session:
                assert session == "the session"
    assert opened[:4] == opened[4:8]
    assert opened[8:12] == opened[12:16]
    assert len({tag for *_, tag in opened}) == 8, "a cluster of the same flow's name is another one"
    assert {(master, installation) for master, installation, _ in opened} == {(MASTER, "blue")}


def test_a_tag_has_no_comma(opened: list[tuple[str, str, str]], tmp_path: Path) -> None:
    with flow_session(flow_into("127.0.0.1:2,127.0.0.1:3", tmp_path), "audit", "run 1,2", MASTER):
        ((*_, tag),) = opened
    assert tag == "mirror audit east->west into 127.0.0.1:2 127.0.0.1:3 by run 1 2"


@pytest.mark.parametrize("prepared", [True, False])
def test_tasks_that_are_too_large_for_one_message_go_in_several_and_are_answered_in_order(
    monkeypatch: pytest.MonkeyPatch, prepared: bool
) -> None:
    messages: list[int] = []
    packages: list[int] = [] if not prepared else [0]

    def run_shares(_session: Any, _function: str, shares: list[list[bytes]]) -> dict[int, list[Any]]:
        messages.append(sum(len(task) for share in shares for task in share))
        answers = {number: [pickle.loads(task) for task in share] for number, share in enumerate(shares)}
        return answers if packages else {number: [worker.OTHER_CODE] for number in answers}

    monkeypatch.setattr(connect, "MESSAGE_BYTES", 300)
    monkeypatch.setattr(ConnectSession, "_run_shares", run_shares)
    monkeypatch.setattr(ConnectSession, "_send_package", lambda _session: packages.append(len(messages)))
    tasks = [f"{number}".rjust(100) for number in range(10)]
    assert ConnectSession(ConnectUrl("127.0.0.1", 1), None, "tag", list).run("module:name", tasks, 10) == tasks
    assert max(messages) <= 300
    assert packages == [0 if prepared else 1], "the first message is enough to see whose code the workers lack"
    assert len(messages) == (5 if prepared else 6)


def test_tasks_that_fail_leave_nothing_running_on_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> dict[int, list[Any]]:
        raise KeyboardInterrupt

    ended: list[str] = []
    monkeypatch.setattr(ConnectSession, "_run_shares", interrupted)
    session = ConnectSession(ConnectUrl("127.0.0.1", 1), SimpleNamespace(interruptTag=ended.append), "tag", list)
    with pytest.raises(KeyboardInterrupt):
        session.run("module:name", [1], 1)
    assert ended == ["tag"]


def test_a_server_that_hangs_is_asked_for_signs_of_life_as_seldom_as_servers_allow() -> None:
    options = dict(connect._channel("sc://127.0.0.1:15002")._channel_options)
    assert options["grpc.keepalive_time_ms"] >= 300_000, "a server of gRPC ends a connection whose client asks more often"
    assert options["grpc.keepalive_timeout_ms"] < 60_000


@pytest.mark.parametrize(
    ("details", "again"),
    [
        ("failed to connect to all addresses; Connection refused", True),
        ("Ssl handshake failed: SSL routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED: self-signed certificate", False),
        ("Hostname Verification Check failed.", False),
    ],
)
def test_server_that_is_away_is_asked_again_and_one_whose_certificate_is_refused_is_not(details: str, again: bool) -> None:
    grpc = pytest.importorskip("grpc")

    class Failure(grpc.RpcError):  # type: ignore[misc, name-defined]
        def code(self) -> Any:
            return grpc.StatusCode.UNAVAILABLE

        def __str__(self) -> str:
            return details

    assert connect._retry_policy().can_retry(Failure()) is again
