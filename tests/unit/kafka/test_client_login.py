"""How both clients log in: kafka-python's settings from librdkafka's, one token for both, and the one Kerberos ticket of a process.

gssapi, which the tests' environment does not have, is played."""

import json
import os
import ssl
import sys
import time
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import kafka.errors
import pytest
from confluent_kafka import KafkaError
from kafka.errors import SaslAuthenticationFailedError

from kafka_mirror.errors import TokenUnavailable
from kafka_mirror.kafka import client_login
from kafka_mirror.kafka.admin import ClientErrors, settings_with
from kafka_mirror.kafka.client_login import mask_secrets, python_settings, with_ticket
from kafka_mirror.logins.token import CLASS, KEYTAB, PRINCIPAL, PROPERTIES, SERVICE, TICKET_CACHE
from services.certificates import Authority
from tests.unit.logins.token_providers import endpoint

PLAIN = {"bootstrap.servers": "one:9092,two:9092", "client.id": "mine", "fetch.wait.max.ms": 5}


def test_without_security_it_is_the_addresses_and_the_name():
    assert python_settings(PLAIN) == {"bootstrap_servers": ["one:9092", "two:9092"], "client_id": "mine", "security_protocol": "PLAINTEXT"}


@pytest.mark.parametrize(("mechanism", "user"), [("PLAIN", "a=b,c"), ("SCRAM-SHA-512", "a=3Db=2Cc")])
def test_a_login_is_written_as_its_mechanism_wants_it(mechanism, user):
    login = {"security.protocol": "sasl_plaintext", "sasl.mechanism": mechanism, "sasl.username": "a=b,c", "sasl.password": "p=,"}
    found = python_settings(PLAIN | login)
    assert (found["sasl_mechanism"], found["sasl_plain_username"], found["sasl_plain_password"]) == (mechanism, user, "p=,")


def test_certificates_come_from_text_and_leave_no_file(tmp_path):
    authority = Authority(tmp_path / "authority")
    client = authority.issue("client", hosts=())
    trusted, store = authority.trust_store("PEM"), authority.key_store(client, "PEM")
    from pathlib import Path

    from kafka_mirror.config.clients.key_stores import identity
    from kafka_mirror.config.clients.key_stores import trusted_certificates as certificates

    own = identity(Path(store["ssl.keystore.location"]).read_bytes(), "PEM", None, store.get("ssl.key.password"))
    ca = certificates(Path(trusted["ssl.truststore.location"]).read_bytes(), "PEM", None)
    settings = {"security.protocol": "ssl", "ssl.ca.pem": ca, "ssl.certificate.pem": own.chain, "ssl.key.pem": own.key}
    context = python_settings(PLAIN | settings)["ssl_context"]
    assert (context.check_hostname, context.verify_mode, len(context.get_ca_certs())) == (True, ssl.CERT_REQUIRED, 1)
    loose = python_settings(PLAIN | settings | {"ssl.endpoint.identification.algorithm": "none"})["ssl_context"]
    assert (loose.check_hostname, loose.verify_mode) == (False, ssl.CERT_REQUIRED)


PROVIDERS = "tests.unit.logins.token_providers."
OAUTH = {"bootstrap.servers": "b:1", "security.protocol": "sasl_plaintext", "sasl.mechanism": "OAUTHBEARER"}


@pytest.fixture(autouse=True)
def no_secrets_of_others(monkeypatch):
    """What is masked is only what these tests keep: a secret of another test may be a word of a sentence."""
    monkeypatch.setattr(client_login, "_secrets", set())


def of(kind, **properties):
    return OAUTH | {CLASS: PROVIDERS + kind, PROPERTIES: json.dumps(properties)}


def test_librdkafka_gets_a_callback_and_not_what_it_does_not_know():
    settings = of("Counting", who="librdkafka")
    given = settings_with(settings, ClientErrors("west", settings))
    token, _, principal, extensions = given["oauth_cb"]("")
    assert (token, principal, extensions) == ("token-1", "", {"cluster": "lkc-1"})
    assert not [name for name in given if name.startswith("sasl.mirror.")]


def test_kafka_python_gets_the_same_token():
    settings = of("Counting", who="both")
    callback = settings_with(settings, ClientErrors("west", settings))["oauth_cb"]
    provider = python_settings(settings)["sasl_oauth_token_provider"]
    assert (provider.token(), provider.extensions(), callback("")[0]) == ("token-1", {"cluster": "lkc-1"}, "token-1")


def test_settings_without_a_class_stay_as_they_are():
    complaints = ClientErrors("west", OAUTH)
    assert "oauth_cb" not in settings_with(OAUTH | {"sasl.oauthbearer.method": "oidc"}, complaints)


def test_a_token_that_cannot_be_had_is_told_before_a_client_is_made_and_without_its_secret():
    settings = of("Refusing", clientSecret="tr0ub4dor")
    with pytest.raises(TokenUnavailable) as failure:
        settings_with(settings, ClientErrors("west", settings))
    assert "Cluster 'west': there is no token to log in with: PermissionError: the secret *** is not known." in str(failure.value)
    assert (failure.value.retriable, failure.value.cluster) == (True, "west")
    with pytest.raises(kafka.errors.SaslAuthenticationFailedError, match=r"the secret \*\*\* is not known"):
        python_settings(settings)["sasl_oauth_token_provider"].token()


def test_a_renewal_that_fails_is_complained_of_with_its_reason(monkeypatch):
    settings = of("Counting", who="renewal", seconds="0.01")
    complaints = ClientErrors("west", settings)
    callback = settings_with(settings, complaints)["oauth_cb"]
    monkeypatch.setattr(f"{PROVIDERS}Counting.token", lambda _: (_ for _ in ()).throw(OSError("the provider is gone")))
    time.sleep(0.02)  # longer than the token lives
    with pytest.raises(Exception, match="the provider is gone"):
        callback("")
    assert complaints.refusals[-1].code() == KafkaError._AUTHENTICATION
    assert complaints.detail == "there is no new token to log in with: OSError: the provider is gone"


def test_tokens_and_secret_properties_are_masked_in_every_line():
    settings = of("Counting", who="masking", awsRoleSecretAccessKey="role-s3cret", region="eu-west-1")
    settings_with(settings, ClientErrors("west", settings))
    assert (
        mask_secrets(f"sent token-1 with role-s3cret to eu-west-1 by {PROVIDERS}Counting")
        == f"sent *** with *** to eu-west-1 by {PROVIDERS}Counting"
    )


def test_client_credentials_that_librdkafka_fetches_itself_are_asked_for_once_for_kafka_python():
    with endpoint([(200, {"access_token": "abc", "expires_in": 3600})]) as (url, asked):
        settings = OAUTH | {
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.token.endpoint.url": url,
            "sasl.oauthbearer.client.id": "me",
            "sasl.oauthbearer.client.secret": "secret",
            "sasl.oauthbearer.scope": "kafka",
            "sasl.oauthbearer.extensions": "logicalCluster=lkc-1,b=2",
        }
        first, second = (python_settings(settings)["sasl_oauth_token_provider"] for _ in range(2))
        assert (first.token(), second.token(), second.extensions()) == ("abc", "abc", {"logicalCluster": "lkc-1", "b": "2"})
    assert [form for _, form in asked] == [{"grant_type": "client_credentials", "scope": "kafka"}]


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
