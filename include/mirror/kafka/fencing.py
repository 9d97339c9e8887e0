"""Putting an end to what somebody else's producer may still be doing under a transactional id."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from confluent_kafka import KafkaException, Producer

from mirror.kafka.failures import Complaints, patiently, settings_with, translated


def fence(alias: str, settings: Mapping[str, Any], transactional_ids: Iterable[str], seconds: float) -> None:
    """Fences every producer of these ids: a transaction that is open is aborted, and none of them can write any more.

    `settings` are those of a producer of the cluster `alias`; `seconds` bounds each id. An id that nobody used before does no harm. Raises
    AuthorizationRefused and what the brokers say.
    """
    for transactional_id in transactional_ids:
        complaints = Complaints(alias, settings)
        producer = Producer(settings_with({**settings, "transactional.id": transactional_id, "enable.idempotence": True}, complaints))
        try:
            # Asking for metadata first brings the connection up at once; otherwise the coordinator is looked for every half second.
            patiently(partial(_metadata, producer), seconds, complaints)
            producer.init_transactions(seconds)
        except KafkaException as failure:
            with suppress(KafkaException):
                producer.poll(0)
            step = f"fencing the transactional id {transactional_id}"
            raise translated(failure, complaints, step=step, seconds=seconds, operation="WRITE") from failure
        finally:
            producer.close()


def _metadata(producer: Producer, seconds: float) -> object:
    try:
        return producer.list_topics(timeout=seconds)
    finally:
        producer.poll(0)
