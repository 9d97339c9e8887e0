"""Fencing: a producer that begins with a transactional id ends every earlier one of it, and what that has open (KIP-98).

A coordinator whose log lacks replicas in sync refuses every producer id (COORDINATOR_NOT_AVAILABLE), and librdkafka asks it again at once,
hundreds of times a second and producer: seen to keep a small broker from coming back at all. So such a producer is closed, and another
one asks after a pause.
"""

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import chain, repeat
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from mirror.kafka.client_errors import ClientErrors, kafka_error, retry_until, settings_with
from mirror.kafka.lifecycle import close

_FENCED = {KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.INVALID_PRODUCER_ID_MAPPING}
_REFUSALS = 5
"""So many refusals of one producer are a storm; a coordinator that is just moving gives one or two."""
_SLICE_SECONDS = 0.2
_PAUSES = (0.5, 1.0, 2.0)


def is_fenced(error: KafkaError | None) -> bool:
    """Whether a later producer has the transactional id: nothing that this one does can succeed any more."""
    return error is not None and error.code() in _FENCED


def fenced_producer(settings: Mapping[str, Any], complaints: ClientErrors, seconds: float, topic: str | None = None) -> Producer:
    """Opens a producer that has fenced every earlier one of its transactional.id. `topic` is one that it will write to.

    Raises KafkaException after `seconds`, and at once for what asking again would not mend; AuthenticationFailed.
    """
    settings = settings_with(settings, complaints)
    refusals = Refusals(settings["logger"])
    settings["logger"] = refusals
    producer = Producer(settings)
    try:
        # Asking for metadata first brings the connection up at once; otherwise the coordinator is looked for every half second.
        retry_until(partial(_ask_metadata, producer, topic), seconds, complaints)
        deadline = time.monotonic() + seconds
        waits = pauses(deadline)
        while not initialised(producer, refusals, deadline):
            close(producer)
            time.sleep(next(waits))
            refusals.count = 0
            producer = Producer(settings)
    except BaseException:
        with suppress(KafkaException, RuntimeError):  # after a fatal error every call raises it again, and one that is closed has nothing
            producer.poll(0)  # hands out what the client complains of
            close(producer)
        raise
    return producer


class Refusals:
    """A logger for one producer that counts how often it was refused a producer id, and hands everything on."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self.count = 0

    def log(self, level: int, message: str, *arguments: object) -> None:
        """What the client calls; its first argument is the facility."""
        if arguments and arguments[0] == "GETPID":
            self.count += 1
        self._log.log(level, message, *arguments)


def initialised(producer: Producer, refusals: Refusals, deadline: float) -> bool:
    """Whether the producer has fenced every earlier one of its transactional.id; False in a storm: close it, and ask anew after a pause.

    Raises KafkaException when the deadline (time.monotonic) is over, and at once for what asking again would not mend.
    """
    while True:
        remaining = deadline - time.monotonic()
        try:
            # A call that ran out of time is gone on with by the next one.
            producer.init_transactions(max(min(_SLICE_SECONDS, remaining), 0.01))
            return True
        except KafkaException as failure:
            error = kafka_error(failure)
            if error is None or error.fatal() or not error.retriable() or remaining <= _SLICE_SECONDS:
                raise
        producer.poll(0)  # hands out the client's lines
        if refusals.count >= _REFUSALS:
            return False


def pauses(deadline: float) -> Iterator[float]:
    """How long to wait before each new producer, in seconds; never beyond the deadline."""
    for pause in chain(_PAUSES, repeat(_PAUSES[-1])):
        yield max(0.0, min(pause, deadline - time.monotonic()))


def _ask_metadata(producer: Producer, topic: str | None, seconds: float) -> object:
    try:
        return producer.list_topics(topic, seconds)
    finally:
        producer.poll(0)
