"""Commits positions of groups in a transaction, under the transactional id that writes decisions to the control topic.

Kafka takes a plain commit for a group without members whatever happened meanwhile. Of a transaction its coordinator takes nothing once
another writer with the same transactional id has begun, and none of it is seen before it ends well (KIP-98). The broker does
not look whether a group has members: the caller looks before it ends the transaction.

    begin ── another writer begins ──► every request of ours is refused: Fenced
      └─ add positions ─ look at the groups ─ commit: all of them at once, or none
"""

import operator
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import kafka.errors as errors
from kafka.protocol.producer import (
    AddOffsetsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    TxnOffsetCommitRequest,
)

from mirror.errors import KafkaFailure, MirrorError
from mirror.kafka.broker_connection import BrokerConnection
from mirror.kafka.broker_pool import OF_TRANSACTIONS, BrokerPool
from mirror.kafka.cluster import Cluster
from mirror.kafka.connection_errors import name_of, raise_for
from mirror.kafka.group_coordinators import Errors, Take, ask_coordinators
from mirror.kafka.group_offsets import changed, send_of_one, topics_of
from mirror.kafka.groups import Groups
from mirror.kafka.model import Committed
from mirror.kafka.polling import until
from mirror.kafka.transactions import FENCED, Fenced
from mirror.offsets.partition import TopicPartition

TRANSACTION_MS = 30_000
"""After so long Kafka aborts a transaction whose process is gone: until then the positions in it cannot be read as stable."""
_INIT_PRODUCER_ID, _ADD_OFFSETS, _COMMIT_OFFSETS, _END_TRANSACTION = 4, 3, 3, 4
"""Versions of Kafka 2.8, with which every newer broker speaks transactions of version 1."""
_NOTHING = -1
"""The offset of a partition without a position, for brokers and for every client."""
_POLL_SECONDS = 0.02
_FENCED_NAMES = frozenset(map(name_of, FENCED))

Wanted = Mapping[str, Mapping[TopicPartition, Committed | None]]
"""Where each group shall stand; None: it shall have no position there."""


class GroupTransaction:
    """One transaction. Each method raises Fenced once another writer with the transactional id has begun, and errors of `mirror.errors`."""

    def __init__(self, cluster: Cluster, transactional_id: str) -> None:
        """Begins: from now on every earlier writer is fenced, and what it left open is aborted."""
        self._cluster = cluster
        self._id = transactional_id
        self._places: dict[str, list[TopicPartition]] = {}
        answer = self._ask("beginning a transaction", InitProducerIdRequest, _INIT_PRODUCER_ID, transaction_timeout_ms=TRANSACTION_MS)
        self._producer = {"producer_id": int(answer.producer_id), "producer_epoch": int(answer.producer_epoch)}

    def add(self, wanted: Wanted, refused: Errors) -> dict[str, dict[TopicPartition, str]]:
        """Takes positions into the transaction; gives Kafka's word for the partitions that were refused, by group. What fails for a group
        as a whole goes into `refused`; some of its positions may be in the transaction then."""
        for name in wanted:
            self._ask("adding a group to a transaction", AddOffsetsToTxnRequest, _ADD_OFFSETS, group_id=name, **self._producer)
        own: dict[str, MirrorError] = {}
        answers = ask_coordinators(self._cluster, "committing offsets of", wanted, partial(self._send, wanted=wanted), own, "READ")
        if any(isinstance(error, KafkaFailure) and error.reason in _FENCED_NAMES for error in own.values()):
            raise Fenced
        refused.update(own)
        self._places |= {name: sorted(wanted[name]) for name in answers}
        return answers

    def commit(self) -> None:
        """Ends the transaction well; gives back once its positions are those that everybody reads."""
        self._end(committed=True)
        groups, refused = Groups(self._cluster), dict[str, MirrorError]()
        until(
            lambda: groups.unstable(self._places, refused),
            self._cluster.timeout,
            every=_POLL_SECONDS,
            enough=operator.not_,
        )
        for error in refused.values():
            raise error

    def abort(self) -> None:
        """Ends the transaction as if it had not been. What does not succeed is done by the next writer, or by the timeout."""
        with suppress(MirrorError, Fenced):
            self._end(committed=False)

    # ------------------------------------------------------------ inside

    def _end(self, committed: bool) -> None:
        self._ask("ending a transaction", EndTxnRequest, _END_TRANSACTION, committed=committed, **self._producer)

    def _ask(self, step: str, kind: Any, highest: int, **fields: Any) -> Any:
        """What the coordinator of the transactional id answers; it is asked again while it moves or still ends the transaction before."""

        def question(pool: BrokerPool) -> Any:
            """Raises Fenced, and kafka-python's error for a code that passes."""
            coordinator = pool.coordinators([self._id], OF_TRANSACTIONS)[self._id]
            answer = None
            code = coordinator.error_code
            if not code:
                connection = pool.to(coordinator.node)
                request = kind(version=connection.version(kind.API_KEY, highest), transactional_id=self._id, **fields)
                answer = connection.ask(request)
                code = int(answer.error_code)
            if code in FENCED:
                raise Fenced
            if code == errors.TransactionalIdAuthorizationFailedError.errno:
                raise pool.refused(code, step, operation="WRITE", what=f"the transactional id {self._id}")
            raise_for(code)
            return answer

        return self._cluster.connections.ask(step, question)

    def _send(self, connection: BrokerConnection, names: Sequence[str], take: Take, *, wanted: Wanted) -> None:
        version = connection.version(TxnOffsetCommitRequest.API_KEY, _COMMIT_OFFSETS)
        of_topic = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
        for name in names:
            positions = {tp: Committed(_NOTHING) if at is None else at for tp, at in wanted[name].items()}
            topics = topics_of(positions, of_topic, of_topic.TxnOffsetCommitRequestPartition)
            request = TxnOffsetCommitRequest(version=version, transactional_id=self._id, group_id=name, topics=topics, **self._producer)
            send_of_one(connection, request, take, name, partial(changed, whole=FENCED))
