"""Who holds back a partition's last stable offset, and since when, as Kafka itself tells (KIP-664).

The partition's leader knows the producer whose transaction begins there, the coordinators know the producer's transactional id and when its
transaction began, by their clocks. A record's timestamp says neither: in a mirrored topic it is as old as the record's first original.
So whether that was too long ago a coordinator is asked too (KIP-994, Kafka 3.8): by our clock, were it wrong, a transaction that hangs
might begin in the future, and one of just now yesterday. kafka-python asks, for librdkafka's admin client cannot.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import kafka.errors as errors
from kafka import KafkaAdminClient
from kafka import TopicPartition as ClientTopicPartition

from mirror.kafka.cluster import Cluster
from mirror.kafka.kafka_python import python_settings
from mirror.offsets.partition import TopicPartition

_OVER = frozenset({"Empty", "CompleteCommit", "CompleteAbort", "Dead"})


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


def holders(
    cluster: Cluster, settings: Mapping[str, Any], last_stable: Mapping[TopicPartition, int], longest: int
) -> dict[TopicPartition, OpenTransaction]:
    """The transaction that begins at each partition's last stable offset; none where that has ended meanwhile. `longest`: after how many
    seconds a transaction has been open for too long.

    What Kafka does not tell us (rights, old brokers, no answer) raises nothing: it stands in `why`. `settings` are librdkafka's, of an
    admin client of that cluster.
    """
    limit = int(cluster.timeout * 1000)
    client = None
    try:
        client = KafkaAdminClient(**python_settings(settings), bootstrap_timeout_ms=limit, request_timeout_ms=limit)
        return {tp: transaction for tp, offset in last_stable.items() if (transaction := _holder(client, tp, offset, longest)) is not None}
    except (errors.KafkaError, OSError, ValueError) as failure:
        return dict.fromkeys(last_stable, OpenTransaction(why=_reason(failure)))
    finally:
        if client is not None:
            client.close()


def _holder(client: Any, tp: TopicPartition, offset: int, longest: int) -> OpenTransaction | None:
    try:
        producer = _producer(client, tp, offset)
    except errors.KafkaError as failure:
        return OpenTransaction(why=_reason(failure))
    if producer is None:
        return None
    transaction = OpenTransaction(producer.producer_id, producer.producer_epoch)
    try:
        listed = [
            listing_entry
            for listing in client.list_transactions(producer_id_filters=[transaction.producer_id]).values()
            for listing_entry in listing
        ]
        if not listed:
            why = "no coordinator shows us its transaction (DESCRIBE on its transactional id)"
            return OpenTransaction(transaction.producer_id, transaction.producer_epoch, why=why)
        name = listed[0].transactional_id
        description = client.describe_transactions([name])[name]
        is_long = _is_long(client, producer.producer_id, longest)
    except errors.KafkaError as failure:
        return OpenTransaction(transaction.producer_id, transaction.producer_epoch, why=_reason(failure))
    named = OpenTransaction(transaction.producer_id, transaction.producer_epoch, name, description.coordinator_id)
    open_for = _held_for(client, tp, offset, named, description)
    return open_for if open_for is None or open_for.seconds is None else _bounded(open_for, open_for.seconds, longest, is_long)


def _is_long(client: Any, producer_id: int, longest: int) -> bool | None:
    """Whether the producer's transaction has been open for longer than that, by its coordinator's clock; None if no broker can say so."""
    try:
        listed = client.list_transactions(producer_id_filters=[producer_id], duration_filter_ms=longest * 1000)
    except errors.UnsupportedVersionError:
        return None
    return any(listed.values())


def _bounded(transaction: OpenTransaction, seconds: float, longest: int, is_long: bool | None) -> OpenTransaction:
    """The transaction with an age on the right side of the longest one."""
    if is_long is None:
        return transaction
    return replace(transaction, seconds=max(seconds, longest + 1.0) if is_long else min(seconds, float(longest)))


def _held_for(client: Any, tp: TopicPartition, offset: int, transaction: OpenTransaction, description: Any) -> OpenTransaction | None:
    """What the coordinator says, once it is certain that it speaks of the transaction that the partition has."""
    is_over = (
        str(getattr(description.state, "value", description.state)) in _OVER
        or ClientTopicPartition(*tp) not in description.topic_partitions
    )
    if is_over:
        # It was over before we asked the partition's leader again, and it is over only once its markers stand everywhere.
        still = _producer(client, tp, offset)
        return replace(transaction, is_over=True) if still is not None else None
    if description.transaction_start_time_ms < 0:
        return replace(transaction, why="its coordinator does not say when it began")
    return replace(transaction, seconds=max(time.time() - description.transaction_start_time_ms / 1000, 0.0))


def _producer(client: Any, tp: TopicPartition, offset: int) -> Any:
    """The producer with a transaction that begins at this offset of the partition; None if there is none."""
    partition = ClientTopicPartition(*tp)
    producers = client.describe_producers([partition])[partition].active_producers
    return next((producer for producer in producers if producer.current_transaction_start_offset == offset), None)


def _reason(failure: Exception) -> str:
    return f"{type(failure).__name__.removesuffix('Error')}"
