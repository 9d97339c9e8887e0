"""Commits positions of groups in a transaction, under the transactional id that writes decisions to the control topic.

Kafka takes a plain commit for a group without members whatever happened meanwhile. Of a transaction its coordinator takes nothing once
another writer with the same transactional id has begun, and none of it is seen before it ends well (KIP-98). The broker does
not look whether a group has members: the caller looks before it ends the transaction.

    begin ── another writer begins ──► every request of ours is refused: Fenced
      └─ add positions ─ look at the groups ─ commit: all of them at once, or none
"""

import operator
from collections.abc import Mapping, Sequence
from functools import partial

from kafka.protocol.producer import TxnOffsetCommitRequest

from kafka_mirror.errors import KafkaFailure, MirrorError
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.broker_connection import OF_TARGET, BrokerConnection
from kafka_mirror.kafka.broker_pool import BrokerPool
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.connection_errors import name_of
from kafka_mirror.kafka.group_offsets import Errors, Take, ask_coordinators, read_changed, send_of_one, topics_of
from kafka_mirror.kafka.groups import Groups
from kafka_mirror.kafka.model import Committed
from kafka_mirror.kafka.polling import poll_until
from kafka_mirror.kafka.transactions import FENCED, Fenced, Transactions

TRANSACTION_MS = 30_000
"""After so long Kafka aborts a transaction whose process is gone: until then the positions in it cannot be read as stable."""
_COMMIT_OFFSETS, _VERSION = 3, 1
"""The version of Kafka 2.8, with which every newer broker speaks transactions of version 1."""
_NOTHING = -1
"""The offset of a partition without a position, for brokers and for every client."""
_POLL_SECONDS = 0.02
_FENCED_NAMES = frozenset(map(name_of, FENCED))

Wanted = Mapping[str, Mapping[TopicPartition, Committed | None]]
"""Where each group is to stand; None: it is to have no position there."""


class GroupTransaction:
    """One transaction. Each method raises Fenced once another writer with the transactional id has begun, and errors of
    `kafka_mirror.errors`."""

    def __init__(self, cluster: Cluster, transactional_id: str) -> None:
        """Begins: from now on every earlier writer is fenced, and what it left open is aborted."""
        self._cluster = cluster
        self._places: dict[str, list[TopicPartition]] = {}
        pool = BrokerPool(cluster.alias, cluster.settings, cluster.timeout, OF_TARGET)
        self._transactions = Transactions(pool, transactional_id, TRANSACTION_MS, newest=_VERSION)
        self._transactions.begin()

    def add(self, wanted: Wanted, refused: Errors) -> dict[str, dict[TopicPartition, str]]:
        """Takes positions into the transaction; gives Kafka's word for the partitions that were refused, by group. What fails for a group
        as a whole goes into `refused`; some of its positions may be in the transaction then."""
        self._transactions.add_groups(wanted)
        own: dict[str, MirrorError] = {}
        answers = ask_coordinators(self._cluster, "committing offsets of", wanted, partial(self._send, wanted=wanted), own, "READ")
        if any(isinstance(error, KafkaFailure) and error.reason in _FENCED_NAMES for error in own.values()):
            raise Fenced
        refused.update(own)
        self._places |= {name: sorted(wanted[name]) for name in answers}
        return answers

    def commit(self) -> None:
        """Ends the transaction well; gives back once its positions are those that everybody reads."""
        self._transactions.commit()
        self._transactions.close()
        groups, refused = Groups(self._cluster), dict[str, MirrorError]()
        poll_until(
            lambda: groups.unstable(self._places, refused),
            self._cluster.timeout,
            every=_POLL_SECONDS,
            enough=operator.not_,
        )
        for error in refused.values():
            raise error

    def abort(self) -> None:
        """Ends the transaction as if it had not been. What does not succeed is done by the next writer, or by the timeout."""
        self._transactions.close()

    # ------------------------------------------------------------ inside

    def _send(self, connection: BrokerConnection, names: Sequence[str], take: Take, *, wanted: Wanted) -> None:
        version = connection.version(TxnOffsetCommitRequest.API_KEY, _COMMIT_OFFSETS)
        of_topic = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
        for name in names:
            positions = {tp: Committed(_NOTHING) if at is None else at for tp, at in wanted[name].items()}
            topics = topics_of(positions, of_topic, of_topic.TxnOffsetCommitRequestPartition)
            request = TxnOffsetCommitRequest(version=version, group_id=name, topics=topics, **self._transactions.fields)
            send_of_one(connection, request, take, name, partial(read_changed, whole=FENCED))
