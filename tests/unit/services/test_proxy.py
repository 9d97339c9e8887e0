"""The network that tests change: it delays without slowing, holds without losing, and cuts."""

import random
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from services.ports import LOOPBACK, free_ports
from services.proxy import Proxy
from services.waiting import PATIENCE, eventually

MEGABYTE = b"0123456789abcdef" * 65_536


def echo(listener: socket.socket) -> None:
    def answer(connection: socket.socket) -> None:
        with connection:
            try:
                while data := connection.recv(65_536):
                    connection.sendall(data)
            except OSError:
                return

    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=answer, args=(connection,), daemon=True).start()


@pytest.fixture
def network() -> Iterator[tuple[Proxy, int]]:
    """A proxy in front of a service that sends back what it gets, and the proxy's port."""
    [port] = free_ports(1)
    with socket.create_server((LOOPBACK, 0)) as listener:
        threading.Thread(target=echo, args=(listener,), daemon=True).start()
        proxy = Proxy({port: listener.getsockname()[1]})
        proxy.start()
        yield proxy, port
        proxy.stop()
        listener.shutdown(socket.SHUT_RDWR)


def connected(port: int) -> socket.socket:
    return socket.create_connection((LOOPBACK, port), timeout=PATIENCE)


def exchange(connection: socket.socket, data: bytes) -> tuple[bytes, float]:
    """What comes back, and after how many seconds all of it was there."""
    started = time.monotonic()

    def send() -> None:
        with suppress(OSError):  # the connection was cut: then the answer lacks bytes
            connection.sendall(data)

    threading.Thread(target=send, daemon=True).start()
    answer = bytearray()
    while len(answer) < len(data):
        part = connection.recv(65_536)
        if not part:
            break
        answer += part
    return bytes(answer), time.monotonic() - started


def fastest(network: tuple[Proxy, int], exchanges: int = 1) -> list[float]:
    """Seconds of the first exchange of a connection, the second …: each the least of several, which a busy machine does not delay all."""

    def one() -> list[float]:
        with connected(network[1]) as connection:
            return [exchange(connection, b"x")[1] for _ in range(exchanges)]

    return [min(seconds) for seconds in zip(*(one() for _ in range(3)), strict=True)]


def test_delay_is_paid_once_in_each_direction_and_is_no_limit_on_the_rate(network: tuple[Proxy, int]) -> None:
    proxy, port = network
    with connected(port) as connection:
        assert min(exchange(connection, b"x")[1] for _ in range(5)) < 0.12
        proxy.delay(60)
        assert 0.12 <= min(exchange(connection, b"x")[1] for _ in range(5)) < 2
        answer, seconds = exchange(connection, MEGABYTE * 20)
    assert answer == MEGABYTE * 20
    assert seconds < 20, "in pieces of 64 kB, each waiting for the last, it would take forty"


def test_new_connection_takes_a_round_trip_more(network: tuple[Proxy, int]) -> None:
    network[0].delay(200)
    first, second = fastest(network, 2)
    assert 0.4 <= second < 0.8 <= first


def test_order_stays_when_the_delay_shrinks(network: tuple[Proxy, int]) -> None:
    proxy, port = network
    with connected(port) as connection:
        proxy.delay(200)
        connection.sendall(b"first")
        time.sleep(0.05)
        proxy.delay(0)
        connection.sendall(b"second")
        assert connection.recv(5, socket.MSG_WAITALL) + connection.recv(6, socket.MSG_WAITALL) == b"firstsecond"


def test_held_connections_lose_nothing_and_go_on(network: tuple[Proxy, int]) -> None:
    proxy, port = network
    with connected(port) as connection:
        exchange(connection, b"x")
        proxy.hold()
        connection.sendall(b"late")
        connection.settimeout(0.3)
        with pytest.raises(TimeoutError):
            connection.recv(4)
        with connected(port) as second:
            second.sendall(b"also late")
            proxy.heal()
            assert second.recv(9, socket.MSG_WAITALL) == b"also late"
        assert connection.recv(4, socket.MSG_WAITALL) == b"late"


@pytest.mark.parametrize("lost", [False, True])
def test_what_is_asked_arrives_while_answers_are_held_until_they_come_or_their_connection_breaks(
    network: tuple[Proxy, int], lost: bool
) -> None:
    proxy, port = network
    with connected(port) as connection:
        proxy.hold_answers()
        connection.sendall(b"x")
        eventually(lambda: proxy.passed == 2, "the question has arrived, for there is an answer")
        if lost:
            proxy.drop()
        proxy.heal()
        assert connection.recv(1) == (b"" if lost else b"x")


def test_refused_connections_are_dropped_and_come_back_after_healing(network: tuple[Proxy, int]) -> None:
    proxy, port = network
    with connected(port) as connection:
        exchange(connection, b"x")
        proxy.refuse()
        assert connection.recv(1) == b"", "it is closed"
        with pytest.raises(ConnectionRefusedError):
            connected(port)
    proxy.heal()
    with connected(port) as connection:
        assert exchange(connection, b"x")[0] == b"x"


def test_drop_takes_its_share_of_the_connections(network: tuple[Proxy, int]) -> None:
    proxy, port = network
    connections = [connected(port) for _ in range(20)]
    for connection in connections:
        exchange(connection, b"x")
    dropped = proxy.drop(0.5, random.Random(1))
    assert 3 < dropped < 17

    def lives(connection: socket.socket) -> bool:
        try:
            return exchange(connection, b"y")[0] == b"y"
        except ConnectionError:
            return False

    assert sum(lives(connection) for connection in connections) == 20 - dropped
    for connection in connections:
        connection.close()


def test_gathered_connections_end_at_one_service_all_or_a_share_of_them() -> None:
    def greet(listener: socket.socket, word: bytes) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.sendall(word)

    def heard(port: int) -> bytes:
        with connected(port) as connection:
            return connection.recv(1)

    first, second = free_ports(2)
    with socket.create_server((LOOPBACK, 0)) as one, socket.create_server((LOOPBACK, 0)) as other:
        for listener, word in ((one, b"1"), (other, b"2")):
            threading.Thread(target=greet, args=(listener, word), daemon=True).start()
        proxy = Proxy({first: one.getsockname()[1], second: other.getsockname()[1]})
        proxy.start()
        try:
            assert (heard(first), heard(second)) == (b"1", b"2")
            proxy.gather(first)
            assert (heard(first), heard(second)) == (b"1", b"1")
            proxy.gather(first, 0.5, random.Random(1))
            assert {heard(second) for _ in range(20)} == {b"1", b"2"}
            proxy.gather(None)
            assert (heard(first), heard(second)) == (b"1", b"2")
        finally:
            proxy.stop()
            for listener in (one, other):
                listener.shutdown(socket.SHUT_RDWR)


def test_closed_ends_are_passed_on(network: tuple[Proxy, int]) -> None:
    _, port = network
    with connected(port) as connection:
        connection.sendall(b"bye")
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(3, socket.MSG_WAITALL) == b"bye"
        assert connection.recv(1) == b""
