"""A client of Spark's own wire protocol that has no secret: it asks a port for a block, and for an endpoint, as another user of the host
may.

    size of the frame (8) │ type (1) │ request (8) │ size of the body (4) │ body
"""

import socket
import struct
from collections.abc import Iterable
from contextlib import suppress

import psutil

_RPC_REQUEST, _RPC_ANSWER, _RPC_FAILURE = 3, 4, 5
_HEAD = struct.Struct(">qbqi")
_OPEN_BLOCKS = 0
_IPV4_SENDER = 1
_SECONDS = 10.0
NEEDS_LOGIN = "Expected SaslMessage"
"""What Spark says to a client that did not log in."""


def _text(text: str) -> bytes:
    return struct.pack(">i", len(text)) + text.encode()


def _utf(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def _address(port: int) -> bytes:
    return bytes([_IPV4_SENDER]) + _utf("127.0.0.1") + struct.pack(">i", port)


def block_question() -> bytes:
    """Asks for the first piece of the first broadcast, which has a job's tasks."""
    return bytes([_OPEN_BLOCKS]) + _text("anything") + _text("driver") + struct.pack(">i", 1) + _text("broadcast_0_piece0")


def endpoint_question(port: int) -> bytes:
    """Asks an endpoint of the driver, with bytes that Java would deserialise."""
    return _address(1) + _address(port) + _utf("HeartbeatReceiver") + b"no Java object"


def told(port: int, body: bytes) -> str:
    """What the port answers: the text of a refusal, '' for nothing at all, and "answer" where it did what was asked."""
    with socket.create_connection(("127.0.0.1", port), _SECONDS) as stranger:
        stranger.sendall(_HEAD.pack(_HEAD.size + len(body), _RPC_REQUEST, 7, len(body)) + body)
        stranger.shutdown(socket.SHUT_WR)
        heard = b""
        try:
            while piece := stranger.recv(65536):
                heard += piece
                if len(heard) > 8 and len(heard) >= struct.unpack(">q", heard[:8])[0]:
                    break
        except OSError:
            pass
    if len(heard) > 8 and heard[8] == _RPC_ANSWER:
        return "answer"
    return heard[_HEAD.size :].decode(errors="replace") if len(heard) > 8 and heard[8] == _RPC_FAILURE else ""


def listening(processes: Iterable[psutil.Process]) -> list[int]:
    """The ports on which these processes listen; one that ended meanwhile, as an idle worker does, listens on none."""
    ports: set[int] = set()
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            ports |= {connection.laddr.port for connection in process.net_connections("tcp") if connection.status == "LISTEN"}
    return sorted(ports)


def ask_all(ports: Iterable[int]) -> dict[int, list[str]]:
    """What each port tells a stranger who asks for a block, and for an endpoint."""
    return {port: [told(port, block_question()), told(port, endpoint_question(port))] for port in ports}


def refusals(answers: dict[int, list[str]]) -> int:
    """How many ports ask for a login first. Fails for one that deals with a stranger in any other way than by silence."""
    for port, texts in answers.items():
        assert all(not text or NEEDS_LOGIN in text for text in texts), f"port {port}: {texts}"
    return sum(NEEDS_LOGIN in text for texts in answers.values() for text in texts) // 2
