"""Reading the headers of a message that a Kafka client hands out."""

from operator import methodcaller
from typing import Any

# For a header key that is not UTF-8 the client returns a list with a hole in it and leaves an exception pending. A plain method call, once
# the interpreter has specialised it, takes the list, and whoever looks into it crashes; a call through the C API checks and raises. The
# message keeps the list: asked a second time it gives it without raising, so it must not be asked again.
read_headers = methodcaller("headers")
"""The headers of a message as its producer takes them; raises one of `UNREADABLE_HEADERS` for a header key that is not UTF-8."""

UNREADABLE_HEADERS = (SystemError, UnicodeDecodeError)


Headers = list[tuple[str, bytes | None]] | None
"""A record's headers as the client has them; None for none."""


def size_of_headers(headers: Headers) -> int:
    """How many bytes names and values have, before compression."""
    return sum(len(name.encode()) + len(value or b"") for name, value in headers or ())


def headers_or_none(message: Any) -> list[tuple[str, bytes | None]] | None:
    """The headers, none if the message has none; None for what the client cannot read. To be asked once a message."""
    try:
        return list(read_headers(message) or ())
    except UNREADABLE_HEADERS:
        return None
