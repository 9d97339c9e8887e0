"""The configuration as a person sees it: every value with its origin, and no secret in it."""

from mirror.config.catalogue import CATALOGUE
from mirror.config.flow import CLIENTS
from mirror.config.shown import HIDDEN, Shown, shown_client, shown_properties

SASL = """
east.security.protocol = SASL_PLAINTEXT
east.sasl.mechanism = PLAIN
east.sasl.jaas.config = org.apache.kafka.common.security.plain.PlainLoginModule required username="mirror" password="{password}";
"""


def test_a_value_has_the_key_that_the_user_wrote(flow):
    shown = shown_properties(flow("mirror.lanes = 4\neast->west.mirror.copy.interval.seconds = 30\n"))
    assert shown["mirror.lanes"] == Shown(4, "mirror.lanes")
    assert shown["mirror.copy.interval.seconds"] == Shown(30, "east->west.mirror.copy.interval.seconds")


def test_a_default_says_so_and_where_it_is_taken_from(flow):
    shown = shown_properties(flow("offset-syncs.topic.replication.factor = 2\n"))
    assert shown["mirror.run.max.seconds"] == Shown(300, "default")
    assert shown["mirror.ledger.replication.factor"] == Shown(2, "default: offset-syncs.topic.replication.factor")
    assert shown["source.cluster.alias"] == Shown("east", "default")
    assert [name for name, each in shown.items() if each.is_set] == ["enabled", "offset-syncs.topic.replication.factor"]


def test_every_property_that_has_a_value_is_shown(flow):
    valueless = {name for name, each in CATALOGUE.items() if each.default is None and not each.default_from}
    assert set(CATALOGUE) - set(shown_properties(flow())) <= valueless


def test_a_reference_stands_as_it_was_written(flow):
    made = flow("mirror.lanes = ${env:LANES}\n", {"LANES": "8"})
    assert shown_properties(made)["mirror.lanes"] == Shown("${env:LANES}", "mirror.lanes")


def test_client_settings_are_shown_and_secrets_hidden(flow):
    made = flow(SASL.format(password="s3cret") + "east.consumer.fetch.max.bytes = 1000000\n")
    shown = shown_client(made, "source", "consumer")
    assert shown["bootstrap.servers"] == "127.0.0.1:9001"
    assert shown["fetch.max.bytes"] == 1_000_000
    assert shown["security.protocol"] == "sasl_plaintext"
    assert (shown["sasl.username"], shown["sasl.password"]) == (HIDDEN, HIDDEN)
    assert set(shown) == set(made.client("source", "consumer"))


def test_no_secret_is_in_any_client_whether_it_stands_in_the_file_or_behind_a_reference(flow):
    lines = SASL.format(password="${env:PASSWORD}") + "west.ssl.key.password = in-the-file\nwest.bootstrap.servers = ${env:WEST}\n"
    made = flow(lines, {"PASSWORD": "behind-a-reference", "WEST": "west.example:9092"})
    text = repr([shown_client(made, side, role) for side, role in CLIENTS])
    for secret in ("behind-a-reference", "in-the-file", "west.example"):
        assert secret not in text
    assert "${env:WEST}" in text


def test_a_secret_that_cannot_be_read_leaves_the_rest_to_be_seen(flow):
    shown = shown_client(flow(SASL.format(password="${env:PASSWORD}"), {}), "source", "admin")
    assert shown["bootstrap.servers"] == "127.0.0.1:9001"
    assert "sasl.password" not in shown
