"""What only shows when references are resolved: all of it at once."""

import pytest

from kafka_mirror.config.validate import check_readable, unreadable, with_unreadable
from kafka_mirror.errors import ConfigurationError
from tests.unit.config.conftest import HEAD

JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="mirror" password="%s";'
SASL = "{alias}.security.protocol = SASL_PLAINTEXT\n{alias}.sasl.mechanism = PLAIN\n{alias}.sasl.jaas.config = " + JAAS + "\n"


def test_a_flow_whose_references_lead_somewhere_is_readable(flow):
    made = flow(SASL.format(alias="east") % "${env:PASSWORD}" + "mirror.lanes = ${env:LANES}\n", {"PASSWORD": "x", "LANES": "4"})
    assert unreadable(made) == []
    check_readable(made)


def test_secrets_of_both_clusters_and_values_are_reported_together_and_once(flow, tmp_path):
    lines = SASL.format(alias="east") % "${env:PASSWORD}" + SASL.format(alias="west") % f"${{dir:{tmp_path}:password}}"
    made = flow(lines + f"mirror.lanes = ${{file:{tmp_path}/lanes:lanes}}\nreplication.factor = ${{env:MANY}}\n", {"MANY": "many"})
    with pytest.raises(ConfigurationError) as raised:
        check_readable(made)
    assert [problem.property for problem in raised.value.problems] == [
        "east.sasl.jaas.config",
        "west.sasl.jaas.config",
        "mirror.lanes",
        "replication.factor",
    ]
    assert raised.value.flow == "east->west"


def test_what_else_is_wrong_with_a_client_is_told_beside_an_unreadable_secret(flow, tmp_path):
    store = f"east.security.protocol = SSL\neast.ssl.truststore.type = PEM\neast.ssl.truststore.location = {tmp_path}/none.pem\n"
    found = unreadable(flow(store + "east.ssl.key.password = ${env:NOWHERE}\nwest.client.rack = ${env:NOPE}\n", {}))
    assert {"east.ssl.truststore.location", "east.ssl.key.password"} <= {problem.property for problem in found}


def test_mistakes_of_all_kinds_of_an_invalid_flow_come_in_one_round(configuration):
    lines = (SASL.format(alias="west") % "${env:NO_SUCH}").replace(
        "PLAIN\n", "SCRAM-SHA-1024\n"
    ) + "mirror.lane = 3\nmirror.installation = ${env:NOPE}\n"
    made = with_unreadable(configuration(HEAD.replace("west.boot", "wset.boot") + lines, {}))
    (invalid,) = made.invalid
    assert [(problem.property, problem.line) for problem in invalid.error.problems] == [
        ("west.sasl.mechanism", 7),
        ("west.sasl.jaas.config", 8),
        ("mirror.lane", 9),
        ("mirror.installation", 10),
        ("west.bootstrap.servers", None),
    ]
    assert made.notices[0].partition(": ")[0].endswith(":4"), "the misspelt one"


def test_a_secret_of_the_producer_alone_is_found_before_anything_is_written(flow):
    (problem,) = unreadable(flow("west.producer.ssl.key.password = ${env:NOWHERE}\n", {}))
    assert problem.property == "west.producer.ssl.key.password"
    assert "NOWHERE is not set" in problem.message


def test_what_a_reference_leads_to_stands_in_no_message(flow):
    (problem,) = unreadable(flow("mirror.lanes = ${env:LANES}\n", {"LANES": "hunter2"}))
    assert "hunter2" not in str(problem)


def test_the_token_of_the_metrics_need_not_be_known_where_tasks_run(flow):
    assert unreadable(flow("mirror.metrics.token = ${env:NOWHERE}\n", {})) == []
