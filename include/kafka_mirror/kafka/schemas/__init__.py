"""kafka-python's schemas: brokers' answers read by them, whatever bytes they are, in several threads; and messages that it lacks."""

import io
import os
import re
import sys
import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import kafka.errors as errors
from kafka.protocol.api_message import ApiMessage

_LARGEST_HEADER = 64
_HIGH_BYTES, _LONGEST_NUMBER = re.compile(rb"[\x80-\xff]{64,}"), 1 << 16
"""What a length of many bytes looks like, and from where on it costs too much to read; no text of Kafka's is so long without ASCII."""
_PREPARED: set[tuple[Any, int]] = set()
"""The classes of answers, with versions, for which the library has made what reads them. It does so when it first reads one, and two
threads at once would spoil it."""
_preparing = threading.Lock()


def answer_to(request: Any) -> Any:
    """kafka-python's class of the answers to a request. The library's own registry makes one for each version and forgets it when threads
    ask at once (ReferenceError; kafka-python 3.0.12)."""
    kind = type(request)
    return getattr(sys.modules[kind.__module__], f"{kind.__name__.removesuffix('Request')}Response")


def read_by_schema(answer: Any, version: int, frame: memoryview) -> Any:
    """An answer of this class. Raises KafkaProtocolError, in time and memory that grow no faster than the bytes."""

    def decode(body: memoryview) -> Any:
        """Reads header and body; one thread at a time until kafka-python has built the class's reader."""
        # kafka-python reads a length without an end, in time that grows faster than the bytes.
        if len(body) >= _LONGEST_NUMBER and any(len(run[0]) >= _LONGEST_NUMBER for run in _HIGH_BYTES.finditer(body)):
            raise ValueError("a length has no end")
        head = io.BytesIO(body[:_LARGEST_HEADER])
        answer.parse_header(head, version=version)
        with nullcontext() if (answer, version) in _PREPARED else _preparing:
            try:
                return answer.decode(body[head.tell() :], version=version)
            finally:
                _PREPARED.add((answer, version))

    return read_by(decode, frame)


def read_by(decode: Callable[[Any], Any], body: Any) -> Any:
    """What `decode` makes of an answer. Whatever it stumbles over is an error of the protocol: a broker chooses the bytes."""
    try:
        return decode(body)
    except errors.KafkaError:
        raise
    except Exception as failure:
        raise errors.KafkaProtocolError(f"an answer cannot be read: {failure}") from failure


def _renew_lock() -> None:
    """Takes a new lock in a forked child: another thread of the parent may have held the old one."""
    global _preparing
    _preparing = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)


class ConsumerGroupDescribeRequest(ApiMessage, load_json=__name__):  # type: ignore[misc, call-arg]
    """Asks for groups of the consumer protocol (KIP-848)."""


class ConsumerGroupDescribeResponse(ApiMessage, load_json=__name__):  # type: ignore[misc, call-arg]
    """What a coordinator says of them."""
