"""Kerberos: Java's Krb5LoginModule as librdkafka's settings, where this environment's clients can do it at all."""

from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from kafka_mirror.config.clients import sasl
from kafka_mirror.config.clients.sasl import why_impossible
from kafka_mirror.config.setting import MappedSettings
from kafka_mirror.logins.token import KEYTAB, PRINCIPAL, SERVICE, TICKET_CACHE
from tests.unit.config.clients.java_client import map_java

MODULE = "com.sun.security.auth.module.Krb5LoginModule required"


@pytest.fixture
def keytab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A keytab, in an environment whose clients can log in by Kerberos."""
    monkeypatch.setattr(sasl, "why_impossible", lambda: "")
    file = tmp_path / "mirror.keytab"
    file.touch()
    return file


def mapped(jaas: str, mechanism: str | None = "GSSAPI", **java: str) -> MappedSettings:
    """What becomes of a client's settings."""
    named = {"sasl.mechanism": mechanism} if mechanism else {}
    more = {key.replace("_", "."): text for key, text in java.items()}
    return map_java({"security.protocol": "SASL_SSL", "sasl.jaas.config": jaas, **named, **more}, files=True)


@pytest.mark.parametrize("mechanism", ["GSSAPI", None])
def test_a_keytab_is_a_login_and_the_default_where_no_mechanism_is_named(keytab: Path, mechanism: str | None) -> None:
    jaas = f'{MODULE} useKeyTab=true storeKey=true keyTab="{keytab}" principal="mirror/host@EXAMPLE.ORG";'
    found = mapped(jaas, mechanism, sasl_kerberos_service_name="kafka")
    assert found.problems == []
    kerberos_only = {name: found.settings[name] for name in ("sasl.mechanism", SERVICE, KEYTAB, PRINCIPAL)}
    assert kerberos_only == {"sasl.mechanism": "GSSAPI", SERVICE: "kafka", KEYTAB: str(keytab), PRINCIPAL: "mirror/host@EXAMPLE.ORG"}


@pytest.mark.parametrize(("option", "cache"), [("", ""), (' ticketCache="/run/mirror.ccache"', "/run/mirror.ccache")])
def test_a_ticket_cache_is_a_login(keytab: Path, option: str, cache: str) -> None:
    found = mapped(f'{MODULE} useTicketCache=true serviceName="kafka"{option};')
    assert found.problems == []
    assert (found.settings[SERVICE], found.settings[TICKET_CACHE]) == ("kafka", cache)
    assert KEYTAB not in found.settings


@pytest.mark.parametrize(
    ("options", "service", "key", "reason"),
    [
        ("useTicketCache=true", "", SERVICE, "is missing: the brokers' own name in Kerberos"),
        ("useTicketCache=true serviceName=kafka", "broker", "sasl.jaas.config", "they must be the same"),
        ("useKeyTab=true keyTab=/a", "kafka", "sasl.jaas.config", "options keyTab and principal"),
        ("useKeyTab=true keyTab=/not/there principal=a", "kafka", "sasl.jaas.config", "no such file"),
        ("principal=a", "kafka", "sasl.jaas.config", "no person is there to type a password"),
    ],
)
def test_what_cannot_log_in_is_refused_with_the_reason(keytab: Path, options: str, service: str, key: str, reason: str) -> None:
    found = mapped(f"{MODULE} {options};", **({"sasl_kerberos_service_name": service} if service else {}))
    assert {problem.property: problem.message for problem in found.problems}.keys() == {f"east.{key}"}
    assert reason in found.problems[0].message


def test_a_package_with_a_librdkafka_of_its_own_and_a_missing_gssapi_are_each_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "confluent_kafka"
    package.mkdir()
    present = {"confluent_kafka": ModuleSpec("confluent_kafka", None, origin=str(package / "__init__.py"))}
    monkeypatch.setattr(sasl.importlib.util, "find_spec", present.get)
    assert "needs the Python package gssapi" in why_impossible()
    present["gssapi"] = ModuleSpec("gssapi", None)
    assert why_impossible() == ""
    (tmp_path / "confluent_kafka.libs").mkdir()
    assert "pip install --no-binary confluent-kafka" in why_impossible()
