"""Transactions over our own connections, as their coordinator sees them, in the two versions that clusters have.

                        version 2 (KIP-890, from Kafka 4.0)         version 1
    a partition joins   with its first batch                        by a request before its first batch
    producer epoch      a new one after each transaction            one from the fence on
    sequence numbers    begin at 0 in each transaction              go on, partition by partition

A batch that is late must never join the next transaction. In version 2 its epoch keeps it out. In version 1 nothing is late of a
transaction that is committed, for each of its batches was acknowledged before. One that is given up is not ended by EndTxn, which would
leave the epoch as it is, but by InitProducerId: the coordinator raises the epoch and tells it to every partition of the transaction by the
abort's marker; from there on the partition takes nothing of the old epoch. One that is left alone ends in the same way by its timeout.

Whoever begins under a transactional id fences every earlier producer of it, and ends what that one has open (KIP-98).
"""

import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import kafka.errors as errors
from kafka.protocol.producer import AddPartitionsToTxnRequest, EndTxnRequest, InitProducerIdRequest

from mirror.errors import AuthorizationRefused, MirrorError, TransactionTimeoutRefused
from mirror.kafka.broker_connection import OF_TARGET, BrokerConnection
from mirror.kafka.broker_pool import BrokerPool
from mirror.offsets.partition import TopicPartition

_INIT_PRODUCER_ID, _ADD_PARTITIONS = 5, 3
_END_TRANSACTION = {1: 4, 2: 5}
PRODUCE = {1: 11, 2: 12}
"""The highest version of a produce request in each version of transactions: from 12 on it adds partitions by itself."""
_FEATURE, _EPOCH_A_TRANSACTION = "transaction.version", 2
SOON_SECONDS = 0.01
"""How long the markers of a transaction take to be written, about."""
_PAUSE_SECONDS = 0.5
_CLOSE_SECONDS = 5.0
SHORT_MS = 10_000
"""How long a transaction of a few records may be open: if its producer died, for as long readers do not see what follows it."""

CONCURRENT: int = errors.ConcurrentTransactionsError.errno
_MOVING = {
    error.errno for error in (errors.CoordinatorLoadInProgressError, errors.CoordinatorNotAvailableError, errors.NotCoordinatorError)
}
FENCED = {error.errno for error in (errors.InvalidProducerEpochError, errors.ProducerFencedError, errors.InvalidProducerIdMappingError)}


class Fenced(Exception):
    """Raised when another producer with the same transactional id began: nothing of the open transaction was committed."""


