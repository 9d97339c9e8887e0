"""A lane's transactions, as their coordinator sees them, in the two versions that clusters have.

                        version 2 (KIP-890, from Kafka 4.0)         version 1
    a partition joins   with its first batch                        by a request before its first batch
    producer epoch      a new one after each transaction            one from the fence on
    sequence numbers    begin at 0 in each transaction              go on, partition by partition

A batch that is late must never join the next transaction. In version 2 its epoch keeps it out. In version 1 nothing is late of a
transaction that is committed, for each of its batches was acknowledged before. One that is given up is not ended by EndTxn, which would
leave the epoch as it is, but by InitProducerId: the coordinator raises the epoch and tells it to every partition of the transaction by the
abort's marker; from there on the partition takes nothing of the old epoch. One that is left alone ends in the same way by its timeout.
"""

import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import kafka.errors as errors
from kafka.protocol.producer import AddPartitionsToTxnRequest, EndTxnRequest, InitProducerIdRequest

from mirror.copy.model import LaneTask
from mirror.errors import AuthorizationRefused, MirrorError, Overtaken, TransactionTimeoutRefused, TransactionTooSlow
from mirror.kafka.broker_connection import BrokerConnection
from mirror.kafka.broker_pool import BrokerPool
from mirror.offsets.partition import TopicPartition

_INIT_PRODUCER_ID, _ADD_PARTITIONS = 5, 3
_END_TRANSACTION = {1: 4, 2: 5}
_FEATURE, _EPOCH_A_TRANSACTION = "transaction.version", 2
SOON_SECONDS = 0.01
"""How long the markers of a transaction take to be written, about."""
_PAUSE_SECONDS = 0.5
_CLOSE_SECONDS = 5.0
OLD_SHARE = 0.8
"""From this part of its timeout on a transaction counts as ended by the broker for its age."""

CONCURRENT: int = errors.ConcurrentTransactionsError.errno
_MOVING = {
    error.errno for error in (errors.CoordinatorLoadInProgressError, errors.CoordinatorNotAvailableError, errors.NotCoordinatorError)
}
_FENCED = {error.errno for error in (errors.InvalidProducerEpochError, errors.ProducerFencedError, errors.InvalidProducerIdMappingError)}


