"""`<cluster>.connection`: an Airflow connection of the type `kafka` stands for all that reaches and logs in to a cluster."""

import json

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.config import references
from kafka_mirror.config.clients.sasl import jaas_text, parse_jaas
from kafka_mirror.config.effective import shown_client
from kafka_mirror.config.flow import CLIENTS, hand_over_connections
from kafka_mirror.errors import ConfigurationError
from services.certificates import Authority

FILE = "clusters = east, west\neast->west.enabled = true\neast.connection = kafka_east\nwest.bootstrap.servers = 127.0.0.1:2\n"
PLAIN = {"bootstrap.servers": "a:1,b:2", "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
LOGIN = {"sasl.username": 'o"neil\\', "sasl.password": 'hunter2; user="x" \\'}


@pytest.fixture
def kafka_east(monkeypatch):
    """`kafka_east(extra, conn_type)`: Airflow has this connection, and gives what it was asked for."""

    def have(extra, conn_type="kafka"):
        asked = []

        def lookup(connection, field):
            asked.append(field)
            if connection != "kafka_east":
                raise ValueError(f"Airflow gives no connection '{connection}'")
            return conn_type if field == "conn_type" else json.dumps(extra)

        monkeypatch.setattr(references, "_lookup", [lookup])
        return asked

    return have


@pytest.fixture
def made(configuration):
    """`made(lines, environ)`: the flow east->west whose source is a connection."""
    return lambda lines="", environ=None: configuration(FILE + lines, environ).flow("east->west")


def complaint(call, *arguments):
    with pytest.raises(ConfigurationError) as raised:
        call(*arguments)
    return str(raised.value)


def test_every_client_of_the_cluster_gets_what_the_connection_has(made, kafka_east):
    kafka_east({**PLAIN, **LOGIN, "group.id": "somebody", "auto.offset.reset": "earliest"})
    flow = made()
    for side, role in CLIENTS:
        found = flow.client(side, role)
        if side == "source":
            assert found["bootstrap.servers"] == "a:1,b:2"
            assert (found["security.protocol"], found["sasl.mechanism"]) == ("sasl_plaintext", "PLAIN")
            assert (found["sasl.username"], found["sasl.password"]) == (LOGIN["sasl.username"], LOGIN["sasl.password"])
        else:
            assert found["bootstrap.servers"] == "127.0.0.1:2"
            assert "sasl.password" not in found
        assert "group.id" not in found
    assert flow.find_bootstrap("source") == "a:1,b:2"


def test_the_producer_of_the_records_gets_it_too(configuration, kafka_east):
    kafka_east({**PLAIN, **LOGIN, "linger.ms": "20", "retry.backoff.ms": "20", "fetch.min.bytes": 7})
    flow = configuration(FILE.replace("east->west", "west->east")).flow("west->east")
    producer = flow.client("target", "producer")
    assert (producer["sasl.password"], producer["retry.backoff.ms"]) == (LOGIN["sasl.password"], 20)
    assert not {"fetch.min.bytes", "linger.ms"} & producer.keys()
    assert flow.client("target", "consumer")["fetch.min.bytes"] == 7


def test_nothing_is_asked_while_the_file_is_loaded(made, kafka_east):
    asked = kafka_east({**PLAIN, **LOGIN})
    flow = made()
    assert (flow.notices, asked) == ((), [])
    assert flow.config_hash != made("mirror.lanes = 3\n").config_hash
    assert asked == []


def test_files_in_pem_become_what_java_would_read(made, kafka_east, tmp_path):
    authority = Authority(tmp_path)
    identity = authority.issue("mirror")
    keys = authority.key_store(identity, "PEM")
    files = {
        "ssl.ca.location": authority.trust_store("PEM")["ssl.truststore.location"],
        "ssl.certificate.location": keys["ssl.keystore.location"],
        "ssl.key.location": keys["ssl.keystore.location"],
    }
    rest = {"bootstrap.servers": "a:1", "security.protocol": "ssl", "ssl.endpoint.identification.algorithm": "none"}
    kafka_east({**rest, **files, "ssl.key.password": keys["ssl.key.password"]})
    found = made().client("source", "admin")
    assert found["ssl.certificate.pem"].strip() == identity.pem.strip()
    assert load_pem_private_key(found["ssl.key.pem"].encode(), None).public_key() == identity.key.public_key()
    assert found["ssl.endpoint.identification.algorithm"] == "none"
    assert found["ssl.ca.pem"].count("BEGIN CERTIFICATE") == 1


def test_client_credentials_become_those_of_java(made, kafka_east):
    oauth = {
        "sasl.oauthbearer.method": "OIDC",
        "sasl.oauthbearer.client.id": "me",
        "sasl.oauthbearer.client.secret": "hush",
        "sasl.oauthbearer.token.endpoint.url": "https://idp.test/token",
    }
    kafka_east({"bootstrap.servers": "a:1", "security.protocol": "SASL_SSL", "sasl.mechanisms": "OAUTHBEARER", **oauth})
    found = made().client("source", "consumer")
    assert found["sasl.mechanism"] == "OAUTHBEARER"
    assert {name: found[name] for name in oauth if name != "sasl.oauthbearer.method"} == {
        name: value for name, value in oauth.items() if name != "sasl.oauthbearer.method"
    }


def test_kerberos_is_by_the_keytab_or_by_the_ticket_of_the_process(made, kafka_east, monkeypatch, tmp_path):
    monkeypatch.setattr("kafka_mirror.config.clients.sasl.why_impossible", lambda: "")
    keytab = tmp_path / "mirror.keytab"
    keytab.touch()
    kerberos = {**PLAIN, "sasl.mechanism": "GSSAPI", "sasl.kerberos.service.name": "kafka"}
    kafka_east({**kerberos, "sasl.kerberos.keytab": str(keytab), "sasl.kerberos.principal": "mirror@EXAMPLE.ORG"})
    found = made().client("source", "consumer")
    assert found["sasl.mechanism"] == "GSSAPI"
    assert {name: found[f"sasl.kerberos.{name}"] for name in ("service.name", "keytab", "principal")} == {
        "service.name": "kafka",
        "keytab": str(keytab),
        "principal": "mirror@EXAMPLE.ORG",
    }
    kafka_east(kerberos)
    found = made().client("source", "consumer")
    assert found["mirror.kerberos.ticket.cache"] == ""
    assert "sasl.kerberos.keytab" not in found


@pytest.mark.parametrize("line", ["east.bootstrap.servers = x:1", "east.consumer.sasl.mechanism = PLAIN", "security.protocol = SSL"])
def test_what_file_and_connection_both_say_is_refused_when_the_file_is_loaded(configuration, kafka_east, line):
    asked = kafka_east(PLAIN)
    [invalid] = configuration(f"{FILE}{line}\n").invalid
    message = str(invalid.error)
    assert "east.connection both say how to reach this cluster; leave one of them out" in message
    assert line.partition(" ")[0] in message
    assert asked == []


def test_a_tuning_that_both_say_is_refused_with_both_places(made, kafka_east):
    kafka_east({**PLAIN, **LOGIN, "fetch.min.bytes": 7})
    message = complaint(made("east.consumer.fetch.min.bytes = 9\n").client, "source", "consumer")
    assert "east.connection (extra.fetch.min.bytes)" in message
    assert "east.consumer.fetch.min.bytes" in message


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ({"security.protocol": "PLAINTEXT"}, "east.bootstrap.servers"),
        ({**PLAIN, "sasl.mechanism": "GSSAPI", "sasl.kerberos.service.name": "kafka"}, "GSSAPI (Kerberos) is not possible"),
        ({**PLAIN, "sasl.oauthbearer.method": "default"}, "must be oidc"),
        ({**PLAIN, **LOGIN, "enable.ssl.certificate.verification": False}, "(extra.enable.ssl.certificate.verification)"),
        ({"bootstrap.servers": "a:1", "security.protocol": "SSL", "ssl.ca.location": "/no/such.pem"}, "/no/such.pem cannot be read"),
        (PLAIN, "sasl.jaas.config"),
    ],
)
def test_what_the_connection_lacks_or_cannot_have_is_said_and_never_its_password(made, kafka_east, extra, said):
    kafka_east(extra)
    message = complaint(made().client, "source", "consumer")
    assert said in message
    assert "hunter2" not in message


