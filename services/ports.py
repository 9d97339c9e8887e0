"""Ports on 127.0.0.1 for services: free ones, and who holds one that is not."""

import fcntl
import os
import random
import socket
import tempfile
from functools import cache
from pathlib import Path
from typing import BinaryIO

import psutil

LOOPBACK = "127.0.0.1"
_RANGE_FILE = Path("/proc/sys/net/ipv4/ip_local_port_range")


class PortInUse(RuntimeError):
    """Raised when a port that a service needs belongs to another process."""

    def __init__(self, port: int, service: str, holder: str) -> None:
        super().__init__(f"Port {port} on {LOOPBACK}, which {service} needs, is in use{f' by {holder}' if holder else ''}.")
        self.port = port


def is_free(port: int) -> bool:
    """Whether a server could listen on this port of 127.0.0.1 now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def is_listening(port: int) -> bool:
    """Whether a process listens on a port of 127.0.0.1."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((LOOPBACK, port)) == 0


def free_ports(count: int) -> list[int]:
    """Different ports on which no process listens, and which no process of this user gets again while this one lives.

    A service begins to listen seconds after its ports were chosen. Until then they look free to the next process that chooses, such as
    another worker of the tests: two services would get one port, and a client of the later one would be answered by the other.

    They lie below the range that the kernel gives to outgoing connections: a client that retries a stopped service on a port inside
    that range can end up connected to itself, and then the service cannot start again.
    """
    try:
        ceiling = int(_RANGE_FILE.read_text().split()[0])
    except OSError:
        ceiling = 32768
    candidates = range(15000, max(ceiling, 16000))
    ports: list[int] = []
    while len(ports) < count:
        port = random.choice(candidates)
        if _reserve(port) and is_free(port):
            ports.append(port)
    return ports


_reserved: set[int] = set()


def _reserve(port: int) -> bool:
    """Takes the port for this process until it ends; False if it, or another process of this user, has taken it before."""
    if port in _reserved:
        return False
    try:
        fcntl.lockf(_reservations(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except OSError:
        return False
    _reserved.add(port)
    return True


@cache
def _reservations() -> BinaryIO:
    """The file whose bytes stand for ports: the kernel frees the locks of a process that ends, however it ends."""
    return (Path(tempfile.gettempdir()) / f"mirror-ports-{os.getuid()}").open("ab")


def require_free(port: int, service: str) -> None:
    """Raises PortInUse, with the process that holds the port, unless it is free."""
    if not is_free(port):
        raise PortInUse(port, service, _holder(port))


def _holder(port: int) -> str:
    try:
        listeners = [c for c in psutil.net_connections("inet") if c.status == psutil.CONN_LISTEN and c.laddr and c.laddr.port == port]
        return ", ".join(f"{psutil.Process(c.pid).name()} (process {c.pid})" for c in listeners if c.pid)
    except psutil.Error:
        return ""
