"""Who writes to partitions, as their leaders remember it (DescribeProducers, KIP-664).

A producer that is neither idempotent nor transactional has no id, so Kafka remembers nothing of it. kafka-python asks, for librdkafka's
admin client cannot.
"""

from collections.abc import Iterable, Mapping, MutableMapping
from itertools import groupby
from typing import Any

import kafka.errors as errors
from kafka import KafkaAdminClient
from kafka import TopicPartition as ClientTopicPartition

from mirror.errors import AuthorizationRefused, KafkaFailure, MirrorError
from mirror.kafka.cluster import Cluster
from mirror.kafka.kafka_python import python_settings
from mirror.kafka.model import ActiveProducer
from mirror.offsets.partition import TopicPartition


def active_producers(
    cluster: Cluster, settings: Mapping[str, Any], partitions: Iterable[TopicPartition], refused: MutableMapping[str, MirrorError]
) -> dict[TopicPartition, tuple[ActiveProducer, ...]]:
    """The producers of each partition. A topic that fails is in `refused`, with all its partitions.

    `settings` are librdkafka's, of an admin client of that cluster. Raises KafkaFailure where the cluster cannot be asked at all.
    """
    wanted = sorted(partitions)
    if not wanted:
        return {}
    cluster.cluster_id()  # librdkafka's client says in one sentence why a cluster cannot be reached
    limit = int(cluster.timeout * 1000)
    client = None
    try:
        client = KafkaAdminClient(**python_settings(settings), bootstrap_timeout_ms=limit, request_timeout_ms=limit)
        producers: dict[TopicPartition, tuple[ActiveProducer, ...]] = {}
        for topic, of_topic in groupby(wanted, key=lambda tp: tp.topic):
            try:
                described = client.describe_producers([ClientTopicPartition(*tp) for tp in of_topic])
            except errors.TopicAuthorizationFailedError:
                refused[topic] = AuthorizationRefused(cluster.alias, "READ", f"topic {topic}", topic=topic)
            except errors.KafkaError as failure:
                refused[topic] = _failure(cluster, failure, topic)
            else:
                producers |= {TopicPartition(tp.topic, tp.partition): _from_client(state) for tp, state in described.items()}
        return producers
    except errors.KafkaError as failure:
        raise _failure(cluster, failure) from failure
    finally:
        if client is not None:
            client.close()


def _failure(cluster: Cluster, failure: errors.KafkaError, topic: str | None = None) -> KafkaFailure:
    reason = type(failure).__name__
    said = f"Cluster '{cluster.alias}': asking for the producers{f' of {topic}' if topic else ''} failed: {reason}: {failure}."
    return KafkaFailure(said, reason=reason, topic=topic)


def _from_client(state: Any) -> tuple[ActiveProducer, ...]:
    return tuple(
        ActiveProducer(
            producer.producer_id,
            producer.producer_epoch,
            _or_none(producer.last_timestamp),
            _or_none(producer.current_transaction_start_offset),
        )
        for producer in state.active_producers
    )


def _or_none(number: int) -> int | None:
    return number if number >= 0 else None
