"""What a socket takes only bit by bit arrives whole and in order, with TLS and without."""

import random
import socket
import ssl
from threading import Thread

import pytest

from kafka_mirror.kafka.broker_connection import SendBuffer
from services.certificates import KEY_PASSWORD, Authority


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
