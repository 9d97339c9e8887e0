"""The target side of the engine: a producer whose transactions carry a lane's records and their ledger entries."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from mirror.copy.confluent_failures import failure_of_lane, is_fenced, unacknowledged
from mirror.copy.confluent_fencing import Refusals, initialised, pauses
from mirror.copy.confluent_partition import PartitionFlow
from mirror.copy.confluent_settings import producer_settings
from mirror.copy.engine import WritingRefused
from mirror.copy.model import LaneTask
from mirror.errors import AuthorizationRefused, MirrorError, TransactionTooSlow
from mirror.formats.message_headers import Headers, size_of_headers
from mirror.kafka.closing import close
from mirror.kafka.failures import Complaints, kafka_error, patiently, settings_with, translated

_POLL_EVERY = 1000
_FLUSH_SECONDS = 0.2
_REPORT_SECONDS = 5.0


class Target:
    """A transactional producer. `init_transactions` in the constructor fences every earlier attempt and ends its open transaction."""

    def __init__(self, task: LaneTask, max_batch_bytes: int) -> None:
        self.alias = task.target
        self.bytes = 0
        self._task = task
        self._timeout = task.transaction_timeout_ms / 1000
        self._seconds = task.request_seconds
        self._complaints = Complaints(task.target, task.clients.target_producer)
        self._settings = settings_with(producer_settings(task, max_batch_bytes), self._complaints)
        self._refusals = Refusals(self._settings["logger"])
        self._producer = Producer({**self._settings, "logger": self._refusals})
        self._begun: float | None = None
        self._lost = False
        self._sent = 0
        self._call("fencing earlier attempts", self._fence)

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

    def send(self, flow: PartitionFlow, message: Message, offset: int, timestamp: int, headers: Headers) -> None:
        """Puts one source record into the transaction: same partition number, key, value, headers and timestamp."""
        value, key = message.value(), message.key()
        if not self._sent:
            self._begun = time.monotonic()
        try:
            # By position: the client takes twice as long to find arguments by their names.
            self._produce(flow.remote, value, key, flow.partition, partial(flow.delivered, offset, timestamp), None, timestamp, headers)
        except KafkaException as failure:
            raise self._failure("writing", failure) from failure
        size = (len(value) if value else 0) + (len(key) if key else 0) + (size_of_headers(headers) if headers else 0)
        flow.bytes += size
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
        failures: list[KafkaError] = []
        offsets: list[int] = []

        def report(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                failures.append(error)
            else:
                offsets.append(message.offset())  # type: ignore[arg-type]

        for key, value in entries:
            self._call("writing the ledger", partial(self._produce, topic, value, key, partition, report))
        self.flush(lambda: bool(failures))
        if failures:
            error = self._transaction_error() or failures[0]
            if error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
                raise AuthorizationRefused(self.alias, "WRITE", f"topic {topic}", topic=topic)
            raise self._failure(f"writing the ledger {topic}-{partition}", KafkaException(error))
        return offsets

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

    def _fence(self) -> None:
        # Asking for metadata first brings the connection up at once; otherwise the coordinator is looked for every half second.
        patiently(self._ask_metadata, self._seconds, self._complaints)
        deadline = time.monotonic() + self._seconds
        for pause in pauses(deadline):
            if initialised(self._producer, self._refusals, deadline):
                return
            close(self._producer)
            time.sleep(pause)
            self._refusals.count = 0
            self._producer = Producer({**self._settings, "logger": self._refusals})

    def _ask_metadata(self, seconds: float) -> object:
        try:
            return self._producer.list_topics(self._task.ledger_topic, seconds)
        finally:
            self._producer.poll(0)

    def _transaction_error(self) -> KafkaError | None:
        """Why the open transaction failed, if it did. The client tells it to the next call that a healthy one would not allow either."""
        try:
            self._producer.begin_transaction()
        except KafkaException as failure:
            error = kafka_error(failure)
            return None if error is None or error.code() == KafkaError._STATE else error
        return None

    def _flush(self, failed: Callable[[], bool]) -> None:
        while left := self._producer.flush(_FLUSH_SECONDS):
            if failed():
                return
            self._check_age(left)

    def _check_age(self, left: int) -> None:
        """Raises if the transaction has reached its timeout with so many records not acknowledged: it could not be committed any more."""
        if self.age >= self._timeout:
            raise unacknowledged(self._task, self.age, left, self._sent, self._complaints.detail())

    def _call(self, step: str, call: Callable[[], object]) -> None:
        try:
            call()
        except KafkaException as failure:
            raise self._failure(step, failure) from failure

    def _failure(self, step: str, failure: KafkaException) -> MirrorError:
        error = kafka_error(failure)
        self._lost = self._lost or is_fenced(error)
        of_the_lane = failure_of_lane(self._task, error, self.age)
        if of_the_lane is not None:
            return of_the_lane
        # After a fatal error every call raises it again.
        with suppress(KafkaException):
            self._producer.poll(0)
        return translated(
            failure,
            self._complaints,
            step=f"lane {self._task.lane}: {step}",
            seconds=self._seconds,
        )
