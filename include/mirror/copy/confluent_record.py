"""What keeps a single record from being sent: what the client cannot carry, and what the remote topic would refuse."""

from confluent_kafka import Message

from mirror.copy.engine import PoisonRecord, RecordLimits, Work
from mirror.errors import RecordNotCarried

_LATEST = (1 << 63) - 1


def unsuspicious(limits: RecordLimits) -> tuple[int, int]:
    """The first and the last timestamp with which a record needs no further look; none is, if that depends on more than its timestamp."""
    if limits.needs_key:
        return 1, 0
    return max(limits.oldest_timestamp or 1, 1), _LATEST if limits.newest_timestamp is None else limits.newest_timestamp


def poison_of(message: Message, timestamp: int, work: Work) -> PoisonRecord | RecordNotCarried | None:
    """Why a record must not be sent, as far as that can be told before; None if it may.

    The client takes a timestamp of 0 for «now», so such a record cannot be carried.
    """
    offset = message.offset() or 0
    if timestamp == 0:
        return RecordNotCarried(work.source.topic, work.source.partition, offset, "its timestamp is 0")
    limits = work.limits
    if limits.needs_key and message.key() is None:
        return PoisonRecord(offset, "it has no key, and the remote topic is compacted")
    if limits.newest_timestamp is not None and timestamp > limits.newest_timestamp:
        return PoisonRecord(offset, "its timestamp is further ahead than message.timestamp.after.max.ms allows")
    if limits.oldest_timestamp is not None and 0 <= timestamp < limits.oldest_timestamp:
        return PoisonRecord(offset, "its timestamp is older than message.timestamp.before.max.ms allows")
    return None


def unreadable_headers(message: Message, work: Work) -> RecordNotCarried:
    """The error of a record whose headers the client could not decode."""
    return RecordNotCarried(work.source.topic, work.source.partition, message.offset() or 0, "it has a header key that is not UTF-8")
