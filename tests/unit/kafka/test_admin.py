"""What librdkafka's client says: as an error of ours, and in the log once and with a count, at WARNING, and without secrets."""

import logging

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from kafka_mirror.errors import AuthenticationFailed, AuthorizationRefused, ClusterUnreachable, DeadlineExceeded, KafkaFailure
from kafka_mirror.kafka import client_login
from kafka_mirror.kafka.admin import ClientErrors, RepeatFilter, settings_with, to_mirror_error
from kafka_mirror.kafka.client_login import keep_secret, mask_secrets
from kafka_mirror.kafka.connection_errors import collect_refusal

REFUSED = KafkaError(
    KafkaError._AUTHENTICATION,
    "sasl_plaintext://127.0.0.1:9092/bootstrap: SASL authentication error: Authentication failed: Invalid username or password "
    "(after 316ms in state AUTH_REQ, 4 identical error(s) suppressed)",
)
NO_LISTENER = KafkaError(
    KafkaError._TRANSPORT, "east:9092/bootstrap: Connect to ipv4#10.0.0.7:9092 failed: Connection refused (after 0ms in state CONNECT)"
)
ALL_DOWN = KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down")


def complaints():
    """Of a cluster of whose client nothing was heard yet."""
    return ClientErrors("east", {"bootstrap.servers": "east:9092"})


def ours(code, *heard, **facts):
    """The error of ours for a client's error of this code (or another exception), after these complaints."""
    told = complaints()
    for complaint in heard:
        told(complaint)
    failure = code if isinstance(code, BaseException) else KafkaException(KafkaError(code))
    return to_mirror_error(failure, told, step="listing offsets", seconds=5, **facts)


@pytest.mark.parametrize("code", [KafkaError._TIMED_OUT, KafkaError._TRANSPORT])
def test_a_call_that_waited_in_vain_tells_the_reason_that_only_the_background_threads_know(code):
    error = ours(code, NO_LISTENER, ALL_DOWN)
    assert isinstance(error, ClusterUnreachable)
    assert error.message == (
        "Cluster 'east' did not answer at east:9092 within 5 s: Connect to ipv4#10.0.0.7:9092 failed: Connection refused."
    )
    assert error.retriable


def test_refused_credentials_are_told_whatever_the_call_says():
    for code in (KafkaError._TIMED_OUT, KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN):
        error = ours(code, REFUSED, ALL_DOWN)
        assert isinstance(error, AuthenticationFailed)
        assert error.message.endswith("SASL authentication error: Authentication failed: Invalid username or password.")
        assert not error.retriable
        assert "east.sasl.*" in error.next


def test_a_broker_that_only_closes_connections_points_to_the_protocol():
    assert "security.protocol" in ours(KafkaError._TRANSPORT, ALL_DOWN).message


def test_silence_says_that_nothing_refused_either():
    assert "a hanging broker" in ours(KafkaError._TRANSPORT).message


@pytest.mark.parametrize("failure", [KafkaError._TIMED_OUT, TimeoutError()])
def test_a_deadline_without_any_complaint_names_step_cluster_and_address(failure):
    error = ours(failure)
    assert isinstance(error, DeadlineExceeded)
    assert error.message == "Cluster 'east' at east:9092: listing offsets did not end within 5 s."
    assert error.retriable


def test_a_refusal_names_operation_resource_and_cluster():
    error = ours(KafkaError.TOPIC_AUTHORIZATION_FAILED, topic="orders", operation="READ")
    assert isinstance(error, AuthorizationRefused)
    assert (error.operation, error.resource, error.cluster, error.topic) == ("READ", "topic orders", "east", "orders")
    assert error.message == "Cluster 'east' refuses READ on topic orders."
    assert not error.retriable


@pytest.mark.parametrize(
    ("code", "resource"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, "the topic"),
        (KafkaError.CLUSTER_AUTHORIZATION_FAILED, "the cluster"),
        (KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "the transactional id"),
    ],
)
def test_a_refusal_without_a_topic_names_the_kind_of_resource(code, resource):
    assert ours(code).resource == resource


def test_any_other_error_keeps_the_name_that_kafka_gives_it():
    error = ours(KafkaError.INVALID_REPLICATION_FACTOR, topic="orders")
    assert isinstance(error, KafkaFailure)
    assert (error.reason, error.topic, error.retriable) == ("INVALID_REPLICATION_FACTOR", "orders", True)
    assert error.message == "Cluster 'east': listing offsets failed: INVALID_REPLICATION_FACTOR: Broker: Invalid replication factor."


