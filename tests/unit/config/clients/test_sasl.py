""""""

import pytest
from confluent_kafka.admin import AdminClient
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.config.clients.mapping import client_settings
from kafka_mirror.config.clients.sasl import parse_jaas
from kafka_mirror.config.setting import Client, Setting
from tests.unit.config.clients.java_client import complaints_of, map_java

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"


def mapped(java, unresolved=()):
    settings = {"security.protocol": "SASL_PLAINTEXT", **{f"sasl.{name}": text for name, text in java.items()}}
    return map_java(settings, files=True, unresolved=unresolved)


def complaints(java, unresolved=()):
    return complaints_of(mapped(java, unresolved))


@pytest.mark.parametrize(("mechanism", "module"), [("PLAIN", PLAIN), ("SCRAM-SHA-256", SCRAM), ("scram-sha-512", SCRAM)])
def test_user_and_password_come_from_the_login_module(mechanism, module):
    found = mapped({"mechanism": mechanism, "jaas.config": f'{module} required username="me" password="a\\"b";'})

    assert found.problems == []
    assert found.settings["security.protocol"] == "sasl_plaintext"
    assert found.settings["sasl.mechanism"] == mechanism.upper()
    assert (found.settings["sasl.username"], found.settings["sasl.password"]) == ("me", 'a"b')
    AdminClient(found.settings)


@pytest.mark.parametrize(
    ("java", "name", "reason"),
    [
        ({}, "sasl.mechanism", r"is missing, and Java's default, GSSAPI \(Kerberos\) is not possible.*SCRAM-SHA-512 or OAUTHBEARER"),
        ({"mechanism": "GSSAPI"}, "sasl.mechanism", r"^GSSAPI \(Kerberos\) is not possible.*by a client certificate"),
        ({"mechanism": "DIGEST-MD5"}, "sasl.mechanism", "not possible here; PLAIN"),
        ({"mechanism": "PLAIN"}, "sasl.jaas.config", "is missing; for PLAIN it has to name the PlainLoginModule"),
        (
            {"mechanism": "PLAIN", "jaas.config": f"{SCRAM} required username=a password=hidden;"},
            "sasl.jaas.config",
            "needs the PlainLoginModule",
        ),
        ({"mechanism": "PLAIN", "jaas.config": f"{PLAIN} required username=a;"}, "sasl.jaas.config", "has no option password"),
        ({"mechanism": "PLAIN", "jaas.config": f"{PLAIN} required password=hidden"}, "sasl.jaas.config", "semicolon"),
        (
            {"mechanism": "SCRAM-SHA-256", "jaas.config": f"{SCRAM} required username=a password=hidden tokenauth=true;"},
            "sasl.jaas.config",
            "delegation tokens",
        ),
        ({"mechanism": "PLAIN", "login.class": "my.Login"}, "sasl.login.class", "a Java class cannot be loaded"),
        (
            {"mechanism": "PLAIN", "client.callback.handler.class": "my.H"},
            "sasl.client.callback.handler.class",
            "a Java class cannot be loaded",
        ),
        (
            {"mechanism": "OAUTHBEARER"},
            "sasl.oauthbearer.token.endpoint.url",
            "is missing, and client credentials need it",
        ),
    ],
)
def test_what_is_refused(java, name, reason):
    import re

    found = complaints(java)
    assert re.search(reason, found[f"east.{name}"])
    assert "hidden" not in str(mapped(java).problems[0])


def test_oauth_by_client_credentials_of_the_login_module():
    found = mapped(
        {
            "mechanism": "OAUTHBEARER",
            "login.callback.handler.class": HANDLER,
            "oauthbearer.token.endpoint.url": "http://127.0.0.1:9/token",
            "jaas.config": f'{OAUTH} required clientId="id" clientSecret="s" scope="a b" extension_cluster="c";',
        }
    )
    assert found.problems == []
    assert {name: value for name, value in found.settings.items() if name.startswith("sasl.")} == {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": "http://127.0.0.1:9/token",
        "sasl.oauthbearer.client.id": "id",
        "sasl.oauthbearer.client.secret": "s",
        "sasl.oauthbearer.scope": "a b",
        "sasl.oauthbearer.extensions": "cluster=c",
    }
    AdminClient(found.settings)


