"""librdkafka's lines: once and with a count, at WARNING, and without secrets."""

import logging

import pytest
from confluent_kafka.admin import AdminClient

from kafka_mirror.kafka import client_log
from kafka_mirror.kafka.admin import ClientErrors, settings_with
from kafka_mirror.kafka.client_log import RepeatFilter, keep_secret, mask_secrets


@pytest.fixture
def clock():
    return [100.0]


@pytest.fixture
def said(clock):
    """Says a line as the client does, and gives what is logged of it."""
    repeats = RepeatFilter(now=lambda: clock[0])

    def say(facility, text, client="production#producer-1", level=logging.ERROR):
        record = logging.LogRecord("kafka_mirror.librdkafka", level, "", 0, "%s [%s] %s", (facility, client, text), None)
        return (record.levelname, record.getMessage()) if repeats.filter(record) else None

    say.repeats = repeats
    return say


REFUSED = "[thrd:west:9092/1]: west:9092/1: Connect failed: Connection refused (after {}ms in state CONNECT)"


def test_the_same_line_of_any_client_is_logged_once_and_then_with_its_count(said, clock):
    level, text = said("FAIL", REFUSED.format(3))
    assert (level, text) == (
        "WARNING",
        "librdkafka: FAIL [production#producer-1] west:9092/1: Connect failed: Connection refused (after 3ms in state CONNECT)",
    )
    for number in range(2, 100):
        assert said("FAIL", REFUSED.format(number), f"production#producer-{number}") is None
    assert said("FAIL", "[thrd:main]: something else") is not None
    clock[0] += 31
    assert said("FAIL", REFUSED.format(1))[1].endswith("(the same line came 98 times more before)")


@pytest.fixture
def no_secrets(monkeypatch):
    """What clients of other tests have kept is forgotten."""
    monkeypatch.setattr(client_log, "_secrets", set())


def test_a_secret_that_is_the_word_itself_lets_no_other_one_through(said, no_secrets):
    keep_secret({"sasl.password": "secret"})
    _, text = said("CONF", "sasl.oauthbearer.client.secret=abc")
    assert text.endswith("=***")


def test_no_secret_stands_in_a_line(said, no_secrets):
    keep_secret({"sasl.password": "tr0ub4dor", "ssl.key.pem": "-----BEGIN KEY-----", "bootstrap.servers": "west:9092"})
    _, text = said("CONF", 'rejected "tr0ub4dor" and -----BEGIN KEY----- at west:9092; sasl.oauthbearer.client.secret=abc password = "x y"')
    assert "tr0ub4dor" not in text
    assert "BEGIN" not in text
    assert text.endswith('rejected "***" and *** at west:9092; sasl.oauthbearer.client.secret=*** password = ***')
    assert mask_secrets("nothing to hide") == "nothing to hide"


def test_a_real_client_says_that_nobody_answers_once_and_never_its_password(caplog):
    caplog.set_level("WARNING")
    settings = {"bootstrap.servers": "127.0.0.1:1", "sasl.username": "u", "sasl.password": "hunter22", "sasl.mechanism": "PLAIN"}
    client = AdminClient(settings_with({**settings, "security.protocol": "SASL_PLAINTEXT"}, ClientErrors("west", settings)))
    for _ in range(20):
        client.poll(0.05)
    lines = [record.getMessage() for record in caplog.records if record.name == "kafka_mirror.librdkafka"]
    assert len([line for line in lines if "Connection refused" in line]) == 1
    assert "hunter22" not in caplog.text
