"""Who writes to partitions, and whose open transaction holds back their last stable offset, and since when, as Kafka tells (KIP-664).

A partition's leader remembers its producers, and the one whose transaction begins at the last stable offset. A producer that is neither
idempotent nor transactional has no id, so Kafka remembers nothing of it. Brokers before Kafka 2.8 do not tell: what they lead is left out.

The coordinators know the producer's transactional id and when its transaction began, by their clocks. A record's timestamp says neither: in
a mirrored topic it is as old as the record's first original. So whether that was too long ago a coordinator is asked too (KIP-994, Kafka
3.8): by our clock, were it wrong, a transaction that hangs might begin in the future, and one of just now yesterday.
"""

import time
from collections.abc import Collection, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

import kafka.errors as errors
from kafka.protocol.admin import DescribeProducersRequest, DescribeTransactionsRequest, ListTransactionsRequest

from kafka_mirror.errors import MirrorError
from kafka_mirror.errors.source import TELL_NO_PRODUCERS
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.broker_pool import OF_TRANSACTIONS, BrokerPool, ask_metadata
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.connection_errors import raise_for
from kafka_mirror.kafka.model import ActiveProducer

_BY_DURATION = 1
"""The version of ListTransactions (Kafka 3.8) that lists those which are older than some time."""
_OVER = frozenset({"Empty", "CompleteCommit", "CompleteAbort", "Dead"})


def active_producers(
    cluster: Cluster, partitions: Iterable[TopicPartition], refused: MutableMapping[str, MirrorError]
) -> dict[TopicPartition, tuple[ActiveProducer, ...]]:
    """The producers of each partition whose leader tells. A topic that fails is in `refused`, with all its partitions. Raises what concerns
    the cluster as a whole."""
    producers: dict[TopicPartition, tuple[ActiveProducer, ...]] = {}
    for topic, of_topic in groupby(sorted(partitions), key=lambda tp: tp.topic):
        step = f"asking for the producers of {topic}"
        of_partitions, code = cluster.ask(step, partial(_ask_topic, partitions=list(of_topic)))
        if code:
            refused[topic] = cluster.errors.translate_code(code, step, topic=topic, operation="READ", what=f"topic {topic}")
        producers |= of_partitions
    return producers


def _ask_topic(pool: BrokerPool, partitions: Collection[TopicPartition]) -> tuple[dict[TopicPartition, tuple[ActiveProducer, ...]], int]:
    """The producers of one topic's partitions, and the error code that it has instead."""
    try:
        return ask_producers(pool, partitions), 0
    except errors.UnsupportedVersionError:
        return {}, 0
    except errors.BrokerResponseError as failure:
        return {}, int(failure.errno)


def ask_producers(pool: BrokerPool, partitions: Collection[TopicPartition]) -> dict[TopicPartition, tuple[ActiveProducer, ...]]:
    """The producers of partitions. Raises kafka-python's error for an error code."""
    by_node: dict[int, list[TopicPartition]] = {}
    for tp, leader in pool.find_leaders(partitions).items():
        by_node.setdefault(leader.node, []).append(tp)
    of_topic = DescribeProducersRequest.TopicRequest
    producers: dict[TopicPartition, tuple[ActiveProducer, ...]] = {}
    for node, led in by_node.items():
        connection = pool.connect(node)
        topics = [
            of_topic(name=topic, partition_indexes=[tp.partition for tp in there])
            for topic, there in groupby(sorted(led), key=lambda tp: tp.topic)
        ]
        version = connection.choose_version(DescribeProducersRequest.API_KEY, 0)
        for tp, (code, of_partition) in connection.ask(DescribeProducersRequest(version=version, topics=topics), _read_producers).items():
            raise_for(code)
            producers[tp] = of_partition
    if producers.keys() != set(partitions):
        raise errors.KafkaProtocolError("the answer is about other partitions")
    return producers


def _read_producers(answer: Any) -> dict[TopicPartition, tuple[int, tuple[ActiveProducer, ...]]]:
    """An error code, and the producers, of each partition."""
    return {
        TopicPartition(str(topic.name), int(partition.partition_index)): (
            int(partition.error_code),
            tuple(
                ActiveProducer(
                    int(producer.producer_id),
                    int(producer.producer_epoch),
                    _drop_negative(producer.last_timestamp),
                    _drop_negative(producer.current_txn_start_offset),
                )
                for producer in partition.active_producers
            ),
        )
        for topic in answer.topics
        for partition in topic.partitions
    }


def _drop_negative(number: int) -> int | None:
    return number if number >= 0 else None


@dataclass(frozen=True)
class OpenTransaction:
    """The transaction that holds back a partition.

    `seconds`: for how long it has been open, None where Kafka does not tell; `why` says why not. They are by our clock, but on that side of
    the longest time allowed on which the coordinator's clock has them. `is_over`: its coordinator has ended it, but its marker never
    came to the partition, so nothing will end it there.
    """

    producer_id: int | None = None
    producer_epoch: int | None = None
    transactional_id: str | None = None
    coordinator: int | None = None
    seconds: float | None = None
    is_over: bool = False
    why: str = ""

    def __str__(self) -> str:
        facts = [
            f"transactional id '{self.transactional_id}'" if self.transactional_id is not None else "",
            f"producer id {self.producer_id} with epoch {self.producer_epoch}" if self.producer_id is not None else "",
            f"coordinator is broker {self.coordinator}" if self.coordinator is not None else "",
        ]
        return ", ".join(filter(None, facts))


class _Description(NamedTuple):
    """What a coordinator says of a transaction."""

    code: int
    state: str
    start_ms: int
    partitions: frozenset[TopicPartition]