def test_oauth_by_client_credentials_of_their_own():
    found = mapped(
        {
            "mechanism": "OAUTHBEARER",
            "oauthbearer.token.endpoint.url": "http://127.0.0.1:9/token",
            "oauthbearer.client.credentials.client.id": "id",
            "oauthbearer.client.credentials.client.secret": "s",
        }
    )
    assert found.problems == []
    assert found.settings["sasl.oauthbearer.client.id"] == "id"


@pytest.mark.parametrize(
    "java",
    [
        {"mechanism": "PLAIN", "jaas.config": "${env:JAAS}"},
        {"mechanism": "PLAIN", "jaas.config": f'{PLAIN} required username="a" password="${{env:P}}";'},
        {"mechanism": "OAUTHBEARER", "jaas.config": "${env:JAAS}", "oauthbearer.token.endpoint.url": "http://127.0.0.1:9/token"},
    ],
)
def test_a_login_module_that_is_not_resolved_yet_is_left_for_later(java):
    found = mapped(java, unresolved=("sasl.jaas.config",))

    assert found.problems == []
    assert "sasl.password" not in found.settings


def test_what_shows_of_an_unresolved_login_module_is_judged():
    java = {"mechanism": "PLAIN", "jaas.config": f'{SCRAM} required username="a" password="${{env:P}}";'}
    assert "needs the PlainLoginModule" in complaints(java, unresolved=("sasl.jaas.config",))["east.sasl.jaas.config"]


def test_without_sasl_its_settings_are_left_alone():
    settings = {
        "bootstrap.servers": "a:1",
        "security.protocol": "PLAINTEXT",
        "sasl.mechanism": "GSSAPI",
        "ssl.truststore.location": "/none.jks",
    }
    found = client_settings(
        {name: Setting(text, name) for name, text in settings.items()}, Client("a->b", "a", "source", "admin", files=True)
    )

    assert found.problems == []
    assert not {name for name in found.settings if name.startswith(("sasl", "ssl"))}


def test_an_unknown_protocol_is_refused():
    found = client_settings(
        {"bootstrap.servers": Setting("a:1", "x"), "security.protocol": Setting("TLS", "a.security.protocol")},
        Client("a->b", "a", "source", "admin"),
    )
    assert found.problems[0].message == "must be one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"


PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ('username="a" password="b"', {"username": "a", "password": "b"}),
        ("username='a' password = b", {"username": "a", "password": "b"}),
        (r'password="a\"b\\c;d=e"', {"password": 'a"b\\c;d=e'}),
        (r'password="\t\101"', {"password": "\tA"}),
        ('password=""', {"password": ""}),
        ('password="it\'s"', {"password": "it's"}),
        ('/* a\n= */ password="b" // c', {"password": "b"}),
        ("", {}),
    ],
)
def test_options(options, expected):
    module = parse_jaas(f"{PLAIN_MODULE} required\n  {options}\n;")
    assert module.simple_name == "PlainLoginModule"
    assert module.options == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "semicolon"),
        (f'{PLAIN_MODULE} required password="hidden"', "semicolon"),
        (f'{PLAIN_MODULE} password="hidden";', "must be: <login module class> required"),
        (f'{PLAIN_MODULE} required password "hidden";', "an option that is not"),
        (f"{PLAIN_MODULE} required password=;", "an option that is not"),
        (f'{PLAIN_MODULE} required password="hidden;', "quote that is not closed"),
        (f"{PLAIN_MODULE} required; {PLAIN_MODULE} required;", "2 login modules"),
        (";", "must be"),
    ],
)
def test_a_complaint_never_quotes_the_text(text, reason):
    with pytest.raises(ValueError, match=reason) as raised:
        parse_jaas(text)
    assert "hidden" not in str(raised.value)


def test_the_password_stays_out_of_the_repr():
    assert "hidden" not in repr(parse_jaas(f'{PLAIN_MODULE} required password="hidden";'))


@given(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"])), st.sampled_from("\"'"))
def test_any_password_can_be_quoted(password, quote):
    escaped = password.replace("\\", "\\\\").replace(quote, "\\" + quote)
    assert parse_jaas(f"{PLAIN_MODULE} required password={quote}{escaped}{quote};").options == {"password": password}
