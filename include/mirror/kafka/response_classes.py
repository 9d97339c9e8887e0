"""kafka-python's classes of answers, kept alive and made by one thread at a time.

The library makes the class of an answer's version when it is first asked for, and its registry refers to the newest one weakly. Two threads
that ask at once make two, of which one is kept, and the registry may refer to the other: as soon as that is collected, no answer to
this request can be read in the process any more (ReferenceError; kafka-python 3.0.12). Lanes are threads, and a Spark worker that stays
lives long.
"""

import os
import threading
from typing import Any

from kafka.protocol.api_header import ResponseClassRegistry

_classes: dict[tuple[int, int], Any] = {}
"""Request's key and version -> the class of its answers."""
_lock = threading.Lock()
_make = ResponseClassRegistry.get_response_class


def keep_response_classes() -> None:
    """From now on the library's registry gives the classes that are kept here. It may be called again."""
    ResponseClassRegistry.get_response_class = _response_class


def _response_class(header: Any) -> Any:
    """The class of the answers to a request with this header."""
    wanted = header.request_api_key, header.request_api_version
    if wanted not in _classes:
        with _lock:
            _classes[wanted] = _make(header)
    return _classes[wanted]


def _after_fork() -> None:
    """In a child: another thread of the parent may have held the lock."""
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)
