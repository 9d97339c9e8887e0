"""The one Kerberos ticket of a process; gssapi, which the tests' environment does not have, is played."""

import os
import sys
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import pytest
from kafka.errors import SaslAuthenticationFailedError

from kafka_mirror.errors import TokenUnavailable
from kafka_mirror.kafka import client_login
from kafka_mirror.kafka.client_login import python_settings, with_ticket
from kafka_mirror.logins.token import KEYTAB, PRINCIPAL, SERVICE, TICKET_CACHE

BY_KEYTAB = {"sasl.mechanism": "GSSAPI", SERVICE: "kafka", KEYTAB: "/etc/mirror.keytab", PRINCIPAL: "mirror@EXAMPLE.ORG"}
BY_CACHE = {"sasl.mechanism": "GSSAPI", SERVICE: "kafka", TICKET_CACHE: "/run/mirror.ccache"}


@dataclass
class Realm:
    """What the library says of tickets: for how long the next one is good, or why there is none."""

    lifetime: int = 3600
    failure: str = ""
    asked: list[tuple[Any, str | None, str | None]] = field(default_factory=list)


@pytest.fixture
def realm(monkeypatch: pytest.MonkeyPatch) -> Realm:
    """A library in this process, which holds no ticket yet."""
    realm, gssapi = Realm(), ModuleType("gssapi")

    class GSSError(Exception):
        """As the library's."""

    class Credentials:
        """A ticket."""

        def __init__(self, name: Any, usage: str) -> None:
            assert usage == "initiate"
            realm.asked.append((name, os.environ.get("KRB5_CLIENT_KTNAME"), os.environ.get("KRB5CCNAME")))
            if realm.failure:
                raise GSSError(realm.failure)
            self.lifetime = realm.lifetime

    class Words:
        """The library's names of things."""

        kerberos_principal = "principal"

    Words.GSSError = GSSError  # type: ignore[attr-defined]
    gssapi.__dict__.update(Credentials=Credentials, NameType=Words, exceptions=Words, Name=lambda name, kind: (name, kind))
    monkeypatch.setitem(sys.modules, "gssapi", gssapi)
    monkeypatch.setattr(client_login, "_logins", [])
    for name in ("KRB5_CLIENT_KTNAME", "KRB5CCNAME"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    return realm


def test_a_ticket_by_a_keytab_is_in_memory_and_had_once(realm: Realm) -> None:
    for _ in range(2):
        assert with_ticket(dict(BY_KEYTAB), "east") == {
            "sasl.mechanism": "GSSAPI",
            SERVICE: "kafka",
            "sasl.kerberos.min.time.before.relogin": 0,
        }
    assert realm.asked == [(("mirror@EXAMPLE.ORG", "principal"), "FILE:/etc/mirror.keytab", "MEMORY:mirror")]


def test_a_ticket_cache_that_is_named_is_the_processs(realm: Realm) -> None:
    assert TICKET_CACHE not in with_ticket(dict(BY_CACHE), "east")
    assert realm.asked == [(None, None, "/run/mirror.ccache")]


def test_kafka_python_logs_in_by_the_same_ticket(realm: Realm) -> None:
    settings = {**BY_KEYTAB, "bootstrap.servers": "a:1", "security.protocol": "sasl_plaintext"}
    found = python_settings(settings)
    assert (found["sasl_mechanism"], found["sasl_kerberos_service_name"]) == ("GSSAPI", "kafka")
    with_ticket(dict(BY_KEYTAB), "east")
    assert len(realm.asked) == 1


def test_without_a_ticket_the_error_says_whose_and_why(realm: Realm) -> None:
    realm.failure = "Client not found in Kerberos database"
    with pytest.raises(TokenUnavailable, match=r"no Kerberos ticket of mirror@EXAMPLE.ORG \(keytab /etc/mirror.keytab\): Client not found"):
        with_ticket(dict(BY_KEYTAB), "east")
    with pytest.raises(SaslAuthenticationFailedError, match="Client not found"):
        python_settings({**BY_KEYTAB, "bootstrap.servers": "a:1", "security.protocol": "sasl_plaintext"})
    realm.failure, realm.lifetime = "", 0
    with pytest.raises(TokenUnavailable, match="has ended"):
        with_ticket(dict(BY_CACHE), "east")


def test_without_the_library_there_is_no_ticket_and_the_error_says_so(realm: Realm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gssapi", None)
    with pytest.raises(TokenUnavailable, match="the Python package gssapi cannot be loaded"):
        with_ticket(dict(BY_KEYTAB), "east")
    with pytest.raises(LookupError, match="gssapi"):
        python_settings({**BY_KEYTAB, "bootstrap.servers": "a:1", "security.protocol": "sasl_plaintext"})


def test_two_logins_in_one_process_are_refused(realm: Realm) -> None:
    with_ticket(dict(BY_KEYTAB), "east")
    with pytest.raises(TokenUnavailable, match=r"'west'.*has the Kerberos ticket of mirror@.*cannot have that of the ticket cache"):
        with_ticket(dict(BY_CACHE), "west")


def test_other_logins_are_left_alone(realm: Realm) -> None:
    settings = {"sasl.mechanism": "PLAIN", "sasl.username": "a"}
    assert with_ticket(settings, "east") is settings
    assert realm.asked == []
