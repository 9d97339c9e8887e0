"""What is queued for one socket, in the pieces that make it up: written several in one call, as far as the network takes them."""

import socket
import ssl
from collections.abc import Sequence
from typing import Any

_MOST_PARTS = 512
"""How many pieces are written at once; the system's own limit is 1024."""
_TLS_BYTES = 256 * 1024
"""About so much is given to TLS at once, which takes one piece at a time."""


class SendBuffer:
    """What a socket is still to send, in order. The pieces are not copied, but for TLS."""

    def __init__(self) -> None:
        self._parts: list[Any] = []

    def __bool__(self) -> bool:
        """Whether anything is left."""
        return bool(self._parts)

    def add(self, parts: Sequence[Any]) -> None:
        """Queues pieces after the others."""
        self._parts += parts

    def flush(self, to: socket.socket) -> None:
        """Writes as much as the network takes now; the rest stays."""
        try:
            while self._parts:
                self._parts = _drop_written(self._parts, self._write(to))
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return  # nothing is lost: what was not written is still queued

    def _write(self, to: socket.socket) -> int:
        if isinstance(to, ssl.SSLSocket):
            return to.send(_join(self._parts, _TLS_BYTES))
        return to.sendmsg(self._parts[:_MOST_PARTS])


def _drop_written(parts: list[Any], written: int) -> list[Any]:
    """What is left of pieces of which `written` bytes are written."""
    for done, part in enumerate(parts):
        if written < len(part):
            return [memoryview(part)[written:], *parts[done + 1 :]]
        written -= len(part)
    return []


def _join(parts: list[Any], size: int) -> Any:
    """The first pieces as one, until they have that size. What TLS did not take must be the beginning of what it is given next."""
    first: list[Any] = []
    for part in parts:
        if size <= 0:
            break
        first.append(part)
        size -= len(part)
    return first[0] if len(first) == 1 else b"".join(first)