def test_a_connection_of_another_type_and_one_that_is_not_there_are_named(made, kafka_east, configuration):
    kafka_east(PLAIN, conn_type="http")
    assert "'kafka_east' is of the type http, and must be of the type kafka" in complaint(made().client, "source", "admin")
    missing = configuration(FILE.replace("kafka_east", "nowhere")).flow("east->west")
    assert "Airflow gives no connection 'nowhere'" in complaint(missing.client, "source", "admin")
    assert "Airflow gives no connection 'nowhere'" in complaint(missing.find_bootstrap, "source")


def test_a_job_is_handed_the_connection_and_needs_no_airflow(made, kafka_east, monkeypatch):
    kafka_east({**PLAIN, **LOGIN})
    variables = hand_over_connections(made())
    monkeypatch.setattr(references, "_lookup", [])
    assert made(environ=variables).client("source", "consumer")["sasl.password"] == LOGIN["sasl.password"]
    assert "known to Airflow's tasks alone" in complaint(made().client, "source", "consumer")


def test_nothing_that_it_gives_is_shown(made, kafka_east):
    kafka_east({**PLAIN, **LOGIN})
    shown = shown_client(made(), "source", "consumer")
    assert "hunter2" not in repr(shown)
    assert shown["bootstrap.servers"].value == "(hidden)"
    assert shown["bootstrap.servers"].origin == "east.connection (extra.bootstrap.servers)"


@given(st.dictionaries(st.sampled_from(("username", "password", "x")), st.text(st.characters(blacklist_categories=("Cs",)))))
def test_a_login_module_is_read_as_it_was_written(options):
    module = parse_jaas(jaas_text("a.b.PlainLoginModule", options))
    assert (module.name, dict(module.options)) == ("a.b.PlainLoginModule", options)