def holders(cluster: Cluster, last_stable: Mapping[TopicPartition, int], longest: int) -> dict[TopicPartition, OpenTransaction]:
    """The transaction that begins at each partition's last stable offset; none where that has ended meanwhile. `longest`: after how many
    seconds a transaction has been open for too long.

    What Kafka does not tell us (rights, old brokers, no answer) raises nothing: it stands in `why`.
    """
    transactions: dict[TopicPartition, OpenTransaction] = {}
    try:
        for tp, offset in last_stable.items():
            question = partial(_holder, tp=tp, offset=offset, longest=longest)
            holder = cluster.ask(f"asking whose transaction holds {tp}", question)
            if holder is not None:
                transactions[tp] = holder
    except MirrorError as failure:
        return dict.fromkeys(last_stable, OpenTransaction(why=type(failure).__name__))
    return transactions


def _holder(pool: BrokerPool, tp: TopicPartition, offset: int, longest: int) -> OpenTransaction | None:
    try:
        producer = _producer(pool, tp, offset)
    except errors.BrokerResponseError as failure:
        if failure.retriable:
            raise
        is_too_old = isinstance(failure, errors.UnsupportedVersionError)
        return OpenTransaction(why=TELL_NO_PRODUCERS if is_too_old else _reason(failure))
    if producer is None:
        return None
    transaction = OpenTransaction(producer.producer_id, producer.epoch)
    try:
        names = _list_transactions(pool, producer.producer_id)
        if not names:
            return replace(transaction, why="no coordinator shows us its transaction (DESCRIBE on its transactional id)")
        coordinator = pool.find_coordinators(names[:1], OF_TRANSACTIONS)[names[0]]
        raise_for(coordinator.error_code)
        description = _describe(pool, coordinator.node, names[0])
        is_long = _is_long(pool, producer.producer_id, longest)
    except errors.BrokerResponseError as failure:
        if failure.retriable:
            raise
        return replace(transaction, why=_reason(failure))
    named = replace(transaction, transactional_id=names[0], coordinator=coordinator.node)
    measured = _measure_age(pool, tp, offset, named, description)
    if measured is None or measured.seconds is None or is_long is None:
        return measured
    # By our clock, but on that side of the longest time on which the coordinator's clock has it.
    seconds = max(measured.seconds, longest + 1.0) if is_long else min(measured.seconds, float(longest))
    return replace(measured, seconds=seconds)


def _list_transactions(pool: BrokerPool, producer_id: int, seconds: int | None = None) -> list[str]:
    """The transactional ids under which the producer has a transaction, on any broker; with `seconds`, one that has been open for longer.
    Raises UnsupportedVersionError."""
    pool.learn(ask_metadata(pool.pick_connection(), []).brokers)
    names: list[str] = []
    for node in sorted(pool.brokers):
        connection = pool.connect(node)
        version = connection.choose_version(ListTransactionsRequest.API_KEY, _BY_DURATION, 0 if seconds is None else _BY_DURATION)
        duration = {} if seconds is None else {"duration_filter": seconds * 1000}
        request = ListTransactionsRequest(version=version, state_filters=[], producer_id_filters=[producer_id], **duration)
        code, listed = connection.ask(request, _read_names)
        raise_for(code)
        names += listed
    return names


def _read_names(answer: Any) -> tuple[int, list[str]]:
    return int(answer.error_code), [str(row.transactional_id) for row in answer.transaction_states or ()]


def _describe(pool: BrokerPool, node: int, name: str) -> _Description:
    connection = pool.connect(node)
    version = connection.choose_version(DescribeTransactionsRequest.API_KEY, 0)
    request = DescribeTransactionsRequest(version=version, transactional_ids=[name])
    answered: dict[str, _Description] = connection.ask(request, _read_transactions)
    if name not in answered:
        raise errors.KafkaProtocolError("the answer is about another transaction")
    raise_for(answered[name].code)
    return answered[name]


def _read_transactions(answer: Any) -> dict[str, _Description]:
    return {
        str(row.transactional_id): _Description(
            int(row.error_code),
            str(row.transaction_state),
            int(row.transaction_start_time_ms),
            frozenset(TopicPartition(str(topic.topic), int(partition)) for topic in row.topics for partition in topic.partitions),
        )
        for row in answer.transaction_states
    }


def _is_long(pool: BrokerPool, producer_id: int, longest: int) -> bool | None:
    """Whether the producer's transaction has been open for longer than that, by its coordinator's clock; None if no broker can say so."""
    try:
        return bool(_list_transactions(pool, producer_id, longest))
    except errors.UnsupportedVersionError:
        return None


def _measure_age(
    pool: BrokerPool, tp: TopicPartition, offset: int, transaction: OpenTransaction, description: _Description
) -> OpenTransaction | None:
    """What the coordinator says, once it is certain that it speaks of the transaction that the partition has."""
    if description.state in _OVER or tp not in description.partitions:
        # It was over before we asked the partition's leader again, and it is over only once its markers stand everywhere.
        still = _producer(pool, tp, offset)
        return replace(transaction, is_over=True) if still is not None else None
    if description.start_ms < 0:
        return replace(transaction, why="its coordinator does not say when it began")
    return replace(transaction, seconds=max(time.time() - description.start_ms / 1000, 0.0))


def _producer(pool: BrokerPool, tp: TopicPartition, offset: int) -> ActiveProducer | None:
    """The producer with a transaction that begins at this offset of the partition; None if there is none."""
    return next((producer for producer in ask_producers(pool, [tp])[tp] if producer.transaction_start == offset), None)


def _reason(failure: Exception) -> str:
    if isinstance(failure, errors.UnsupportedVersionError):
        return "its brokers are older than Kafka 3.0"
    return type(failure).__name__.removesuffix("Error")
