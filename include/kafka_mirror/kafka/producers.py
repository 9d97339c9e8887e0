"""Who writes to partitions, as their leaders remember it (DescribeProducers, KIP-664).

A producer that is neither idempotent nor transactional has no id, so Kafka remembers nothing of it. Brokers before Kafka 2.8 do not tell:
what they lead is left out of the answer.
"""

from collections.abc import Collection, Iterable, MutableMapping
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

import kafka.errors as errors
from kafka.protocol.admin import DescribeProducersRequest

from kafka_mirror.errors import MirrorError
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.broker_pool import BrokerPool
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.connection_errors import raise_for
from kafka_mirror.kafka.model import ActiveProducer


class _Answered(NamedTuple):
    """What a leader says of one partition."""

    code: int
    producers: tuple[ActiveProducer, ...]


def active_producers(
    cluster: Cluster, partitions: Iterable[TopicPartition], refused: MutableMapping[str, MirrorError]
) -> dict[TopicPartition, tuple[ActiveProducer, ...]]:
    """The producers of each partition whose leader tells. A topic that fails is in `refused`, with all its partitions. Raises what concerns
    the cluster as a whole."""
    producers: dict[TopicPartition, tuple[ActiveProducer, ...]] = {}
    for topic, of_topic in groupby(sorted(partitions), key=lambda tp: tp.topic):
        step = f"asking for the producers of {topic}"
        of_partitions, code = cluster.ask(step, partial(_of_topic, partitions=list(of_topic)))
        if code:
            refused[topic] = cluster.errors.refused(code, step, topic=topic, operation="READ", what=f"topic {topic}")
        producers |= of_partitions
    return producers


def _of_topic(pool: BrokerPool, partitions: Collection[TopicPartition]) -> tuple[dict[TopicPartition, tuple[ActiveProducer, ...]], int]:
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
    for tp, leader in pool.leaders(partitions).items():
        by_node.setdefault(leader.node, []).append(tp)
    of_topic = DescribeProducersRequest.TopicRequest
    producers: dict[TopicPartition, tuple[ActiveProducer, ...]] = {}
    for node, led in by_node.items():
        connection = pool.to(node)
        topics = [
            of_topic(name=topic, partition_indexes=[tp.partition for tp in there])
            for topic, there in groupby(sorted(led), key=lambda tp: tp.topic)
        ]
        version = connection.version(DescribeProducersRequest.API_KEY, 0)
        answered: dict[TopicPartition, _Answered] = connection.ask(DescribeProducersRequest(version=version, topics=topics), _read)
        for tp, (code, of_partition) in answered.items():
            raise_for(code)
            producers[tp] = of_partition
    if producers.keys() != set(partitions):
        raise errors.KafkaProtocolError("the answer is about other partitions")
    return producers


def _read(answer: Any) -> dict[TopicPartition, _Answered]:
    return {
        TopicPartition(str(topic.name), int(partition.partition_index)): _Answered(
            int(partition.error_code),
            tuple(
                ActiveProducer(
                    int(producer.producer_id),
                    int(producer.producer_epoch),
                    _or_none(producer.last_timestamp),
                    _or_none(producer.current_txn_start_offset),
                )
                for producer in partition.active_producers
            ),
        )
        for topic in answer.topics
        for partition in topic.partitions
    }


def _or_none(number: int) -> int | None:
    return number if number >= 0 else None
