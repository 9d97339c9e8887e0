"""A connection to a broker that speaks the protocol: requests in parts, and answers in whatever pieces they come."""

import random
import socket
import ssl
import struct
from threading import Thread

import pytest
from kafka.errors import KafkaProtocolError
from kafka.protocol.producer import ProduceRequest

from kafka_mirror.kafka import produce_request
from kafka_mirror.kafka.broker_connection import BrokerConnection, SendBuffer
from kafka_mirror.kafka.client_login import python_settings
from kafka_mirror.kafka.produce_request import ProduceRequests, read_produced
from services.certificates import KEY_PASSWORD, Authority
from services.waiting import PATIENCE
from tests.unit.copy.batches.conftest import batch_of
from tests.unit.copy.batches.wire_protocol import UNKNOWN_TOPIC_OR_PARTITION


@pytest.fixture
def connection(broker):
    made = BrokerConnection(("127.0.0.1", broker.port), python_settings(broker.settings), PATIENCE)
    yield made
    made.close()


@pytest.mark.parametrize("partitions", [1, 3, 700])
def test_a_request_of_more_parts_and_bytes_than_a_socket_takes_arrives_whole(connection, broker, partitions):
    connection._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8 * 1024)
    batch = bytes(batch_of([b"v" * 10_000]))
    parts = ProduceRequests("id", 1).build_parts({"orders": [(number, batch[:61], memoryview(batch)[61:]) for number in range(partitions)]})
    answers = []
    connection.queue_parts(produce_request.KEY, 12, parts, lambda body: read_produced(body, 12), answers.append)
    connection.flush()
    connection.receive()
    (request,) = broker.of(ProduceRequest)
    assert [(data.index, bytes(data.records)) for data in request.topic_data[0].partition_data] == [
        (number, batch) for number in range(partitions)
    ]
    assert [(answer.partition, answer.error_code) for answer in answers[0].batches] == [
        (number, UNKNOWN_TOPIC_OR_PARTITION) for number in range(partitions)
    ]


@pytest.mark.parametrize("piece", [1, 3, 7, 1000])
def test_answers_are_read_whole_in_whatever_pieces_they_come(connection, piece):
    here, there = socket.socketpair()
    here.setblocking(False)
    connection._socket = here
    bodies = [b"", b"a", b"b" * 20_000, b"c"]
    found = []
    for _ in bodies:
        connection.queue_parts(produce_request.KEY, 12, [b""], bytes, found.append)
    numbers = [number for number, *_ in connection._waiting]
    stream = b"".join(struct.pack(">ii", len(body) + 5, number) + b"\0" + body for body, number in zip(bodies, numbers, strict=True))
    sender = Thread(target=lambda: [there.sendall(stream[at : at + piece]) for at in range(0, len(stream), piece)])
    sender.start()
    while len(found) < len(bodies):
        connection.receive()
    sender.join()
    assert found == bodies
    there.close()


def test_a_broker_that_does_not_answer_in_time_is_not_waited_for_any_longer(connection):
    here, there = socket.socketpair()
    here.setblocking(False)
    connection._socket, connection.seconds = here, 0.05
    connection.queue_parts(produce_request.KEY, 12, [b""], bytes, lambda _: None)
    with pytest.raises(TimeoutError):
        connection.receive()
    there.close()
    with pytest.raises(ConnectionResetError):
        connection.receive()


def test_requests_that_were_queued_are_sent_together_and_answered_in_order(connection, broker):
    batch = bytes(batch_of([b"v"]))
    answers = []
    for topic in ("orders", "payments", "returns"):
        parts = ProduceRequests("id", 1).build_parts({topic: [(0, batch[:61], memoryview(batch)[61:])]})
        connection.queue_parts(produce_request.KEY, 12, parts, lambda body: read_produced(body, 12), answers.append)
    assert broker.of(ProduceRequest) == []
    assert connection.in_flight == 3
    assert connection.bytes_in_flight > 3 * len(batch)
    connection.flush()
    while connection.in_flight:
        connection.receive()
    assert [answer.batches[0].topic for answer in answers] == ["orders", "payments", "returns"]
    assert connection.bytes_in_flight == 0


def test_a_broker_that_reads_no_further_before_its_answer_is_taken_blocks_nobody(connection):
    """As brokers do; what is on the way in either direction is more than both sockets hold."""
    here, there = socket.socketpair()
    here.setblocking(False)
    connection._socket, connection._seconds = here, 1.0
    answers = []
    requests = [[b"", b"r" * 2_000_000] for _ in range(3)]
    for parts in requests:
        connection.queue_parts(produce_request.KEY, 12, parts, bytes, answers.append)
    numbers = [number for number, *_ in connection._waiting]
    sizes = [len(head) + len(records) for head, records in requests]

    def answer_one_by_one():
        for number, size in zip(numbers, sizes, strict=True):
            while size:
                size -= len(there.recv(min(size, 65536)))
            there.sendall(struct.pack(">ii", 1_000_005, number) + b"\0" + b"a" * 1_000_000)

    broker = Thread(target=answer_one_by_one)
    broker.start()
    connection.flush()
    assert connection.has_unsent
    while connection.in_flight:
        connection.receive()
    broker.join()
    assert [len(answer) for answer in answers] == [1_000_000] * 3
    assert not connection.has_unsent
    there.close()


def test_an_answer_that_cannot_be_read_is_an_error_of_the_protocol(connection):
    def nonsense(body):
        return struct.unpack(">q", body)

    parts = ProduceRequests("id", 1).build_parts({"orders": []})
    connection.queue_parts(produce_request.KEY, 12, parts, nonsense, lambda _: None)
    connection.flush()
    with pytest.raises(KafkaProtocolError, match="an answer cannot be read"):
        connection.receive()


@pytest.fixture(params=["plain", "tls"])
def sockets(request, tmp_path):
    """A socket that does not block and takes little at a time, and the other end of its connection."""
    here, there = socket.socketpair()
    here.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16 * 1024)
    if request.param == "tls":
        here, there = encrypted(here, there, tmp_path)
    here.setblocking(False)
    yield here, there
    here.close()
    there.close()


def encrypted(here, there, directory):
    authority = Authority(directory)
    issued = authority.issue("broker")
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(authority.key_store(issued, "PEM")["ssl.keystore.location"], password=KEY_PASSWORD)
    client = ssl.create_default_context(cafile=authority.trust_store("PEM")["ssl.truststore.location"])
    accepted = []
    accepting = Thread(target=lambda: accepted.append(server.wrap_socket(there, server_side=True)))
    accepting.start()
    here = client.wrap_socket(here, server_hostname="localhost")
    accepting.join()
    return here, accepted[0]


def test_pieces_of_every_size_arrive_whole_though_more_is_added_while_some_wait(sockets):
    here, there = sockets
    chance = random.Random(20261123)
    buffer, sent, received = SendBuffer(), bytearray(), bytearray()
    sizes = [1] * 1500 + [chance.choice((1, 70, 5_000, 400_000)) for _ in range(60)]
    for size in sizes:
        pieces = [chance.randbytes(size), memoryview(chance.randbytes(7))]
        sent += b"".join(pieces)
        buffer.add(pieces)
        buffer.flush(here)
        if buffer:
            received += there.recv(8_000)
    assert buffer
    while len(received) < len(sent):
        received += there.recv(100_000)
        buffer.flush(here)
    assert not buffer
    assert received == sent
