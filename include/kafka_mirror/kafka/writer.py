"""Writing a few records outside any transaction (decisions, checkpoints, heartbeats …): acknowledged by all replicas, or an error."""

import time
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from kafka_mirror.errors import DeadlineExceeded, MirrorError
from kafka_mirror.kafka.client_errors import ClientErrors, settings_with, to_mirror_error

_FLUSH_SECONDS = 0.2


class Outgoing(NamedTuple):
    """A record to write. `timestamp` in Unix milliseconds; 0, as the client has it: now."""

    topic: str
    key: bytes
    value: bytes
    timestamp: int = 0
    partition: int = 0
    headers: tuple[tuple[str, bytes], ...] = ()


class DeliveryReports:
    """Takes the delivery reports of records: why some were not written, with their topics."""

    def __init__(self) -> None:
        self.failures: list[tuple[KafkaError, str]] = []

    def __call__(self, error: KafkaError | None, message: Message) -> None:
        """Takes the report of one record, as the client gives it."""
        if error is not None:
            self.failures.append((error, message.topic() or ""))


class RecordWriter:
    """Writes records to one cluster, in their order within each partition. Its connections are kept from one `write` to the next."""

    def __init__(self, alias: str, settings: Mapping[str, Any], seconds: float) -> None:
        """`settings` are those of a producer, whose tuning does no harm; `seconds`: how long `write` may take."""
        self._alias = alias
        self._settings = {
            "client.id": "mirror",
            **{name: value for name, value in settings.items() if name not in ("transactional.id", "transaction.timeout.ms")},
            "enable.idempotence": True,
            "acks": "all",
            "allow.auto.create.topics": False,
        }
        self._seconds = seconds
        self._reusable: tuple[Producer, ClientErrors] | None = None

    def write(self, records: Iterable[Outgoing], what: str) -> None:
        """Writes all of them and waits until all replicas have them; `what` names them in errors, such as "the decision".

        Raises DeadlineExceeded, KafkaFailure, AuthorizationRefused …: some of the records may be written then.
        """
        reports = DeliveryReports()
        producer, complaints = self._reusable or self._connected()
        self._reusable = None
        topics: set[str] = set()
        deadline = time.monotonic() + self._seconds
        try:
            for record in records:
                topics.add(record.topic)
                self._produce(producer, record, reports, complaints, deadline, what)
            while producer.flush(_FLUSH_SECONDS):
                self._check_progress(complaints, deadline, what, topics)
        finally:
            producer.purge()
        if reports.failures:
            error, topic = reports.failures[0]
            raise self._translated(KafkaException(error), topic, complaints, what)
        if not complaints.detail():  # what was complained of once would explain a later failure wrongly
            self._reusable = producer, complaints

    def _connected(self) -> tuple[Producer, ClientErrors]:
        complaints = ClientErrors(self._alias, self._settings)
        return Producer(settings_with(self._settings, complaints)), complaints

    def _produce(
        self, producer: Producer, record: Outgoing, reports: DeliveryReports, complaints: ClientErrors, deadline: float, what: str
    ) -> None:
        while True:
            try:
                producer.produce(
                    record.topic,
                    record.value,
                    record.key,
                    record.partition,
                    reports,
                    timestamp=record.timestamp,
                    headers=list(record.headers),
                )
            except BufferError:
                producer.poll(_FLUSH_SECONDS)
                self._check_progress(complaints, deadline, what, {record.topic})
            except KafkaException as failure:  # the client knows already that it may not, or that the topic is gone
                raise self._translated(failure, record.topic, complaints, what) from None
            else:
                producer.poll(0)
                return

    def _check_progress(self, complaints: ClientErrors, deadline: float, what: str, topics: Iterable[str]) -> None:
        complaints.raise_refusal()
        if time.monotonic() > deadline:
            raise DeadlineExceeded(
                f"Cluster '{self._alias}': {', '.join(sorted(topics))} did not acknowledge {what} within {self._seconds:g} s; "
                "it may be written or not.",
                topic=min(topics, default=None),
                next="Look at the brokers; writing it once more is harmless.",
            )

    def _translated(self, failure: KafkaException, topic: str, complaints: ClientErrors, what: str) -> MirrorError:
        return to_mirror_error(
            failure,
            complaints,
            step=f"writing {what}",
            seconds=self._seconds,
            topic=topic,
            operation="WRITE",
        )
