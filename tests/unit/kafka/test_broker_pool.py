"""One policy for every question: how long it is asked again, where the next try begins, and what is said in the end."""

import fcntl
import resource
import socket
import ssl
import time

import kafka.errors as errors
import pytest
from kafka.protocol.metadata import FindCoordinatorRequest, MetadataRequest

from kafka_mirror.errors import (
    AuthenticationFailed,
    AuthorizationRefused,
    ClusterUnreachable,
    DeadlineExceeded,
    KafkaFailure,
    TokenUnavailable,
)
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka import broker_pool
from kafka_mirror.kafka.broker_pool import OF_GROUPS, BrokerPool, Coordinator, ask_metadata, receive
from kafka_mirror.kafka.client_login import TokenMissing
from tests.unit.copy.batches.wire_broker import WireBroker
from tests.unit.copy.batches.wire_protocol import KAFKA_2_1

ORDERS = TopicPartition("orders", 0)
FD_SETSIZE = 1024
"""More file descriptors than select() knows."""
LEADER_NOT_AVAILABLE, TOPIC_AUTHORIZATION_FAILED, COORDINATOR_NOT_AVAILABLE = 5, 29, 15


@pytest.fixture
def broker(broker):
    broker.log(*ORDERS).epoch = 3
    return broker


@pytest.fixture
def pool(broker):
    made = BrokerPool("west", broker.settings, 2.0)
    yield made
    made.close()


def test_leaders_are_told_with_their_epoch_and_are_connected_once(pool, broker):
    broker.log("orders", 1)
    leaders = pool.find_leaders([ORDERS, TopicPartition("orders", 1)])
    assert {tp: leader[:2] for tp, leader in leaders.items()} == {ORDERS: (1, 3), TopicPartition("orders", 1): (1, 0)}
    assert pool.connect(1) is pool.pick_connection()
    assert len(pool.connections) == 1


def test_no_topic_is_created_by_asking_for_it(pool, broker):
    pool.find_leaders([ORDERS])
    assert [request.allow_auto_topic_creation for request in broker.of(MetadataRequest)] == [False]


def test_a_leader_that_is_being_elected_is_waited_for(pool, broker):
    broker.refusals[MetadataRequest, None].extend([LEADER_NOT_AVAILABLE] * 2)
    assert pool.find_leaders([ORDERS])[ORDERS].node == 1


def test_a_coordinator_that_moves_is_waited_for(pool, broker):
    broker.refusals[FindCoordinatorRequest, None].extend([COORDINATOR_NOT_AVAILABLE] * 2)
    assert pool.find_coordinator("mirror.4.east.1.0") == 1


def test_a_partition_that_never_appears_is_an_error_in_the_end(broker):
    pool = BrokerPool("west", broker.settings, 0.3)
    with pytest.raises(DeadlineExceeded, match="UNKNOWN_TOPIC_OR_PARTITION"):
        pool.find_leaders([TopicPartition("orders", 9)])


