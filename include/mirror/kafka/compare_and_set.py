"""Records written to a partition only if nothing was written there since it was read.

Kafka knows no condition on a write, but a transaction tells where its records were delivered before it is committed:

    read up to ─┐
    … │ theirs  │ ours │ marker │ ours …    delivered at the end that was read, or right behind our own marker: committed
    … │ theirs  │ another │ ours            delivered elsewhere: aborted, and nobody ever reads it

The end that was read may be that of a deposed leader: cut off from its cluster, and not from us, it goes on answering. What is written is
acknowledged by the true leader alone, so the place at which it is delivered tells whether the end, and all that was read in front of it,
was true. A marker that a new coordinator wrote once more, or somebody else's aborted records, look the same: then it is written again for
nothing.
"""

import operator
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from mirror.errors import MirrorError, UnexpectedOffset
from mirror.kafka.client_errors import ClientErrors, kafka_error, to_mirror_error
from mirror.kafka.cluster import Cluster
from mirror.kafka.fence import fenced_producer, is_fenced
from mirror.kafka.lifecycle import close
from mirror.kafka.polling import until
from mirror.kafka.writer import DeliveryReports, Outgoing
from mirror.offsets.partition import TopicPartition

TRANSACTION_MS = 10_000
"""How long a transaction of a writer that died may keep readers from what is behind it."""
_POLL_SECONDS = 0.2
_MARKER_POLL_SECONDS = 0.01


class LogEnd:
    """The end of one partition of the target, as far as it is known: as it was read, and then behind what was delivered."""

    def __init__(self, log: TopicPartition, end: int, source: TopicPartition | None = None) -> None:
        """`source`: the partition that is copied into it, which an error then names."""
        self.log = log
        self.next = end
        self._source = source
        self._open = False

    def delivered(self, spans: Iterable[tuple[int, int]]) -> None:
        """Takes the first offset and the number of records of each span that a transaction wrote, in order.

        Raises UnexpectedOffset: the transaction must not be committed.
        """
        for first, records in spans:
            if first != self.next:
                raise UnexpectedOffset(self.log, self.next, first, self._source)
            self.next = first + records
            self._open = True

    def committed(self) -> None:
        """After the commit of a transaction: its marker follows what it wrote."""
        self.next += self._open
        self._open = False


def not_readable(target: Cluster, ends: Mapping[TopicPartition, int], seconds: float) -> dict[TopicPartition, int]:
    """Waits until what was committed can be read up to these ends; gives those that it cannot after so many seconds.

    A commit is decided before its markers are written, so for some milliseconds readers of committed records do not see it.
    """
    behind = dict(ends)

    def still_behind() -> dict[TopicPartition, int]:
        stable = target.offsets(behind, "latest", committed=True)
        for tp in [tp for tp, end in behind.items() if stable.get(tp, 0) >= end]:
            del behind[tp]
        return behind

    return until(still_behind, seconds, _MARKER_POLL_SECONDS, enough=operator.not_)


class Fenced(Exception):
    """Raised when another writer with the same transactional.id began: nothing of ours was committed."""


class CommitInDoubt(Exception):
    """Raised when the broker did not say how a commit ended. It has ended by now: what is not in the log never will be.

    A coordinator answers so while a later producer of the same transactional.id fences this one: it meets its own unfinished change of
    state (seen with Kafka 4.3.1: «transition to ONGOING while it already a pending state PREPARE_EPOCH_FENCE»).
    """


class ConditionalWriter:
    """Writes to one cluster under a transactional.id that all who write to the partition share."""

    def __init__(self, alias: str, settings: Mapping[str, Any], transactional_id: str, seconds: float) -> None:
        """`settings` are those of a producer; `seconds`: how long each step may take."""
        self._complaints = ClientErrors(alias, settings)
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

        Raises UnexpectedOffset or Fenced, then nothing was written; CommitInDoubt, and what the brokers say, then it may have been.
        """
        step = f"writing {what}"
        producer = self._opened(log, step)
        try:
            self._call(producer.begin_transaction, log, step)
            offsets = self._delivered(producer, records, log, step)
            try:
                LogEnd(log, end).delivered((offset, 1) for offset in offsets)
            except UnexpectedOffset:
                with suppress(KafkaException):  # what is not aborted here is by the next writer, or by its timeout
                    producer.abort_transaction(self._seconds)
                raise
            self._commit(producer, log, step)
        finally:
            producer.purge()
            with suppress(KafkaException):  # a writer that was fenced is told so again; what it committed before stands all the same
                close(producer)

    def _opened(self, log: TopicPartition, step: str) -> Producer:
        try:
            return fenced_producer(self._settings, self._complaints, self._seconds, log.topic)
        except KafkaException as failure:
            raise self._translated(failure, log, step) from failure

    def _commit(self, producer: Producer, log: TopicPartition, step: str) -> None:
        try:
            producer.commit_transaction(self._seconds)
        except KafkaException as failure:
            error = kafka_error(failure)
            if error is None or error.code() != KafkaError.UNKNOWN:
                raise self._translated(failure, log, step) from failure
            close(self._opened(log, step))  # whatever was open under the transactional.id has ended when a later producer has begun
            raise CommitInDoubt(f"{log}: {error.str()}") from failure

    def _delivered(self, producer: Producer, records: Iterable[Outgoing], log: TopicPartition, step: str) -> list[int]:
        """The offsets of the records, once all are acknowledged."""
        reports = DeliveryReports()
        for record in records:
            self._call(partial(producer.produce, record.topic, record.value, record.key, record.partition, reports), log, step)
        deadline = time.monotonic() + self._seconds
        try:
            while producer.flush(_POLL_SECONDS) and not reports.failures:
                self._complaints.raise_refusal()
                if time.monotonic() > deadline:
                    raise to_mirror_error(TimeoutError(), self._complaints, step=step, seconds=self._seconds, topic=log.topic)
        except KafkaException as failure:  # a writer that is fenced is told so by whatever it does next
            raise self._translated(failure, log, step) from failure
        if reports.failures:
            raise self._translated(KafkaException(reports.failures[0][0]), log, step)
        return reports.offsets

    def _call(self, call: Callable[[], object], log: TopicPartition, step: str) -> None:
        try:
            call()
        except KafkaException as failure:
            raise self._translated(failure, log, step) from failure

    def _translated(self, failure: KafkaException, log: TopicPartition, step: str) -> MirrorError | Fenced:
        error = kafka_error(failure)
        if is_fenced(error):
            return Fenced()
        topic = None if error is not None and error.code() == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED else log.topic
        return to_mirror_error(failure, self._complaints, step=step, seconds=self._seconds, topic=topic, operation="WRITE")
