"""References to Airflow's connections: what the configuration makes of them without any Airflow."""

import json

import pytest

from kafka_mirror.config import references
from kafka_mirror.config.effective import shown_client
from kafka_mirror.config.flow import hand_over_connections
from kafka_mirror.config.references import HANDED_OVER
from kafka_mirror.errors import ConfigurationError

JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="${conn:kafka:login}" password="${conn:kafka:password}";'
SASL = f"east.security.protocol = SASL_PLAINTEXT\neast.sasl.mechanism = PLAIN\neast.sasl.jaas.config = {JAAS}\n"
KNOWN = {"kafka:login": "mirror", "kafka:password": "hunter2", "kafka:extra.bootstrap.servers": "a:1,b:2"}


@pytest.fixture
def asked(monkeypatch):
    """What Airflow was asked for, in order; it knows what KNOWN has."""
    log = []

    def lookup(connection, field):
        log.append(f"{connection}:{field}")
        if log[-1] not in KNOWN:
            raise ValueError(f"there is no {connection}")
        return KNOWN[log[-1]]

    monkeypatch.setattr(references, "_lookup", [lookup])
    return log


@pytest.fixture
def nobody(monkeypatch):
    """As outside Airflow."""
    monkeypatch.setattr(references, "_lookup", [])


def test_a_connection_gives_the_settings_of_a_client(flow, asked):
    made = flow(SASL + "east.bootstrap.servers = ${conn:kafka:extra.bootstrap.servers}\n")
    found = made.client("source", "consumer")
    assert (found["sasl.username"], found["sasl.password"], found["bootstrap.servers"]) == ("mirror", "hunter2", "a:1,b:2")


def test_nothing_is_asked_until_a_client_is_made(flow, configuration, asked):
    made = flow(SASL)
    assert (made.notices, repr(made), made.config_hash, asked) == (made.notices, repr(made), made.config_hash, [])
    made.client("source", "admin")
    assert asked == ["kafka:login", "kafka:password"]


@pytest.mark.parametrize(
    ("line", "property_"),
    [
        ("mirror.lanes = ${conn:kafka:port}", "mirror.lanes"),
        ("mirror.copy.interval.seconds = ${conn:kafka:port}", "mirror.copy.interval.seconds"),
        ("refresh.topics.enabled = ${conn:kafka:schema}", "refresh.topics.enabled"),
        ("east->west.enabled = ${conn:kafka:schema}", "east->west.enabled"),
    ],
)
def test_what_is_read_while_dags_are_parsed_cannot_come_from_a_connection(problems, asked, line, property_):
    found = problems(line)
    assert "while DAG files are parsed" in found[property_]
    assert asked == []


def test_clusters_cannot_come_from_a_connection(configuration, asked):
    with pytest.raises(ConfigurationError, match="while DAG files are parsed"):
        configuration("clusters = ${conn:kafka:schema}\n")
    assert asked == []


@pytest.mark.parametrize("reference", ["${conn:kafka:uri}", "${conn:kafka:extra.}", "${conn:password}", "${conn:kafka:conn_type}"])
def test_a_field_that_no_connection_has_is_told_when_the_file_is_loaded(problems, asked, reference):
    assert "${conn:…}" in problems(f"east.ssl.key.password = {reference}\n")["east.ssl.key.password"]
    assert asked == []


def test_outside_airflow_a_sentence_says_what_to_use_instead(flow, nobody):
    with pytest.raises(ConfigurationError, match=r"known to Airflow's tasks alone; use \$\{env:…\}"):
        flow(SASL).client("source", "admin")


def test_a_job_is_handed_what_its_clients_need_and_needs_no_airflow(flow, asked, monkeypatch):
    variables = hand_over_connections(flow(SASL + "west.ssl.provider = ${conn:kafka:login}\n"))
    assert json.loads(variables[HANDED_OVER]) == {"kafka:login": "mirror", "kafka:password": "hunter2"}
    monkeypatch.setattr(references, "_lookup", [])
    assert flow(SASL, variables).client("source", "admin")["sasl.password"] == "hunter2"


def test_a_flow_without_connections_hands_over_nothing(flow, asked):
    assert hand_over_connections(flow("west.ssl.key.password = ${env:NOT_SET}\n")) == {}


def test_what_airflow_does_not_give_is_named_with_property_and_reference(flow, asked):
    with pytest.raises(ConfigurationError) as raised:
        hand_over_connections(flow("east.consumer.ssl.key.password = ${conn:nowhere:password}\n"))
    (problem,) = raised.value.problems
    assert problem.property == "east.consumer.ssl.key.password"
    assert "${conn:nowhere:password} cannot be read: there is no nowhere" in problem.message


def test_what_a_connection_gives_is_not_shown(flow, asked):
    shown = repr(shown_client(flow(SASL + "east.bootstrap.servers = ${conn:kafka:extra.bootstrap.servers}\n"), "source", "admin"))
    assert "hunter2" not in shown
    assert "a:1,b:2" not in shown
    assert "${conn:kafka:extra.bootstrap.servers}" in shown


def test_a_provider_of_the_files_own_named_conn_is_that_one(flow, tmp_path):
    (tmp_path / "secrets").write_text("key = x\n")
    declared = "config.providers = conn\nconfig.providers.conn.class = org.apache.kafka.common.config.provider.FileConfigProvider\n"
    made = flow(declared + f"mirror.installation = ${{conn:{tmp_path}/secrets:key}}\n")
    assert made.value("mirror.installation") == "x"
