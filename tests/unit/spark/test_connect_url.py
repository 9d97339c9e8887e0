"""Which Spark Connect servers may be used, and the session on them."""

import uuid

import pytest

from kafka_mirror.errors import ConfigurationError
from kafka_mirror.spark.connect_url import connect_url, is_connect, session_id


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
    assert connect_url("sc://localhost/;token=abc").of_session("s") == "sc://localhost:15002/;token=abc;user_id=mirror;session_id=s"
    assert ";token=a%2Fb%3D;" in connect_url("sc://localhost/;token=a/b%3D").of_session("s")
    assert ";user_id=ann;" in connect_url("sc://localhost/;user_id=ann").of_session("s")


def test_session_is_the_same_for_an_installation_and_its_code_and_another_one_otherwise() -> None:
    assert session_id("east", "code") == session_id("east", "code")
    names = {session_id("east", "code"), session_id("west", "code"), session_id("east", "other"), session_id("east", "code", 1)}
    assert len({uuid.UUID(name) for name in names}) == 4
