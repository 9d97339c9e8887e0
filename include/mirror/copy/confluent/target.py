"""The target side of the engine: a producer whose transactions carry a lane's records and their ledger entries."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message

from mirror.copy.confluent.partition import InFlightPartition
from mirror.copy.engine import WritingRefused
from mirror.copy.model import LaneTask
from mirror.errors import AuthorizationRefused, DeadlineExceeded, MirrorError, Overtaken, TransactionTimeoutRefused, TransactionTooSlow
from mirror.formats.message_headers import Headers, size_of_headers
from mirror.kafka.client_errors import ClientErrors, kafka_error, to_mirror_error
from mirror.kafka.fence import fenced_producer, is_fenced
from mirror.kafka.lifecycle import close
from mirror.kafka.writer import DeliveryReports

_POLL_EVERY = 1000
_FLUSH_SECONDS = 0.2
_REPORT_SECONDS = 5.0
_BATCH_BYTES = 1_000_000
_TIMED_OUT = {KafkaError._TIMED_OUT, KafkaError._MSG_TIMED_OUT}
_OLD_SHARE = 0.8
"""From this part of its timeout on a transaction counts as ended by the broker for its age."""
_LARGEST_RECORD = 1_000_000_000


class TransactionalProducer:
    """A lane's producer. Opening it fences every earlier attempt and ends its open transaction."""

    def __init__(self, task: LaneTask, max_batch_bytes: int) -> None:
        self.alias = task.target
        self.bytes = 0
        self._task = task
        self._timeout = task.transaction_timeout_ms / 1000
        self._seconds = task.request_seconds
        self._complaints = ClientErrors(task.target, task.clients.target_producer)
        self._begun: float | None = None
        self._lost = False
        self._sent = 0
        try:
            self._producer = fenced_producer(producer_settings(task, max_batch_bytes), self._complaints, self._seconds, task.ledger_topic)
        except KafkaException as failure:
            raise self._translated("fencing earlier attempts", failure) from failure

    def begin(self) -> None:
        """Begins a transaction unless one is open."""
        if self._begun is None:
            self._call("beginning a transaction", self._producer.begin_transaction)
            self._begun = time.monotonic()
            self.bytes = 0
            self._sent = 0

    @property
    def age(self) -> float:
        """For how many seconds the transaction has been open; the target counts from the first record on."""
        return time.monotonic() - self._begun if self._begun is not None and self._sent else 0.0

    def send(self, in_flight: InFlightPartition, message: Message, offset: int, timestamp: int, headers: Headers) -> None:
        """Puts one source record into the transaction: same partition number, key, value, headers and timestamp."""
        value, key = message.value(), message.key()
        if not self._sent:
            self._begun = time.monotonic()
        try:
            # By position: the client takes twice as long to find arguments by their names.
            self._produce(
                in_flight.remote, value, key, in_flight.partition, partial(in_flight.delivered, offset, timestamp), None, timestamp, headers
            )
        except KafkaException as failure:
            raise self._failure("writing", failure) from failure
        size = (len(value) if value else 0) + (len(key) if key else 0) + (size_of_headers(headers) if headers else 0)
        in_flight.bytes += size
        self.bytes += size + 20
        self._sent += 1
        if not self._sent % _POLL_EVERY:
            self._producer.poll(0)

    def flush(self, failed: Callable[[], bool] = lambda: False) -> None:
        """Waits until every record is reported, or one of them has `failed`: what is behind it is not sent any more."""
        self._call("waiting for acknowledgements", lambda: self._flush(failed))

    def await_report(self, explained: Callable[[], bool]) -> None:
        """Waits, after a call that failed with the transaction, until a report has `explained` why, or no report is left to come."""
        deadline = time.monotonic() + _REPORT_SECONDS
        while not self._lost and not explained() and len(self._producer) and time.monotonic() < deadline:
            with suppress(KafkaException):
                self._producer.poll(0.01)

    def record(self, topic: str, partition: int, entries: Sequence[tuple[bytes, bytes]]) -> list[int]:
        """Puts keyed records into the transaction, waits until they are acknowledged, and gives their offsets in order."""
        self.begin()
        if not self._sent:
            self._begun = time.monotonic()
            self._sent = len(entries)
        reports = DeliveryReports()
        for key, value in entries:
            self._call("writing the ledger", partial(self._produce, topic, value, key, partition, reports))
        self.flush(lambda: bool(reports.failures))
        if reports.failures:
            error = self._transaction_error() or reports.failures[0][0]
            if error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
                raise AuthorizationRefused(self.alias, "WRITE", f"topic {topic}", topic=topic)
            raise self._failure(f"writing the ledger {topic}-{partition}", KafkaException(error))
        return reports.offsets

    def raise_transaction_error(self, thrown_away: bool) -> None:
        """Raises why the open transaction failed: if it was fenced, was too slow, or may not be written, and with `thrown_away`, whatever
        the reason."""
        error = self._transaction_error()
        if error is None:
            return
        if error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
            raise WritingRefused
        failure = self._failure("writing", KafkaException(error))
        if thrown_away or self._lost or isinstance(failure, TransactionTooSlow):
            raise failure

    def commit(self) -> None:
        """Commits. A commit that ends in doubt is not repeated here: the ledger, read after the next fencing, knows how it ended."""
        self._call("committing", lambda: self._producer.commit_transaction(self._seconds))
        self._begun = None

    def close(self) -> None:
        """Aborts an open transaction and closes the producer. One that lost its lane is only dropped: an abort could not succeed."""
        if self._lost:
            return
        try:
            if self._begun is not None:
                self._producer.purge()
                self._producer.abort_transaction(min(self._seconds, 10.0))
        except KafkaException:
            # The next attempt's fencing ends the transaction; nothing of it becomes visible before.
            return
        close(self._producer)

    # ------------------------------------------------------------ inside

    def _produce(self, *record: Any) -> None:
        """Produces a record. A queue that is full empties while the target acknowledges: until the transaction is too old for that."""
        while True:
            try:
                self._producer.produce(*record)
                return
            except BufferError:
                self._producer.poll(0.05)
                self._check_age(len(self._producer))

    def _transaction_error(self) -> KafkaError | None:
        """Why the open transaction failed, if it did. The client tells it to the next call that a healthy one would not allow either."""
        try:
            self._producer.begin_transaction()
        except KafkaException as failure:
            error = kafka_error(failure)
            return None if error is None or error.code() == KafkaError._STATE else error
        return None

    def _flush(self, failed: Callable[[], bool]) -> None:
        while unacknowledged_records := self._producer.flush(_FLUSH_SECONDS):
            if failed():
                return
            self._check_age(unacknowledged_records)

    def _check_age(self, records: int) -> None:
        """Raises if the transaction has reached its timeout with so many records not acknowledged: it could not be committed any more."""
        if self.age >= self._timeout:
            raise unacknowledged(self._task, self.age, records, self._sent, self._complaints.detail())

    def _call(self, step: str, call: Callable[[], object]) -> None:
        try:
            call()
        except KafkaException as failure:
            raise self._failure(step, failure) from failure

    def _failure(self, step: str, failure: KafkaException) -> MirrorError:
        self._lost = self._lost or is_fenced(kafka_error(failure))
        # After a fatal error every call raises it again.
        with suppress(KafkaException):
            self._producer.poll(0)  # hands out what the client complains of
        return self._translated(step, failure)

    def _translated(self, step: str, failure: KafkaException) -> MirrorError:
        of_the_lane = failure_of_lane(self._task, kafka_error(failure), self.age)
        if of_the_lane is not None:
            return of_the_lane
        return to_mirror_error(failure, self._complaints, step=f"lane {self._task.lane}: {step}", seconds=self._seconds)


