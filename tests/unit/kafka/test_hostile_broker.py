"""A broker, or whatever answers on its port, that means no good: its bytes end in an error of the protocol, and cost no memory and no
time."""

import socket
import struct
import tracemalloc
from threading import Event, Thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.errors import KafkaError, KafkaProtocolError
from kafka.protocol.metadata import MetadataRequest

from kafka_mirror.kafka import broker_connection, polling
from kafka_mirror.kafka.broker_connection import BrokerConnection
from kafka_mirror.kafka.client_login import python_settings
from kafka_mirror.kafka.polling import LONGEST_THROTTLE_SECONDS, throttle_seconds

PLAIN = {"bootstrap.servers": "127.0.0.1:1", "client.id": "mirror", "security.protocol": "plaintext"}
SCRAM = {**PLAIN, "security.protocol": "sasl_plaintext", "sasl.mechanism": "SCRAM-SHA-256", "sasl.username": "u", "sasl.password": "p"}
NEEDED = (0, 1, 3, 10, 17, 18, 22, 24, 26, 36)
API_VERSIONS, HANDSHAKE, AUTHENTICATE = 1, 2, 3
"""The numbers of the first requests of a connection."""


def frame(number, body):
    return struct.pack(">ii", len(body) + 4, number) + body


def api_versions(throttle=0):
    keys = b"".join(struct.pack(">hhhB", key, 0, 30, 0) for key in NEEDED)
    return struct.pack(">hB", 0, len(NEEDED) + 1) + keys + struct.pack(">iB", throttle, 0)


def handshake():
    name = b"SCRAM-SHA-256"
    return struct.pack(">hih", 0, 1, len(name)) + name


def challenge(text):
    return struct.pack(">hhi", 0, -1, len(text)) + text + struct.pack(">q", 0)


@pytest.fixture
def told(monkeypatch):
    """Opens a connection to somebody who has sent all of this already, and then hangs up (unless it `stays`)."""
    ends = []

    def connect(sent, configured=PLAIN, seconds=2.0, stays=False):
        here, there = socket.socketpair()
        ends.extend((here, there))
        here.setblocking(False)
        there.sendall(sent)
        if not stays:
            there.shutdown(socket.SHUT_WR)
        monkeypatch.setattr(broker_connection, "_connect", lambda *_: here)
        return BrokerConnection(("127.0.0.1", 1), python_settings(configured), seconds)

    yield connect
    for end in ends:
        end.close()


@pytest.mark.parametrize("size", [(1 << 20) + 1, 1 << 30, 0x7FFFFFFF, -1, 0, 3])
def test_before_the_login_an_answer_is_small_or_refused(told, size):
    with pytest.raises(KafkaProtocolError, match=f"an answer of {size} bytes"):
        told(struct.pack(">i", size), stays=True)


def test_a_port_that_speaks_tls_is_called_so(told):
    with pytest.raises(KafkaProtocolError, match=r"this looks like TLS: the port wants security\.protocol=SSL"):
        told(bytes.fromhex("15030300020246"), stays=True)


def test_memory_is_taken_as_bytes_come_and_not_as_they_are_announced(told):
    connection = told(frame(API_VERSIONS, api_versions()) + struct.pack(">ii", 1 << 29, 2) + bytes(50_000))
    tracemalloc.start()
    with pytest.raises(ConnectionResetError):
        connection.ask(MetadataRequest(version=12, topics=[]))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4_000_000


def test_an_answer_that_trickles_in_is_not_waited_for_byte_by_byte(monkeypatch):
    here, there = socket.socketpair()
    here.setblocking(False)
    monkeypatch.setattr(broker_connection, "_connect", lambda *_: here)
    monkeypatch.setattr(broker_connection, "_LEAST_BYTES_PER_SECOND", 1_000_000)
    most, sent = 2_000, []

    def trickle():
        try:
            there.sendall(struct.pack(">i", 100_000))
            for number in range(most):
                there.sendall(b"\0")
                sent.append(number)
                stopped.wait(0.02)
        except OSError:
            pass  # it was hung up on

    stopped = Event()
    sender = Thread(target=trickle)
    sender.start()
    with pytest.raises(TimeoutError):
        BrokerConnection(("127.0.0.1", 1), python_settings(PLAIN), 0.3)
    here.close()
    sender.join()
    there.close()
    assert len(sent) < most, "it was waited for as long as something came"


@pytest.mark.parametrize("throttle", [2**31 - 1, 60_001, -(2**31), 15_000])
def test_a_broker_is_taken_at_its_word_for_a_minute_at_most(monkeypatch, told, throttle):
    assert 0 <= throttle_seconds(throttle) <= LONGEST_THROTTLE_SECONDS
    monkeypatch.setattr(polling, "LONGEST_THROTTLE_SECONDS", 0.1)
    connection = told(frame(API_VERSIONS, api_versions(throttle)), seconds=0.1, stays=True)
    with pytest.raises(TimeoutError):
        connection.ask(MetadataRequest(version=12, topics=[]))


@settings(max_examples=300)
@given(
    st.binary(max_size=60)
    | st.builds(
        lambda at, piece: api_versions()[:at] + piece + api_versions()[at:], st.integers(0, 60), st.sampled_from((b"\xff" * 9, b"\0"))
    )
)
def test_whatever_stands_in_a_brokers_first_answer_is_read_or_refused(body):
    patch = pytest.MonkeyPatch()
    here, there = socket.socketpair()
    here.setblocking(False)
    there.sendall(frame(API_VERSIONS, body))
    there.shutdown(socket.SHUT_WR)
    with patch.context() as context, here, there:
        context.setattr(broker_connection, "_connect", lambda *_: here)
        try:
            BrokerConnection(("127.0.0.1", 1), python_settings(PLAIN), 2.0)
        except (OSError, KafkaError) as failure:
            assert str(failure) is not None


@pytest.mark.parametrize(
    "text", [b"", b"\xff\xfe", b"r=zzz,s=AAAA,i=4096", b"r=,s=A,i=x", b"r", b"i=4096", b"e=other-error", b"r=x,s=?,i=99999999999"]
)
def test_a_challenge_that_is_none_is_an_error_of_the_protocol(told, text):
    answers = frame(API_VERSIONS, api_versions()) + frame(HANDSHAKE, handshake()) + frame(AUTHENTICATE, challenge(text))
    with pytest.raises(KafkaProtocolError, match="the broker's side of the login by SCRAM-SHA-256 is refused"):
        told(answers, SCRAM)


@pytest.mark.parametrize("iterations", [0, 1, 4095])
def test_a_broker_cannot_make_a_password_cheap_to_guess(told, iterations):
    text = challenge(b"r=zzz,s=AAAA,i=%d" % iterations)
    answers = frame(API_VERSIONS, api_versions()) + frame(HANDSHAKE, handshake()) + frame(AUTHENTICATE, text)
    with pytest.raises(KafkaProtocolError, match=f"it wants {iterations} iterations, and 4096 is the least"):
        told(answers, SCRAM)