class Transactions:
    """The transactions under a transactional id. Opening it fences every earlier producer and ends its open transaction."""

    def __init__(self, pool: BrokerPool, transactional_id: str, timeout_ms: int, seconds: float) -> None:
        """`timeout_ms`: after how many milliseconds the cluster aborts a transaction; `seconds`: how long a step may take."""
        self.pool = pool
        self.id = transactional_id
        self.timeout_ms = timeout_ms
        self._seconds = seconds
        self.is_open = False
        self._since: float | None = None
        self._is_over = False
        """Whether nothing is left to be aborted: its commit was asked for, or another producer began."""
        self._added: set[TopicPartition] = set()
        self.version = 1
        """Of transactions, in this cluster."""
        self.producer = self._fenced()
        """Producer id and epoch of the open transaction, or of the next."""

    def begin(self) -> None:
        """Begins a transaction; the target hears of it by `add` or by its first batch."""
        self.is_open, self._is_over, self._since = True, False, None
        self._added.clear()

    def add(self, partitions: Mapping[TopicPartition, str]) -> None:
        """Makes partitions, batches of which are sent next, part of the transaction; each with the topic that an error names. As long as
        the markers of the last transaction are being written, it asks again."""
        if self._since is None:
            self._since = time.monotonic()
        new = partitions.keys() - self._added
        if self.version >= _EPOCH_A_TRANSACTION or not new:
            return
        deadline = time.monotonic() + self._seconds
        while (refused := self._adding(new)) is not None and refused[1] == CONCURRENT and time.monotonic() < deadline:
            time.sleep(SOON_SECONDS)
        if refused is not None:
            tp, code = refused
            if code == errors.TopicAuthorizationFailedError.errno:
                raise AuthorizationRefused(self.pool.alias, "WRITE", f"topic {tp.topic}", topic=partitions[tp])
            raise self.translate(code, f"adding {tp} to the transaction")
        self._added |= new

    @property
    def age(self) -> float:
        """For how many seconds the target has known the transaction."""
        return time.monotonic() - self._since if self._since is not None else 0.0

    def commit(self) -> None:
        """Commits. A commit that ends in doubt is not repeated here: the log, read after the next fencing, tells how it ended."""
        self._is_over = True
        deadline = time.monotonic() + self._seconds
        while (answer := self._commit()).error_code == CONCURRENT and time.monotonic() < deadline:
            time.sleep(SOON_SECONDS)
        if answer.error_code:
            raise self.translate(answer.error_code, "committing")
        if self.version >= _EPOCH_A_TRANSACTION:
            self.producer = (answer.producer_id, answer.producer_epoch)
        self.is_open, self._since = False, None

    def close(self) -> None:
        """Aborts an open transaction and closes the connections. One that was fenced only closes: an abort could not succeed."""
        if self._since is None or self._is_over:
            self.pool.release()
            return
        self.pool.close()
        # What does not succeed here is done by the next producer's fencing; nothing of the transaction becomes visible before.
        self.pool.seconds = min(self.pool.seconds, _CLOSE_SECONDS)
        with suppress(MirrorError):
            self._init_producer_id(*self.producer)
        self.pool.close()

    def translate(self, code: int, step: str) -> Exception:
        """What to raise for an error code that ended the transaction."""
        if code in FENCED:
            self._is_over = True
            return self.translate_fence(code)
        if code == errors.InvalidTransactionTimeoutError.errno:
            return TransactionTimeoutRefused(self.pool.alias, self.timeout_ms / 1000)
        return self.pool.refused(code, step, operation="WRITE", what=self.what)

    def translate_fence(self, code: int) -> Exception:
        """What to raise when the coordinator does not know this producer any more; `code` says how it put that."""
        return Fenced(self.pool.alias, self.id, code)

    @property
    def what(self) -> str:
        """What it may refuse us, in words."""
        return f"the transactional id {self.id}"

    # ------------------------------------------------------------ inside

    def _fenced(self) -> tuple[int, int]:
        """Fences every earlier producer, and gives the producer id and the epoch of the first transaction. What an earlier one has open is
        aborted meanwhile, so the coordinator is asked again; and so it is while it moves."""
        deadline = time.monotonic() + self._seconds
        while True:
            self._coordinator = self.pool.coordinator(self.id)
            level = self._connection().features.get(_FEATURE, 0)
            self.version = min(max(level, 1), _EPOCH_A_TRANSACTION)
            answer = self._init_producer_id()
            if not answer.error_code:
                return answer.producer_id, answer.producer_epoch
            if answer.error_code not in {CONCURRENT, *_MOVING} or time.monotonic() >= deadline:
                raise self.translate(answer.error_code, "fencing earlier producers")
            time.sleep(SOON_SECONDS if answer.error_code == CONCURRENT else _PAUSE_SECONDS)

    def _init_producer_id(self, producer_id: int = -1, epoch: int = -1) -> Any:
        """Raises the producer epoch, and aborts the open transaction; with a producer, only if that one is still the last."""
        return self._ask(
            "fencing earlier producers",
            InitProducerIdRequest,
            _INIT_PRODUCER_ID,
            transactional_id=self.id,
            transaction_timeout_ms=self.timeout_ms,
            producer_id=producer_id,
            producer_epoch=epoch,
        )

    def _adding(self, partitions: Iterable[TopicPartition]) -> tuple[TopicPartition, int] | None:
        """Asks for partitions to be added; gives one that was refused, with the error code. The others are then not added either."""
        numbers: dict[str, list[int]] = {}
        for topic, partition in partitions:
            numbers.setdefault(topic, []).append(partition)
        kind = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
        producer_id, epoch = self.producer
        answer = self._ask(
            "adding partitions to a transaction",
            AddPartitionsToTxnRequest,
            _ADD_PARTITIONS,
            v3_and_below_transactional_id=self.id,
            v3_and_below_producer_id=producer_id,
            v3_and_below_producer_epoch=epoch,
            v3_and_below_topics=[kind(name=name, partitions=of_topic) for name, of_topic in numbers.items()],
        )
        refused = [
            (TopicPartition(topic.name, partition.partition_index), partition.partition_error_code)
            for topic in answer.results_by_topic_v3_and_below
            for partition in topic.results_by_partition
            if partition.partition_error_code
        ]
        attempted = [(tp, code) for tp, code in refused if code != errors.OperationNotAttemptedError.errno]
        return next(iter(attempted or refused), None)

    def _commit(self) -> Any:
        producer_id, epoch = self.producer
        return self._ask(
            "ending a transaction",
            EndTxnRequest,
            _END_TRANSACTION[self.version],
            transactional_id=self.id,
            producer_id=producer_id,
            producer_epoch=epoch,
            committed=True,
        )

    def _connection(self) -> BrokerConnection:
        return self.pool.to(self._coordinator)

    def _ask(self, step: str, request: Any, highest: int, **fields: Any) -> Any:
        """What the coordinator answers to a request, in the highest version that both know."""
        connection = self.pool.guarded(step, self._connection)
        question = request(version=connection.version(request.API_KEY, highest), **fields)
        return self.pool.guarded(step, partial(connection.ask, question))


def fence(alias: str, settings: Mapping[str, Any], transactional_ids: Iterable[str], seconds: float) -> None:
    """Fences every producer of these ids: a transaction that is open is aborted, and none of them can write any more.

    `settings` are those of a producer of the cluster `alias`; `seconds` bounds each id. An id that nobody used before does no harm. Raises
    AuthorizationRefused and what the brokers say.
    """
    pool = BrokerPool(alias, settings, seconds, OF_TARGET, carries_batches=True)
    try:
        for transactional_id in transactional_ids:
            Transactions(pool, transactional_id, SHORT_MS, seconds)
    finally:
        pool.close()
