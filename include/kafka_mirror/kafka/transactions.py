"""Transactions over our own connections, as their coordinator sees them, in the two versions that clusters have.

                        version 2 (KIP-890, from Kafka 4.0)         version 1
    a partition joins   with its first batch                        by a request before its first batch
    producer epoch      a new one after each transaction            one from the fence on
    sequence numbers    begin at 0 in each transaction              go on, partition by partition

A batch that is late must never join the next transaction. In version 2 its epoch keeps it out. In version 1 nothing is late of a
transaction that is committed, for each of its batches was acknowledged before. One that is given up is not ended by EndTxn, which would
leave the epoch as it is, but by InitProducerId: the coordinator raises the epoch and tells it to every partition of the transaction by the
abort's marker; from there on the partition takes nothing of the old epoch. One that is left alone ends in the same way by its timeout.

A producer that begins under a transactional id fences every earlier one of it, and ends what that one has open (KIP-98).
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from operator import attrgetter
from typing import Any

import kafka.errors as errors
from kafka.protocol.producer import AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, EndTxnRequest, InitProducerIdRequest

from kafka_mirror.errors import AuthorizationRefused, MirrorError, TransactionTimeoutRefused
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.broker_connection import OF_TARGET
from kafka_mirror.kafka.broker_pool import BrokerPool
from kafka_mirror.kafka.connection_errors import COORDINATOR_MOVES, TOPIC_DENIED, is_retriable, raise_for

_INIT_PRODUCER_ID, _ADD_PARTITIONS, _ADD_OFFSETS = 5, 3, 3
_END_TRANSACTION = {1: 4, 2: 5}
PRODUCE = {1: 11, 2: 12}
"""The highest version of a produce request in each version of transactions: from 12 on it adds partitions by itself."""
_FEATURE, _EPOCH_A_TRANSACTION = "transaction.version", 2
_CLOSE_SECONDS = 5.0
SHORT_MS = 10_000
"""How long a transaction of a few records may be open: if its producer died, for as long readers do not see what follows it."""

CONCURRENT: int = errors.ConcurrentTransactionsError.errno
FENCED = {error.errno for error in (errors.InvalidProducerEpochError, errors.ProducerFencedError, errors.InvalidProducerIdMappingError)}


class Fenced(Exception):
    """Raised when another producer with the same transactional id began: nothing of the open transaction was committed."""


class Transactions:
    """The transactions under a transactional id. Opening it fences every earlier producer and ends its open transaction.

    Its coordinator is asked again while it moves, and as long as the markers of the last transaction are being written.
    """

    def __init__(self, pool: BrokerPool, transactional_id: str, timeout_ms: int, newest: int = _EPOCH_A_TRANSACTION) -> None:
        """`timeout_ms`: after how many milliseconds the cluster aborts a transaction; `newest`: the newest version of transactions to
        speak. Closes the pool if it raises."""
        self.pool = pool
        self.id = transactional_id
        self.timeout_ms = timeout_ms
        self.is_open = False
        self._since: float | None = None
        self._is_over = False
        """Whether nothing is left to be aborted: its commit was asked for, or another producer began."""
        self._added: set[TopicPartition] = set()
        self._coordinator: int | None = None
        try:
            node = self._coordinator = pool.find_coordinator(transactional_id)
            level = pool.guard("connecting", lambda: pool.connect(node)).features.get(_FEATURE, 0)
            self.version = min(max(level, 1), newest)
            """Of transactions, in this cluster."""
            self.producer = (-1, -1)
            """Producer id and epoch of the open transaction, or of the next."""
            self._fence()
        except BaseException:
            pool.close()
            raise

    def begin(self) -> None:
        """Begins a transaction; the target hears of it by `add` or by its first batch."""
        self.is_open, self._is_over, self._since = True, False, None
        self._added.clear()

    def add(self, partitions: Mapping[TopicPartition, str]) -> None:
        """Makes partitions, batches of which are sent next, part of the transaction; each with the topic that an error names."""
        self._note_start()
        new = partitions.keys() - self._added
        if self.version >= _EPOCH_A_TRANSACTION or not new:
            return
        numbers: dict[str, list[int]] = {}
        for topic, partition in new:
            numbers.setdefault(topic, []).append(partition)

        def code_of(answer: Any) -> int:
            """An error code that passes, if a partition was refused: the others are then not added either. Raises what does not pass."""
            codes = {
                TopicPartition(topic.name, partition.partition_index): int(partition.partition_error_code)
                for topic in answer.results_by_topic_v3_and_below
                for partition in topic.results_by_partition
                if partition.partition_error_code not in (0, errors.OperationNotAttemptedError.errno)
            }
            for tp, code in codes.items():
                if code == TOPIC_DENIED:
                    raise AuthorizationRefused(self.pool.alias, "WRITE", f"topic {tp.topic}", topic=partitions[tp])
                if not is_retriable(code):
                    raise self.translate(code, f"adding {tp} to the transaction")
            return next(iter(codes.values()), 0)

        kind = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
        producer_id, epoch = self.producer
        fields = {
            "v3_and_below_transactional_id": self.id,
            "v3_and_below_producer_id": producer_id,
            "v3_and_below_producer_epoch": epoch,
            "v3_and_below_topics": [kind(name=name, partitions=of_topic) for name, of_topic in numbers.items()],
        }
        self._ask("adding partitions to the transaction", AddPartitionsToTxnRequest, _ADD_PARTITIONS, fields, code_of)
        self._added |= new

    def add_groups(self, names: Collection[str]) -> None:
        """Makes positions of groups, which are committed next, part of the transaction, in version 1."""
        self._note_start()
        for name in names:
            self._ask("adding a group to the transaction", AddOffsetsToTxnRequest, _ADD_OFFSETS, self.fields | {"group_id": name})

    @property
    def fields(self) -> dict[str, Any]:
        """Who writes, as requests name it."""
        producer_id, epoch = self.producer
        return {"transactional_id": self.id, "producer_id": producer_id, "producer_epoch": epoch}

    @property
    def age(self) -> float:
        """For how many seconds the target has known the transaction."""
        return time.monotonic() - self._since if self._since is not None else 0.0

    def commit(self) -> None:
        """Commits. In a pool that carries batches a commit that ends in doubt is not repeated: the log, read after the next fencing, tells
        how it ended."""
        self._is_over = True
        answer = self._ask("committing", EndTxnRequest, _END_TRANSACTION[self.version], self.fields | {"committed": True})
        if self.version >= _EPOCH_A_TRANSACTION:
            self.producer = (answer.producer_id, answer.producer_epoch)
        self.is_open, self._since = False, None

    def close(self) -> None:
        """Aborts an open transaction and lets go of the connections. One that was fenced is not aborted: that could not succeed."""
        if self._since is None or self._is_over:
            self.pool.release()
            return
        self.pool.close()
        # What does not succeed here is done by the next producer's fencing; nothing of the transaction becomes visible before.
        self.pool.seconds = min(self.pool.seconds, _CLOSE_SECONDS)
        with suppress(MirrorError, Fenced):
            self._fence()
        self.pool.close()

    def translate(self, code: int, step: str) -> Exception:
        """What to raise for an error code that ended the transaction."""
        if code in FENCED:
            self._is_over = True
            return self.translate_fence(code)
        if code == errors.InvalidTransactionTimeoutError.errno:
            return TransactionTimeoutRefused(self.pool.alias, self.timeout_ms / 1000)
        return self.pool.errors.translate_code(code, step, operation="WRITE", what=self.what)

    def translate_fence(self, code: int) -> Exception:
        """What to raise when the coordinator does not know this producer any more; `code` says how it put that."""
        return Fenced(self.pool.alias, self.id, code)

    @property
    def what(self) -> str:
        """What it may refuse us, in words."""
        return f"the transactional id {self.id}"

    # ------------------------------------------------------------ inside

    def _note_start(self) -> None:
        if self._since is None:
            self._since = time.monotonic()

    def _fence(self) -> None:
        """Raises the producer epoch, and aborts the open transaction; once there is a producer, only if it is still the last one."""
        fields = self.fields | {"transaction_timeout_ms": self.timeout_ms}
        answer = self._ask("fencing earlier producers", InitProducerIdRequest, _INIT_PRODUCER_ID, fields)
        self.producer = (answer.producer_id, answer.producer_epoch)

    def _ask(
        self, step: str, kind: Any, highest: int, fields: Mapping[str, Any], code_of: Callable[[Any], int] = attrgetter("error_code")
    ) -> Any:
        """What the coordinator answers to a request, in the highest version that both know."""

        def question(pool: BrokerPool) -> Any:
            """Raises kafka-python's error for a code that passes, and what `translate` makes of every other one."""
            node, self._coordinator = self._coordinator, None
            if node is None:
                node = pool.find_coordinator(self.id)
            connection = pool.connect(node)
            answer = connection.ask(kind(version=connection.choose_version(kind.API_KEY, highest), **fields))
            code = code_of(answer)
            if code not in COORDINATOR_MOVES:
                self._coordinator = node
            if is_retriable(code):
                raise_for(code)
            if code:
                raise self.translate(code, step)
            return answer

        return self.pool.ask(step, question)


def fence(alias: str, settings: Mapping[str, Any], transactional_ids: Iterable[str], seconds: float) -> None:
    """Fences every producer of these ids: a transaction that is open is aborted, and none of them can write any more.

    `settings` are those of a producer of the cluster `alias`; `seconds` bounds each id. An id that was never used does no harm. Raises
    AuthorizationRefused and what the brokers say.
    """
    pool = BrokerPool(alias, settings, seconds, OF_TARGET)
    for transactional_id in transactional_ids:
        Transactions(pool, transactional_id, SHORT_MS)
    pool.release()
