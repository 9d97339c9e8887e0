"""What the target says of a lane's transaction: that it took too long, that another attempt owns the lane, that it is not allowed."""

from confluent_kafka import KafkaError

from mirror.copy.model import LaneTask
from mirror.errors import (
    AuthorizationRefused,
    DeadlineExceeded,
    MirrorError,
    Overtaken,
    TransactionTimeoutRefused,
    TransactionTooSlow,
)

_FENCED = {KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.INVALID_PRODUCER_ID_MAPPING}
_TIMED_OUT = {KafkaError._TIMED_OUT, KafkaError._MSG_TIMED_OUT}
_OLD_SHARE = 0.8
"""From this part of its timeout on a transaction counts as ended by the broker for its age."""


def is_fenced(error: KafkaError | None) -> bool:
    """Whether the producer has lost its lane: nothing that it does can succeed any more."""
    return error is not None and (error.code() in _FENCED or (error.fatal() and "fenced" in error.str().lower()))


def failure_of_lane(task: LaneTask, error: KafkaError | None, age: float) -> MirrorError | None:
    """The error of ours for what failed in a lane's transaction that was open for `age` seconds; None if it says nothing of the lane.

    A transaction that the broker ended for its age looks exactly like a fence; only its age tells them apart.
    """
    timeout = task.transaction_timeout_ms / 1000
    is_old = age >= _OLD_SHARE * timeout
    if error is None:
        return None
    if error.code() in _TIMED_OUT and is_old:
        return TransactionTooSlow(task.lane, age, timeout)
    if is_fenced(error):
        return TransactionTooSlow(task.lane, age, timeout) if is_old else Overtaken(task.lane)
    if error.code() == KafkaError.INVALID_TRANSACTION_TIMEOUT:
        return TransactionTimeoutRefused(task.target, timeout)
    if error.code() == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
        # The lanes' ids differ in the lane alone, and one grant for their prefix is what a person would give.
        prefix = task.transactional_id.removesuffix(str(task.lane))
        return AuthorizationRefused(task.target, "WRITE", f"transactional ids with the prefix {prefix}")
    return None


def unacknowledged(task: LaneTask, age: float, left: int, sent: int, complaint: str) -> MirrorError:
    """The error of a transaction that reached its timeout while `left` of the records that were sent are not acknowledged.

    Where not one record got through and the client complains of connections, a smaller transaction would not help.
    """
    timeout = task.transaction_timeout_ms / 1000
    written = 1 - min(left, sent) / sent if sent else 0.0
    if written or not complaint:
        return TransactionTooSlow(task.lane, age, timeout, written)
    return DeadlineExceeded(
        f"Cluster '{task.target}': {left} records were not acknowledged within {timeout:g} s: {complaint}.",
        next="Look at the brokers' load and the network; the next run goes on by itself.",
    )