def test_what_we_may_not_see_is_said_at_once(pool, broker):
    broker.refusals[MetadataRequest, None].append(TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(AuthorizationRefused):
        pool.find_leaders([ORDERS])
    assert len(broker.of(MetadataRequest)) == 1


def test_the_second_bootstrap_server_is_asked_where_the_first_is_gone(broker):
    pool = BrokerPool("west", {"bootstrap.servers": f"127.0.0.1:1,127.0.0.1:{broker.port}"}, 2.0)
    assert pool.find_leaders([ORDERS])
    pool.close()


def test_a_cluster_that_is_gone_is_named_with_its_address():
    pool = BrokerPool("west", {"bootstrap.servers": "127.0.0.1:1"}, 0.3)
    with pytest.raises(ClusterUnreachable, match=r"Cluster 'west' did not answer at 127\.0\.0\.1:1"):
        pool.find_leaders([ORDERS])


def test_a_login_that_ends_soon_gets_a_new_connection_when_nothing_is_under_way(pool):
    pool.find_leaders([ORDERS])
    old = pool.connect(1)
    old.renew_at = time.monotonic() - 1
    old.send(MetadataRequest(version=9, topics=[], allow_auto_topic_creation=False), lambda _: None)
    assert pool.connect(1) is old
    receive([pool], 2.0)
    assert pool.connect(1) is not old


def test_answers_are_handed_over_in_the_order_of_the_requests(pool):
    connection, found = pool.pick_connection(), []
    for number in range(3):
        connection.send(FindCoordinatorRequest(version=4, key_type=1, coordinator_keys=[f"{number}"]), found.append)
    while connection.in_flight:
        receive([pool], 2.0)
    assert [answer.coordinators[0].key for answer in found] == ["0", "1", "2"]


@pytest.fixture
def many_files():
    """Lets this process have file descriptors of any number up to 4096; a machine that allows fewer fails here."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4096), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_process_with_thousands_of_open_files_receives_answers(pool, many_files):
    connection = pool.pick_connection()
    connection._socket = socket.socket(fileno=fcntl.fcntl(connection._socket, fcntl.F_DUPFD, 2000))
    answers = []
    connection.send(MetadataRequest(version=9, topics=[], allow_auto_topic_creation=False), answers.append)
    deadline = time.monotonic() + 10
    while not answers and time.monotonic() < deadline:
        receive([pool], 1.0)
    assert [broker.node_id for broker in answers[0].brokers] == [1]


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


def test_what_carries_batches_is_not_mended_and_only_its_opening_goes_on_over_new_connections(broker):
    pool = BrokerPool("west", broker.settings, 5.0, carries_batches=True)
    assert pool.ask("asking", failing(errors.NotCoordinatorError(), errors.ConcurrentTransactionsError(), None)) == 3
    with pytest.raises(ClusterUnreachable, match="gone"):
        pool.ask("asking", failing(ConnectionResetError("gone"), None))
    assert pool.find_leaders([ORDERS])
    pool.pick_connection().close()
    assert pool.find_coordinator("mirror.4.east.1.0") == 1


def test_what_is_under_way_is_waited_for_as_long_as_any_answer_while_something_is_asked(pool, monkeypatch):
    monkeypatch.setattr(broker_pool, "_FIRST_SECONDS", 0.5)
    connection, found = pool.pick_connection(), []
    connection.send(MetadataRequest(version=9, topics=[], allow_auto_topic_creation=False), found.append)
    seen = []
    pool.ask("asking", lambda here: seen.append(here.pick_connection().seconds))
    while connection.in_flight:
        connection.receive()
    pool.ask("asking", lambda here: seen.append(here.pick_connection().seconds))
    assert (seen, connection.seconds, len(found)) == ([2.0, 0.5], 2.0, 1)


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
    pool = BrokerPool("west", broker.settings, 0.3)
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
    patient = BrokerPool("west", broker.settings, 30.0)
    patient.pick_connection()
    patient.release()  # the next pool takes this connection, however slow the machine is
    pool = BrokerPool("west", broker.settings, 0.2)
    pool.pick_connection()
    with pytest.raises(ClusterUnreachable) as unreachable:
        pool.ask("asking", failing(failure))
    assert said.format(broker.port) in unreachable.value.message
    assert f"Cluster 'west' did not answer at 127.0.0.1:{broker.port} within 0.2 s" in unreachable.value.message


def test_the_next_server_is_asked_where_one_says_nothing_and_the_time_suffices_for_it(monkeypatch, broker):
    monkeypatch.setattr(broker_pool, "_FIRST_SECONDS", 0.2)
    silent = WireBroker()
    silent.is_silent_on = MetadataRequest
    try:
        pool = BrokerPool("west", {"bootstrap.servers": f"127.0.0.1:{silent.port},127.0.0.1:{broker.port}"}, 30.0)
        assert pool.ask("asking", lambda here: ask_metadata(here.pick_connection(), ["orders"])).cluster_id == "W"
        assert (len(silent.of(MetadataRequest)), len(broker.of(MetadataRequest))) == (1, 1)
        pool.close()
    finally:
        silent.close()


def test_each_time_an_answer_may_take_longer_and_never_longer_than_is_left(monkeypatch, broker):
    monkeypatch.setattr(broker_pool, "_FIRST_SECONDS", 0.1)
    pool = BrokerPool("west", broker.settings, 1.0)
    shares = []

    def question(_pool):
        shares.append(pool.pick_connection().seconds)
        time.sleep(shares[-1])
        raise TimeoutError

    with pytest.raises(ClusterUnreachable):
        pool.ask("asking", question)
    assert shares[:3] == [0.1, 0.2, 0.4]
    assert sum(shares) <= 1.0


@pytest.mark.parametrize("versions", [{}, KAFKA_2_1])
def test_coordinators_are_found_for_several_at_a_time_with_their_error_codes(pool, broker, versions):
    broker.versions.update(versions)
    here = Coordinator(0, 1, ("127.0.0.1", broker.port))
    assert pool.find_coordinators(["a", "b"], OF_GROUPS) == {"a": here, "b": here}
    assert pool.connect(1) is pool.pick_connection()


def test_an_answer_about_other_coordinators_is_none(pool, broker, monkeypatch):
    monkeypatch.setattr(broker_pool, "_read_coordinators", lambda _answer: {"c": Coordinator(0, 1, ("h", 1))})
    with pytest.raises(KafkaFailure, match="other coordinators"):
        pool.ask("asking", lambda here: here.find_coordinators(["a"], OF_GROUPS))
