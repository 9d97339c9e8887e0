"""What keeps a single record from being sent: what the client cannot carry, and what the target has refused before."""

from confluent_kafka import Message

from mirror.copy.engine import PoisonRecord, Work
from mirror.errors import RecordNotCarried


def poison_of(message: Message, timestamp: int, work: Work) -> PoisonRecord | RecordNotCarried | None:
    """Why a record must not be sent; None if it may.

    The client takes a timestamp of 0 for «now», so such a record cannot be carried. What the broker refused is believed of a record with
    the very timestamp that was refused, and nothing is judged by a clock of ours.
    """
    offset = message.offset() or 0
    if timestamp == 0:
        return RecordNotCarried(work.source.topic, work.source.partition, offset, "its timestamp is 0")
    refused = work.refused.get(offset)
    if refused is None or (refused.timestamp, refused.has_key) != (timestamp, message.key() is not None):
        return None
    return PoisonRecord(offset, refused.detail)


def unreadable_headers(message: Message, work: Work) -> RecordNotCarried:
    """The error of a record whose headers the client could not decode."""
    return RecordNotCarried(work.source.topic, work.source.partition, message.offset() or 0, "it has a header key that is not UTF-8")