class LaneTransactions:
    """The transactions under a lane's transactional id. Opening it fences every earlier attempt and ends its open transaction."""

    def __init__(self, task: LaneTask, pool: BrokerPool) -> None:
        self._task = task
        self._pool = pool
        self.timeout = task.transaction_timeout_ms / 1000
        """After so many seconds the target aborts a transaction."""
        self.is_open = False
        self._since: float | None = None
        self._is_over = False
        """Whether nothing is left to be aborted: its commit was asked for, or the lane is lost."""
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
        """Makes partitions, batches of which are sent next, part of the transaction; each with the topic that an error names: its source
        topic, or the ledger. As long as the markers of the last transaction are being written, it asks again."""
        if self._since is None:
            self._since = time.monotonic()
        new = partitions.keys() - self._added
        if self.version >= _EPOCH_A_TRANSACTION or not new:
            return
        deadline = time.monotonic() + self._task.request_seconds
        while (refused := self._adding(new)) is not None and refused[1] == CONCURRENT and time.monotonic() < deadline:
            time.sleep(SOON_SECONDS)
        if refused is not None:
            tp, code = refused
            if code == errors.TopicAuthorizationFailedError.errno:
                raise AuthorizationRefused(self._task.target, "WRITE", f"topic {tp.topic}", topic=partitions[tp])
            raise self.failure(code, f"adding {tp} to the transaction")
        self._added |= new

    @property
    def age(self) -> float:
        """For how many seconds the target has known the transaction."""
        return time.monotonic() - self._since if self._since is not None else 0.0

    def commit(self) -> None:
        """Commits. A commit that ends in doubt is not repeated here: the ledger, read after the next fencing, knows how it ended."""
        self._is_over = True
        deadline = time.monotonic() + self._task.request_seconds
        while (answer := self._commit()).error_code == CONCURRENT and time.monotonic() < deadline:
            time.sleep(SOON_SECONDS)
        if answer.error_code:
            raise self.failure(answer.error_code, "committing")
        if self.version >= _EPOCH_A_TRANSACTION:
            self.producer = (answer.producer_id, answer.producer_epoch)
        self.is_open, self._since = False, None

    def close(self) -> None:
        """Aborts an open transaction and closes the connections. One that lost its lane only closes: an abort could not succeed."""
        if self._since is None or self._is_over:
            self._pool.release()
            return
        self._pool.close()
        # What does not succeed here is done by the next attempt's fencing; nothing of the transaction becomes visible before.
        self._pool.seconds = min(self._pool.seconds, _CLOSE_SECONDS)
        with suppress(MirrorError):
            self._init_producer_id(*self.producer)
        self._pool.close()

    def failure(self, code: int, step: str) -> MirrorError:
        """The error of ours for what ended the transaction. One that the broker ended for its age looks exactly like a fence; only its age
        tells them apart."""
        self._is_over = self._is_over or code in _FENCED
        lane, age = self._task.lane, self.age
        if code in _FENCED:
            is_old, is_id_unknown = age >= OLD_SHARE * self.timeout, code == errors.InvalidProducerIdMappingError.errno
            return TransactionTooSlow(lane, age, self.timeout) if is_old else Overtaken(lane, is_id_unknown)
        if code == errors.InvalidTransactionTimeoutError.errno:
            return TransactionTimeoutRefused(self._task.target, self.timeout)
        # The lanes' ids differ in the lane alone, and one grant for their prefix is what a person would give.
        prefix = self._task.transactional_id.removesuffix(str(lane))
        return self._pool.refused(code, f"lane {lane}: {step}", operation="WRITE", what=f"transactional ids with the prefix {prefix}")

    # ------------------------------------------------------------ inside

    def _fenced(self) -> tuple[int, int]:
        """Fences every earlier attempt, and gives the producer id and the epoch of the first transaction. An open transaction of an earlier
        attempt is aborted meanwhile, so it is asked again; and so it is while the coordinator moves."""
        deadline = time.monotonic() + self._task.request_seconds
        while True:
            self._coordinator = self._pool.coordinator(self._task.transactional_id)
            level = self._connection().features.get(_FEATURE, 0)
            self.version = min(max(level, 1), _EPOCH_A_TRANSACTION)
            answer = self._init_producer_id()
            if not answer.error_code:
                return answer.producer_id, answer.producer_epoch
            if answer.error_code not in {CONCURRENT, *_MOVING} or time.monotonic() >= deadline:
                raise self.failure(answer.error_code, "fencing earlier attempts")
            time.sleep(SOON_SECONDS if answer.error_code == CONCURRENT else _PAUSE_SECONDS)

    def _init_producer_id(self, producer_id: int = -1, epoch: int = -1) -> Any:
        """Raises the producer epoch, and aborts the open transaction; with a producer, only if that one is still the last."""
        return self._ask(
            "fencing earlier attempts",
            InitProducerIdRequest,
            _INIT_PRODUCER_ID,
            transactional_id=self._task.transactional_id,
            transaction_timeout_ms=self._task.transaction_timeout_ms,
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
            v3_and_below_transactional_id=self._task.transactional_id,
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
            transactional_id=self._task.transactional_id,
            producer_id=producer_id,
            producer_epoch=epoch,
            committed=True,
        )

    def _connection(self) -> BrokerConnection:
        return self._pool.to(self._coordinator)

    def _ask(self, step: str, request: Any, highest: int, **fields: Any) -> Any:
        """What the coordinator answers to a request, in the highest version that both know."""
        connection = self._pool.guarded(step, self._connection)
        question = request(version=connection.version(request.API_KEY, highest), **fields)
        return self._pool.guarded(step, partial(connection.ask, question))
