"""Connections to brokers that are not in use, for the next caller in this process that needs one to the same broker.

Opening one costs a lane more than most of what it asks: a handshake, the broker's list of versions, and with TLS and SASL several more
trips there and back. In rounds the same lanes are copied every second, and lanes of one run follow each other on the same workers.

Only connections on which nothing is under way come here. One that its broker closed, or on which anything came, is not given out.
"""

import os
import select
import threading
import time
from collections.abc import Mapping
from typing import Any

from kafka_mirror.kafka.broker_connection import BrokerConnection

IDLE_SECONDS = 30.0
"""After so long a connection is closed: brokers do it after ten minutes, and what lies in between may forget it sooner."""
MOST = 64
"""How many wait at most: of more, the one that has waited longest is closed."""

Login = tuple[tuple[str, str], ...]
"""By whom, and how, a connection was opened."""


def login_of(settings: Mapping[str, Any]) -> Login:
    """What makes connections with these settings (librdkafka's) the same."""
    return tuple(
        sorted((name, str(value)) for name, value in settings.items() if name.startswith(("client.id", "security.", "sasl.", "ssl.")))
    )


class IdleConnections:
    """The idle connections of a process. Safe for several threads."""

    def __init__(self, idle_seconds: float = IDLE_SECONDS, most: int = MOST) -> None:
        self._idle_seconds = idle_seconds
        self._most = most
        self._lock = threading.Lock()
        self._idle: list[tuple[float, tuple[str, int], Login, BrokerConnection]] = []
        self._timer: threading.Timer | None = None

    def take(self, address: tuple[str, int], login: Login, seconds: float) -> BrokerConnection | None:
        """The one that was used last, if there is any that still lives; from now on an answer on it may take `seconds`."""
        while True:
            with self._lock:
                matching = [entry for entry in self._idle if entry[1:3] == (address, login)]
                if not matching:
                    return None
                self._idle.remove(matching[-1])
            since, *_, connection = matching[-1]
            if time.monotonic() - since < self._idle_seconds and _lives(connection):
                connection.seconds = seconds
                return connection
            connection.close()

    def put(self, address: tuple[str, int], login: Login, connection: BrokerConnection) -> None:
        """Takes a connection that is not needed any more; closes it if anything is under way on it."""
        with self._lock:
            if not connection.is_idle:
                connection.close()
                return
            if len(self._idle) >= self._most:
                *_, longest = self._idle.pop(0)
                longest.close()
            self._idle.append((time.monotonic(), address, login, connection))
            self._watch()

    def close(self) -> None:
        """Closes all of them."""
        with self._lock:
            for *_, connection in self._idle:
                connection.close()
            self._idle.clear()

    # ------------------------------------------------------------ inside

    def _watch(self) -> None:
        if self._timer is None and self._idle:
            wait = self._idle[0][0] + self._idle_seconds - time.monotonic()
            self._timer = threading.Timer(max(0.01, wait), self._close_old)
            self._timer.daemon = True
            self._timer.start()

    def _close_old(self) -> None:
        with self._lock:
            oldest = time.monotonic() - self._idle_seconds
            for since, *_, connection in self._idle:
                if since <= oldest:
                    connection.close()
            self._idle = [entry for entry in self._idle if entry[0] > oldest]
            self._timer = None
            self._watch()

    def reset_after_fork(self) -> None:
        """In a child: the connections are the parent's."""
        self._lock, self._idle, self._timer = threading.Lock(), [], None


def _lives(connection: BrokerConnection) -> bool:
    """Whether its login stands and nothing has come on it: a broker says nothing by itself but that it closes."""
    wait = select.poll()
    wait.register(connection, select.POLLIN)
    return time.monotonic() < connection.renew_at and not wait.poll(0)


IDLE = IdleConnections()
"""Of this process."""
os.register_at_fork(after_in_child=IDLE.reset_after_fork)