def test_the_sentence_of_the_client_gets_one_full_stop():
    assert ours(KafkaException(KafkaError(KafkaError._FAIL, "Local: no luck."))).message.endswith("_FAIL: Local: no luck.")


def test_one_refusal_of_credentials_is_not_believed_and_two_are():
    told = complaints()
    told(REFUSED)
    told.raise_refusal()
    told(ALL_DOWN)
    told(REFUSED)
    with pytest.raises(AuthenticationFailed, match="Invalid username or password"):
        told.raise_refusal()


@pytest.mark.parametrize(("mechanism", "is_refusal"), [("OAUTHBEARER", False), ("PLAIN", True)])
def test_a_login_that_is_renewed_too_early_is_no_refusal_and_sasl_on_a_listener_without_it_is(mechanism, is_refusal):
    said = (
        f"sasl_plaintext://127.0.0.1:9092/1: SASL {mechanism} mechanism handshake failed: Broker: Request not valid in current SASL state: "
        "broker's supported mechanisms:  (after 3ms in state AUTH_HANDSHAKE)"
    )
    complaints = ClientErrors("west", {"bootstrap.servers": "b:1"})
    for _ in range(2):
        complaints(KafkaError(KafkaError._AUTHENTICATION, said))
    assert bool(complaints.refusals) is is_refusal
    cut_off = KafkaException(KafkaError(KafkaError._AUTHENTICATION, "FindCoordinator response error: Local: Authentication failure"))
    assert to_mirror_error(cut_off, complaints, step="fencing", seconds=5).retriable is not is_refusal


CUT_SHORT = KafkaError(
    KafkaError._AUTHENTICATION,
    "GroupCoordinator: 127.0.0.1:9092: SASL OAUTHBEARER mechanism handshake failed: Local: Broker transport failure: "
    "broker's supported mechanisms: (n/a) (after 1ms in state AUTH_HANDSHAKE)",
)


@pytest.mark.parametrize("told_by", ["the client's threads", "the call"])
def test_a_connection_that_breaks_in_a_login_is_lost_and_not_refused(told_by):
    heard = [CUT_SHORT] * 3 if told_by == "the client's threads" else []
    error = ours(KafkaException(CUT_SHORT), *heard)
    assert isinstance(error, ClusterUnreachable)
    assert error.retriable
    told = complaints()
    for _ in range(3):
        told(CUT_SHORT)
    told.raise_refusal()


def test_a_refusal_stays_one_beside_a_connection_that_broke_in_a_login():
    assert isinstance(ours(KafkaError._TRANSPORT, CUT_SHORT, REFUSED), AuthenticationFailed)


# ---------------------------------------------------------------- asking again and again


@pytest.mark.parametrize("code", [KafkaError.TOPIC_EXCEPTION, KafkaError.UNKNOWN, KafkaError.TOPIC_AUTHORIZATION_FAILED])
def test_what_a_broker_says_of_one_topic_leaves_out_that_topic_alone(code):
    errors = {}
    error = ours(code, topic="orders")
    assert collect_refusal(error, errors)
    assert errors == {"orders": error}
    assert not collect_refusal(error, None), "whoever does not take errors gets it raised"


@pytest.mark.parametrize("code", [KafkaError._TIMED_OUT, KafkaError._TRANSPORT, KafkaError._FAIL, KafkaError.REQUEST_TIMED_OUT])
def test_what_concerns_the_whole_request_leaves_out_no_topic(code):
    assert not collect_refusal(ours(code, topic="orders"), {})


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


LINE = "[thrd:west:9092/1]: west:9092/1: Connect failed: Connection refused (after {}ms in state CONNECT)"


def test_the_same_line_of_any_client_is_logged_once_and_then_with_its_count(said, clock):
    level, text = said("FAIL", LINE.format(3))
    assert (level, text) == (
        "WARNING",
        "librdkafka: FAIL [production#producer-1] west:9092/1: Connect failed: Connection refused (after 3ms in state CONNECT)",
    )
    for number in range(2, 100):
        assert said("FAIL", LINE.format(number), f"production#producer-{number}") is None
    assert said("FAIL", "[thrd:main]: something else") is not None
    clock[0] += 31
    assert said("FAIL", LINE.format(1))[1].endswith("(the same line came 98 times more before)")


@pytest.fixture
def no_secrets(monkeypatch):
    """What clients of other tests have kept is forgotten."""
    monkeypatch.setattr(client_login, "_secrets", set())


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
