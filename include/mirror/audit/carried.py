"""Takes messages into `Records`: what each carries, as few bytes that two records share only if they are equal."""

from collections.abc import Sequence
from hashlib import blake2b

from mirror.audit.record import LOG_APPEND_TIME, NO_TIMESTAMP, Message, UnreadableHeaders, encoded
from mirror.formats.message_headers import UNREADABLE_HEADERS, read_headers
from mirror.offsets.holes import CONTENT_BYTES, Records


def take(records: Records, messages: Sequence[Message]) -> int:
    """Adds messages behind the others; how many bytes they carry. Raises UnreadableHeaders."""
    size = 0
    for message in messages:
        kind, timestamp = message.timestamp()
        try:
            data = encoded(NO_TIMESTAMP, message.key(), message.value(), read_headers(message))
        except UNREADABLE_HEADERS:
            raise UnreadableHeaders(message.offset() or 0) from None
        records.is_stamped |= kind == LOG_APPEND_TIME
        records.add(message.offset() or 0, timestamp if kind else NO_TIMESTAMP, blake2b(data, digest_size=CONTENT_BYTES).digest())
        size += len(data)
    return size
