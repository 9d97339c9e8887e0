"""The configuration as a person sees it: every value with its origin, and no secret in it."""

import pytest

from kafka_mirror.config.catalogue import CATALOGUE
from kafka_mirror.config.deadlines import limits_of
from kafka_mirror.config.effective import HIDDEN, EffectiveValue, shown_client, shown_properties
from kafka_mirror.config.flow import CLIENTS
from services.certificates import Authority

SASL = """
east.security.protocol = SASL_PLAINTEXT
east.sasl.mechanism = PLAIN
east.sasl.jaas.config = org.apache.kafka.common.security.plain.PlainLoginModule required username="mirror" password="{password}";
"""


def test_a_value_has_the_key_that_the_user_wrote(flow):
    shown = shown_properties(flow("mirror.lanes = 4\neast->west.mirror.copy.interval.seconds = 30\n"))
    assert shown["mirror.lanes"] == EffectiveValue(4, "mirror.lanes")
    assert shown["mirror.copy.interval.seconds"] == EffectiveValue(30, "east->west.mirror.copy.interval.seconds")


def test_a_default_says_so_and_where_it_is_taken_from(flow):
    shown = shown_properties(flow("offset-syncs.topic.replication.factor = 2\n"))
    assert shown["mirror.run.max.seconds"] == EffectiveValue(300, "default")
    assert shown["mirror.ledger.replication.factor"] == EffectiveValue(2, "default: offset-syncs.topic.replication.factor")
    assert shown["source.cluster.alias"] == EffectiveValue("east", "default")
    assert [name for name, each in shown.items() if each.is_set] == ["enabled", "offset-syncs.topic.replication.factor"]


def test_every_property_that_has_a_value_is_shown(flow):
    without_effect = {name for name, each in CATALOGUE.items() if each.effect}
    assert set(CATALOGUE) - set(shown_properties(flow())) <= without_effect


def test_a_limit_whose_interval_is_a_reference_says_how_it_is_made(flow):
    shown = shown_properties(flow("mirror.copy.interval.seconds = ${env:NOWHERE}\n", {}))
    assert shown["mirror.deadline.lag.seconds"] == EffectiveValue("3 intervals, at least 900", "default: mirror.copy.interval.seconds")


def test_what_is_shown_for_a_limit_is_what_alerts_go_by(flow):
    made = flow("mirror.copy.interval.seconds = 3600\nmirror.heartbeats.trigger = true\nemit.heartbeats.interval.seconds = 9000\n")
    shown, limits = shown_properties(made), limits_of(made)
    for name in ("lag", "progress", "copy", "heartbeats"):
        assert shown[f"mirror.deadline.{name}.seconds"].value == getattr(limits, name)


def test_what_is_set_to_its_default_is_not_changed(flow):
    shown = shown_properties(
        flow("mirror.lanes = 16\nmirror.deadline.lag.seconds = 900\nmirror.start = latest\nmirror.run.max.bytes = ${env:X}\n")
    )
    assert {name for name, each in shown.items() if each.is_changed} == {"enabled", "mirror.start", "mirror.run.max.bytes"}


def test_a_reference_stands_as_it_was_written(flow):
    made = flow("mirror.lanes = ${env:LANES}\n", {"LANES": "8"})
    assert shown_properties(made)["mirror.lanes"] == EffectiveValue("${env:LANES}", "mirror.lanes")


def test_client_settings_are_shown_with_the_key_they_come_from_and_secrets_hidden(flow):
    made = flow(SASL.format(password="s3cret") + "east.consumer.fetch.max.bytes = 1000000\n")
    shown = shown_client(made, "source", "consumer")
    assert shown["bootstrap.servers"] == EffectiveValue("127.0.0.1:9001", "east.bootstrap.servers")
    assert shown["fetch.max.bytes"] == EffectiveValue(1_000_000, "east.consumer.fetch.max.bytes")
    assert shown["security.protocol"] == EffectiveValue("sasl_plaintext", "east.security.protocol")
    assert shown["isolation.level"] == EffectiveValue("read_committed", "default")
    assert shown["sasl.username"] == shown["sasl.password"] == EffectiveValue(HIDDEN, "east.sasl.jaas.config")
    assert set(shown) == set(made.client("source", "consumer"))


def test_the_key_is_the_one_that_counts(flow):
    made = flow("east.client.id = a\neast.consumer.client.id = b\neast->west.source.consumer.client.id = c\nclient.id = d\n")
    assert shown_client(made, "source", "consumer")["client.id"].origin == "east->west.source.consumer.client.id"


def test_no_secret_is_in_any_client_whether_it_stands_in_the_file_or_behind_a_reference(flow):
    lines = SASL.format(password="${env:PASSWORD}") + "west.ssl.key.password = in-the-file\nwest.bootstrap.servers = ${env:WEST}\n"
    made = flow(lines, {"PASSWORD": "behind-a-reference", "WEST": "west.example:9092"})
    shown = [shown_client(made, side, role) for side, role in CLIENTS]
    for secret in ("behind-a-reference", "in-the-file", "west.example"):
        assert secret not in repr(shown)
    assert EffectiveValue("${env:WEST}", "west.bootstrap.servers") in [each["bootstrap.servers"] for each in shown]


@pytest.mark.parametrize("kind", ["PEM", "PKCS12"])
@pytest.mark.parametrize("reference", [False, True])
def test_of_stores_the_number_of_certificates_is_shown_and_never_the_key(flow, tmp_path, kind, reference):
    authority = Authority(tmp_path)
    java = authority.key_store(authority.issue("mirror"), kind) | authority.trust_store("PEM")
    environment = {}
    if reference:
        environment = {name: value for name, value in java.items() if name.endswith("location")}
        java |= {name: f"${{env:{name}}}" for name in environment}
    made = flow("east.security.protocol = SSL\n" + "".join(f"east.{name} = {value}\n" for name, value in java.items()), environment)
    shown = shown_client(made, "source", "admin")
    assert "PRIVATE KEY" not in repr(shown) and "BEGIN" not in repr(shown)
    assert shown["ssl.key.pem"] == EffectiveValue(HIDDEN, "east.ssl.keystore.location")
    certificates = {"PEM": "(1 certificates)", "PKCS12": "(2 certificates)"}[kind]
    assert shown["ssl.certificate.pem"].value == ("${env:ssl.keystore.location}" if reference else certificates)


def test_a_secret_that_cannot_be_read_leaves_the_rest_to_be_seen(flow):
    shown = shown_client(flow(SASL.format(password="${env:PASSWORD}"), {}), "source", "admin")
    assert shown["bootstrap.servers"].value == "127.0.0.1:9001"
    assert "sasl.password" not in shown
