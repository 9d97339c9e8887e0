"""Where a Spark Connect server is, and whose port it is that the token is sent to."""

import os
import socket
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest

from kafka_mirror.errors import ConfigurationError, SparkServerRefused, SparkServerUnavailable
from kafka_mirror.spark import connect
from kafka_mirror.spark.connect import open_server_session
from kafka_mirror.spark.connect_url import connect_url, is_connect, session_id, stranger_on
from tests.unit.spark.test_connect_answers import Answers, service


@pytest.mark.parametrize("url", ["sc://localhost", "sc://127.0.0.1:15003/;token=abc", "sc://[::1]:15002", "sc://127.8.0.1/"])
def test_server_on_this_host_needs_no_tls(url: str) -> None:
    assert is_connect(url)
    assert not connect_url(url).use_ssl


@pytest.mark.parametrize("url", ["sc://spark.example.org:15002/;token=abc", "sc://10.0.0.1", "sc://localhost.example.org", "sc://0.0.0.0"])
def test_server_elsewhere_is_refused_without_tls_and_the_token_is_not_shown(url: str) -> None:
    with pytest.raises(ConfigurationError, match="it needs TLS") as raised:
        connect_url(url)
    assert "abc" not in str(raised.value)


def test_server_elsewhere_is_used_with_tls() -> None:
    server = connect_url("sc://spark.example.org/;use_ssl=True;token=abc")
    assert (server.address, server.use_ssl) == ("spark.example.org:15002", True)
    assert "abc" not in repr(server)


@pytest.mark.parametrize(
    "url", ["sc://", "sc://localhost:port", "sc://localhost/path", "sc://localhost/;token", "sc://localhost/;session_id=1"]
)
def test_url_that_cannot_be_read_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="cannot be used"):
        connect_url(url)


def test_session_keeps_parameters_and_the_mirror_is_its_user_unless_one_is_named() -> None:
    assert connect_url("sc://localhost/;token=abc").with_session("s") == "sc://localhost:15002/;token=abc;user_id=mirror;session_id=s"
    assert ";token=a%2Fb%3D;" in connect_url("sc://localhost/;token=a/b%3D").with_session("s")
    assert ";user_id=ann;" in connect_url("sc://localhost/;user_id=ann").with_session("s")


def test_session_is_the_same_for_an_installation_and_its_code_and_another_one_otherwise() -> None:
    assert session_id("east", "code") == session_id("east", "code")
    names = {session_id("east", "code"), session_id("west", "code"), session_id("east", "other"), session_id("east", "code", 1)}
    assert len({uuid.UUID(name) for name in names}) == 4


TOKEN = "a-token-of-this-test"
ANOTHER = 54_321
"""A user who is nobody here."""
HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"


class Listening(Answers):
    """Also writes down what each call brought with it."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens: list[str] = []

    def AnalyzePlan(self, request: Any, context: Any) -> Any:
        self.tokens += [value for key, value in context.invocation_metadata() if key == "authorization"]
        return super().AnalyzePlan(request, context)


@pytest.fixture
def there() -> Iterator[tuple[Listening, str]]:
    answers = Listening()
    with ThreadPoolExecutor(4) as threads:
        running = grpc.server(threads)
        service.add_SparkConnectServiceServicer_to_server(answers, running)
        port = running.add_secure_port("127.0.0.1:0", grpc.local_server_credentials())
        running.start()
        yield answers, f"sc://127.0.0.1:{port}/;token={TOKEN}"
        running.stop(0).wait()


@pytest.fixture(autouse=True)
def soon_tired(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "_MOST_RETRIES", 1)
    monkeypatch.setattr(connect, "_MOST_BACKOFF_MS", 10)


def test_a_port_of_another_user_gets_no_call_at_all(there: tuple[Listening, str], monkeypatch: pytest.MonkeyPatch) -> None:
    answers, master = there
    monkeypatch.setattr("kafka_mirror.spark.connect_url._list_trusted", lambda: {ANOTHER})
    with pytest.raises(SparkServerRefused, match="holds its port") as refused, open_server_session(master, "", "a tag"):
        pass
    assert f"uid {os.getuid()}" in str(refused.value)
    assert (answers.sessions, answers.tokens) == ([], [])


def test_a_port_that_another_user_took_in_the_middle_gets_no_token_any_more(
    there: tuple[Listening, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, master = there
    with pytest.raises(SparkServerUnavailable, match="its port is held by"), open_server_session(master, "", "a tag") as session:
        assert set(answers.tokens) == {f"Bearer {TOKEN}"}
        answers.tokens.clear()
        monkeypatch.setattr("kafka_mirror.spark.connect_url._list_trusted", lambda: {ANOTHER})
        assert session.cores
    assert answers.tokens == []


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "::1", "::", "::ffff:127.0.0.1"])
def test_a_socket_is_found_on_whatever_address_it_listens(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    host = "::1" if address in ("::1", "::") else "127.0.0.1"
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as listening:
        listening.bind((address, 0))
        listening.listen()
        port = listening.getsockname()[1]
        assert stranger_on(host, port) is None
        monkeypatch.setattr("kafka_mirror.spark.connect_url._list_trusted", lambda: {ANOTHER})
        assert f"uid {os.getuid()}" in str(stranger_on(host, port))
        assert f"uid {os.getuid()}" in str(stranger_on("localhost", port))
        assert stranger_on("127.9.9.9", port) is None or address in ("0.0.0.0", "::"), "that is another address"


def test_a_user_without_a_name_is_said_by_number_and_a_socket_that_took_a_connection_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "tcp"
    columns = "0100007F:3A9A 0100007F:8000 01 00000000:00000000 00:00000000 00000000"
    table.write_text(f"{HEAD}   0: {columns} {ANOTHER}        0 58685 1 0 100 0 0 10 0\n")
    monkeypatch.setattr("kafka_mirror.spark.connect_url._TABLES", (table, tmp_path / "none"))
    assert stranger_on("127.0.0.1", 15002) == f"uid {ANOTHER}"
    assert stranger_on("127.0.0.1", 15003) is None
