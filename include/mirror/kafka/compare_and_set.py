"""Records written to a partition only if nothing was written there since it was read.

Kafka knows no condition on a write, but a transaction tells where its records were delivered before it is committed:

    read up to ─┐
    … │ theirs  │ ours        delivered at the end that was read: committed
    … │ theirs  │ another │ ours    delivered elsewhere: aborted, and nobody ever reads it
"""

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from mirror.errors import MirrorError, UnexpectedOffset
from mirror.kafka.closing import close
from mirror.kafka.failures import Complaints, kafka_error, patiently, settings_with, translated
from mirror.kafka.writing import Outgoing
from mirror.offsets.partition import TopicPartition

TRANSACTION_MS = 10_000
"""How long a transaction of a writer that died may keep readers from what is behind it."""
_FENCED = {KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.INVALID_PRODUCER_ID_MAPPING}
_POLL_SECONDS = 0.2


class Fenced(Exception):
    """Raised when another writer with the same transactional.id began: nothing of ours was committed."""


class ConditionalWriter:
    """Writes to one cluster under a transactional.id that all who write to the partition share."""

    def __init__(self, alias: str, settings: Mapping[str, Any], transactional_id: str, seconds: float) -> None:
        """`settings` are those of a producer; `seconds`: how long each step may take."""
        self._complaints = Complaints(alias, settings)
        self._seconds = seconds
        self._settings = {
            **settings,
            "transactional.id": transactional_id,
            "transaction.timeout.ms": TRANSACTION_MS,
            "message.timeout.ms": TRANSACTION_MS,
            "enable.idempotence": True,
            "acks": "all",
            "allow.auto.create.topics": False,
        }

    def write(self, records: Iterable[Outgoing], log: TopicPartition, end: int, what: str) -> None:
        """Commits the records, all of one partition, if they are delivered right at its `end`; `what` names them in errors.

        Raises UnexpectedOffset or Fenced, then nothing was written; and what the brokers say. A commit that ends in doubt may have
        succeeded.
        """
        producer = Producer(settings_with(self._settings, self._complaints))
        step = f"writing {what}"
        try:
            # Asking for metadata first brings the connection up at once; otherwise the coordinator is looked for every half second.
            self._call(lambda: patiently(lambda each: producer.list_topics(log.topic, each), self._seconds, self._complaints), log, step)
            self._call(lambda: patiently(producer.init_transactions, self._seconds, self._complaints), log, step)
            self._call(producer.begin_transaction, log, step)
            offsets = self._delivered(producer, records, log, step)
            if offsets != list(range(end, end + len(offsets))):
                with suppress(KafkaException):  # what is not aborted here is by the next writer, or by its timeout
                    producer.abort_transaction(self._seconds)
                raise UnexpectedOffset(log, end, offsets[0])
            self._call(lambda: producer.commit_transaction(self._seconds), log, step)
        finally:
            producer.purge()
            with suppress(KafkaException):  # a writer that was fenced is told so again; what it committed before stands all the same
                close(producer)

    def _delivered(self, producer: Producer, records: Iterable[Outgoing], log: TopicPartition, step: str) -> list[int]:
        """The offsets of the records, once all are acknowledged."""
        failures: list[KafkaError] = []
        offsets: list[int] = []

        def report(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                failures.append(error)
            else:
                offsets.append(message.offset())  # type: ignore[arg-type]

        for each in records:
            self._call(lambda each=each: producer.produce(each.topic, each.value, each.key, each.partition, report), log, step)  # type: ignore[misc]
        deadline = time.monotonic() + self._seconds
        try:
            while producer.flush(_POLL_SECONDS) and not failures:
                self._complaints.raise_refusal()
                if time.monotonic() > deadline:
                    raise translated(TimeoutError(), self._complaints, step=step, seconds=self._seconds, topic=log.topic)
        except KafkaException as failure:  # a writer that is fenced is told so by whatever it does next
            raise self._translated(failure, log, step) from failure
        if failures:
            raise self._translated(KafkaException(failures[0]), log, step)
        return offsets

    def _call(self, call: Callable[[], object], log: TopicPartition, step: str) -> None:
        try:
            call()
        except KafkaException as failure:
            raise self._translated(failure, log, step) from failure

    def _translated(self, failure: KafkaException, log: TopicPartition, step: str) -> MirrorError | Fenced:
        error = kafka_error(failure)
        if error is not None and (error.code() in _FENCED or (error.fatal() and "fenced" in error.str().lower())):
            return Fenced()
        topic = None if error is not None and error.code() == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED else log.topic
        return translated(failure, self._complaints, step=step, seconds=self._seconds, topic=topic, operation="WRITE")
