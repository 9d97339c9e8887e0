"""Initialising a transactional producer, without the storm that the client makes of it while the coordinator cannot write.

A coordinator whose log lacks replicas in sync refuses every producer id (COORDINATOR_NOT_AVAILABLE), and librdkafka asks it again at once,
hundreds of times a second and lane: seen to keep a small broker from coming back at all. So such a producer is closed, and another one
asks after a pause.
"""

import logging
import time
from collections.abc import Iterator
from itertools import chain, repeat

from confluent_kafka import KafkaException, Producer

from mirror.kafka.failures import kafka_error

_REFUSALS = 5
"""So many refusals of one producer are a storm; a coordinator that is just moving gives one or two."""
_SLICE_SECONDS = 0.2
_PAUSES = (0.5, 1.0, 2.0)


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
        left = deadline - time.monotonic()
        try:
            # A call that ran out of time is gone on with by the next one.
            producer.init_transactions(max(min(_SLICE_SECONDS, left), 0.01))
            return True
        except KafkaException as failure:
            error = kafka_error(failure)
            if error is None or error.fatal() or not error.retriable() or left <= _SLICE_SECONDS:
                raise
        producer.poll(0)  # hands out the client's lines
        if refusals.count >= _REFUSALS:
            return False


def pauses(deadline: float) -> Iterator[float]:
    """How long to wait before each new producer, in seconds; never beyond the deadline."""
    for pause in chain(_PAUSES, repeat(_PAUSES[-1])):
        yield max(0.0, min(pause, deadline - time.monotonic()))