def producer_settings(task: LaneTask, max_batch_bytes: int) -> dict[str, object]:
    """The user's producer settings under those that the guarantees need.

    The client's own limit on a record is lifted, because a large record may be small once it is compressed; the broker decides. The batch
    size stays below the smallest max.message.bytes of the lane's topics (set by the protocol): a batch is never split, and a batch that is
    refused does not say for which record.
    """
    batch = min(int(task.clients.target_producer.get("batch.size", _BATCH_BYTES)), max_batch_bytes)
    return {
        "client.id": task.producer_client_id,
        "linger.ms": 5,
        "compression.type": "lz4",
        "batch.num.messages": 100_000,
        "queue.buffering.max.messages": 200_000,
        "queue.buffering.max.kbytes": 256 * 1024,
        **task.clients.target_producer,
        "batch.size": batch,
        "message.max.bytes": _LARGEST_RECORD,
        "transactional.id": task.transactional_id,
        "transaction.timeout.ms": task.transaction_timeout_ms,
        "message.timeout.ms": task.transaction_timeout_ms,
        "enable.idempotence": True,
        "acks": "all",
        "allow.auto.create.topics": False,
    }


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
        is_id_unknown = error.code() == KafkaError.INVALID_PRODUCER_ID_MAPPING
        return TransactionTooSlow(task.lane, age, timeout) if is_old else Overtaken(task.lane, is_id_unknown)
    if error.code() == KafkaError.INVALID_TRANSACTION_TIMEOUT:
        return TransactionTimeoutRefused(task.target, timeout)
    if error.code() == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
        # The lanes' ids differ in the lane alone, and one grant for their prefix is what a person would give.
        prefix = task.transactional_id.removesuffix(str(task.lane))
        return AuthorizationRefused(task.target, "WRITE", f"transactional ids with the prefix {prefix}")
    return None


def unacknowledged(task: LaneTask, age: float, records: int, sent: int, complaint: str) -> MirrorError:
    """The error of a transaction that reached its timeout while so many `records` of those that were sent are not acknowledged.

    Where not one record got through and the client complains of connections, a smaller transaction would not help.
    """
    timeout = task.transaction_timeout_ms / 1000
    written = 1 - min(records, sent) / sent if sent else 0.0
    if written or not complaint:
        return TransactionTooSlow(task.lane, age, timeout, written)
    return DeadlineExceeded(
        f"Cluster '{task.target}': {records} records were not acknowledged within {timeout:g} s: {complaint}.",
        next="Look at the brokers' load and the network; the next run goes on by itself.",
    )
