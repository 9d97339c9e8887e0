"""One policy for every question: how long it is asked again, where the next try begins, and what is said in the end."""

import socket
import ssl
import time

import kafka.errors as errors
import pytest
from kafka.protocol.metadata import MetadataRequest

from mirror.errors import AuthenticationFailed, ClusterUnreachable, DeadlineExceeded, KafkaFailure, TokenUnavailable
from mirror.kafka import question_pool
from mirror.kafka.broker_pool import ask_metadata
from mirror.kafka.question_pool import OF_GROUPS, AskingPool, Coordinator
from mirror.kafka.tokens import TokenMissing
from tests.unit.copy.batches.wire_broker import WireBroker
from tests.unit.copy.batches.wire_protocol import KAFKA_2_1

COORDINATOR_NOT_AVAILABLE = 15


@pytest.fixture
def broker():
    made = WireBroker()
    made.log("orders", 0)
    yield made
    made.close()


@pytest.fixture
def pool(broker):
    made = AskingPool("west", broker.settings, 5.0)
    yield made
    made.close()


def failing(*failures):
    """A question that fails like this, time after time, and then gives how often it was asked; it goes by the last one for ever."""
    asked = []

    def question(_pool):
        asked.append(1)
        failure = failures[min(len(asked), len(failures)) - 1]
        if failure is not None:
            raise failure
        return len(asked)

    return question


@pytest.mark.parametrize(
    "passing", [errors.CoordinatorNotAvailableError(), errors.LeaderNotAvailableError(), ConnectionResetError("gone"), TimeoutError()]
)
def test_what_passes_is_asked_again(pool, passing):
    assert pool.ask("asking", failing(passing, passing, None)) == 3


@pytest.mark.parametrize(
    ("lasting", "kind"),
    [
        (errors.ClusterAuthorizationFailedError(), "AuthorizationRefused"),
        (errors.InvalidGroupIdError(), "KafkaFailure"),
        (errors.UnsupportedVersionError(), "KafkaFailure"),
        (errors.KafkaProtocolError("an answer cannot be read"), "KafkaFailure"),
        (errors.UnsupportedSaslMechanismError(), "AuthenticationFailed"),
    ],
)
def test_what_lasts_is_an_error_soon(pool, lasting, kind):
    with pytest.raises(Exception, match="west") as failure:
        pool.ask("asking", failing(lasting, lasting, None))  # a third question would be answered
    assert type(failure.value).__name__ == kind


def test_one_refusal_of_our_login_may_be_a_broker_that_is_just_starting(pool):
    refused = errors.SaslAuthenticationFailedError("Authentication failed: Invalid username or password")
    assert pool.ask("asking", failing(refused, None)) == 2
    with pytest.raises(AuthenticationFailed, match=r"refused the connection: Authentication failed: Invalid username or password\."):
        pool.ask("asking", failing(refused))


def test_without_a_token_nobody_is_asked_again(pool):
    with pytest.raises(TokenUnavailable, match="there is no token to log in with: the file is empty"):
        pool.ask("asking", failing(TokenMissing("the file is empty"), None))


def test_what_should_pass_and_does_not_says_what_to_look_at(broker):
    pool = AskingPool("west", broker.settings, 0.3)
    with pytest.raises(DeadlineExceeded, match=r"Cluster 'west': asking did not end within 0\.3 s: COORDINATOR_NOT_AVAILABLE.*restarted"):
        pool.ask("asking", failing(errors.CoordinatorNotAvailableError()))
    with pytest.raises(DeadlineExceeded, match=r"REQUEST_TIMED_OUT.*load and the network"):
        pool.ask("asking", failing(errors.RequestTimedOutError()))


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (ConnectionRefusedError(111, "Connection refused"), "Connecting to '127.0.0.1:{}' failed: Connection refused"),
        (socket.gaierror(-2, "Name or service not known"), "Failed to resolve '127.0.0.1:{}': Name or service not known"),
        (TimeoutError(), "nothing refuses the connection either"),
        (ConnectionResetError("the broker closed the connection"), "as they do if security.protocol is not the listener's"),
        (ssl.SSLEOFError(8, "EOF occurred"), "EOF occurred"),
    ],
)
def test_why_a_cluster_cannot_be_reached_is_said_with_the_address(broker, failure, said):
    pool = AskingPool("west", broker.settings, 0.2)
    pool.some()
    with pytest.raises(ClusterUnreachable) as unreachable:
        pool.ask("asking", failing(failure))
    assert said.format(broker.port) in unreachable.value.message
    assert f"Cluster 'west' did not answer at 127.0.0.1:{broker.port} within 0.2 s" in unreachable.value.message


def test_the_next_server_is_asked_where_one_says_nothing_and_the_time_suffices_for_it(monkeypatch, broker):
    monkeypatch.setattr(question_pool, "_FIRST_SECONDS", 0.2)
    silent = WireBroker()
    silent.is_silent_on = MetadataRequest
    try:
        pool = AskingPool("west", {"bootstrap.servers": f"127.0.0.1:{silent.port},127.0.0.1:{broker.port}"}, 30.0)
        assert pool.ask("asking", lambda here: ask_metadata(here.some(), ["orders"])).cluster_id == "W"
        assert (len(silent.of(MetadataRequest)), len(broker.of(MetadataRequest))) == (1, 1)
        pool.close()
    finally:
        silent.close()


def test_each_time_an_answer_may_take_longer_and_never_longer_than_is_left(monkeypatch, broker):
    monkeypatch.setattr(question_pool, "_FIRST_SECONDS", 0.1)
    pool = AskingPool("west", broker.settings, 1.0)
    shares = []

    def question(_pool):
        shares.append(pool.seconds)
        time.sleep(pool.seconds)
        raise TimeoutError

    with pytest.raises(ClusterUnreachable):
        pool.ask("asking", question)
    assert shares[:3] == [0.1, 0.2, 0.4]
    assert sum(shares) <= 1.0


@pytest.mark.parametrize("versions", [{}, KAFKA_2_1])
def test_coordinators_are_found_for_several_at_a_time_with_their_error_codes(pool, broker, versions):
    broker.versions.update(versions)
    here = Coordinator(0, 1, ("127.0.0.1", broker.port))
    assert pool.coordinators(["a", "b"], OF_GROUPS) == {"a": here, "b": here}
    assert pool.to(1) is pool.some()


def test_an_answer_about_other_coordinators_is_none(pool, broker, monkeypatch):
    monkeypatch.setattr(question_pool, "_coordinators", lambda _answer: {"c": Coordinator(0, 1, ("h", 1))})
    with pytest.raises(KafkaFailure, match="other coordinators"):
        pool.ask("asking", lambda here: here.coordinators(["a"], OF_GROUPS))
