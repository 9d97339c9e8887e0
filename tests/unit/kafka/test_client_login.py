"""How both clients log in: kafka-python's settings from librdkafka's, and one token for both."""

import json
import ssl
import time

import kafka.errors
import pytest
from confluent_kafka import KafkaError

from kafka_mirror.errors import TokenUnavailable
from kafka_mirror.kafka import client_login
from kafka_mirror.kafka.admin import ClientErrors, settings_with
from kafka_mirror.kafka.client_login import mask_secrets, python_settings
from kafka_mirror.logins.token import CLASS, PROPERTIES
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
