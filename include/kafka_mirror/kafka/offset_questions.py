"""Asking leaders where their logs begin and end, and where a leader epoch ends (ListOffsets, OffsetForLeaderEpoch)."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import kafka.errors as errors
from kafka.protocol.consumer import OffsetForLeaderEpochRequest

from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka import cluster_answers as answers
from kafka_mirror.kafka.broker_connection import BrokerConnection
from kafka_mirror.kafka.broker_pool import BrokerPool
from kafka_mirror.kafka.cluster_answers import ListedOffset
from kafka_mirror.kafka.connection_errors import UNKNOWN_TOPIC, refuses_us
from kafka_mirror.kafka.schemas import read_by

LEADER_MOVES = UNKNOWN_TOPIC | {
    error.errno
    for error in (
        errors.NotLeaderForPartitionError,
        errors.LeaderNotAvailableError,
        errors.FencedLeaderEpochError,
        errors.UnknownLeaderEpochError,
        errors.OffsetNotAvailableError,
        errors.ReplicaNotAvailableError,
        errors.KafkaStorageError,
    )
}
"""What a broker says of a partition that it does not lead, or not yet; one that has just come back does not know those that it leads."""
_EPOCHS_OLDEST, _EPOCHS_NEWEST = 2, 4
"""Versions of OffsetForLeaderEpoch; the older one is of Kafka 2.1."""
_CONSUMER = -1
"""As which replica a consumer asks."""

ByNode = Mapping[int, Mapping[TopicPartition, int]]
"""Partitions with their leader epochs, by the node that leads them."""
Listed = list[dict[TopicPartition, ListedOffset]]


class OffsetQuestion(NamedTuple):
    """An offset of each partition: `timestamp` as Kafka has it, `committed` as a reader of committed records sees the end."""

    timestamp: int
    committed: bool = False


def ask_leaders(pool: BrokerPool, by_node: ByNode, questions: Sequence[OffsetQuestion]) -> tuple[Listed, OSError | None]:
    """What each question brought, asked in this order, of all leaders at once; and why a leader could not be reached, if one could not: the
    others have answered all the same, and it may lead nothing any more."""
    listed: Listed = [{} for _ in questions]
    lost: OSError | None = None
    connections: list[BrokerConnection] = []
    for node, leaders in by_node.items():
        try:
            connection = pool.connect(node)
            for question, into in zip(questions, listed, strict=True):
                _send(connection, leaders, question, into)
            connection.flush()
            connections.append(connection)
        except OSError as failure:
            lost = _require_other_leaders(failure)
    for connection in connections:
        try:
            while connection.in_flight:
                connection.receive()
        except OSError as failure:
            pool.discard(connection)
            lost = _require_other_leaders(failure)
    return listed, lost


def _require_other_leaders(failure: OSError) -> OSError:
    """Gives the failure back if it is of this one leader. Raises it if it is silence or a refused login: these concern all leaders."""
    if isinstance(failure, TimeoutError) or refuses_us(failure):
        raise failure
    return failure


def _send(
    connection: BrokerConnection, leaders: Mapping[TopicPartition, int], question: OffsetQuestion, into: dict[TopicPartition, ListedOffset]
) -> None:
    version = connection.choose_version(answers.LIST_OFFSETS, answers.LIST_OFFSETS_NEWEST, answers.LIST_OFFSETS_OLDEST)
    if version < answers.LIST_OFFSETS_FLEXIBLE:
        request = answers.older_offsets_request(version, leaders, question.timestamp, question.committed)
        connection.send(request, lambda answer: into.update(read_by(answers.older_offsets, answer)))
        return
    body = answers.offsets_request(leaders, question.timestamp, question.committed)
    connection.queue_parts(answers.LIST_OFFSETS, version, [body], answers.listed_offsets, lambda answer: into.update(answer.partitions))


class EpochEnd(NamedTuple):
    """What a leader says of a leader epoch, if `error_code` is 0: the newest one of its log that is not newer, and where that one ends;
    both -1: it has none."""

    error_code: int
    leader_epoch: int
    offset: int


def ask_epoch_ends(pool: BrokerPool, by_node: ByNode, epochs: Mapping[TopicPartition, int]) -> dict[TopicPartition, EpochEnd]:
    """What the leader of each partition says of this epoch."""
    ends: dict[TopicPartition, EpochEnd] = {}
    for node, leaders in by_node.items():
        connection = pool.connect(node)
        ends |= connection.ask(epoch_question(connection, leaders, epochs), epoch_ends)
    return ends


def epoch_question(connection: BrokerConnection, leaders: Mapping[TopicPartition, int], epochs: Mapping[TopicPartition, int]) -> Any:
    """The request that asks where an epoch of each partition ends, which is led in this one."""
    of_topic = OffsetForLeaderEpochRequest.OffsetForLeaderTopic
    topics: dict[str, list[Any]] = {}
    for tp, current in leaders.items():
        topics.setdefault(tp.topic, []).append(
            of_topic.OffsetForLeaderPartition(partition=tp.partition, current_leader_epoch=current, leader_epoch=epochs[tp])
        )
    version = connection.choose_version(OffsetForLeaderEpochRequest.API_KEY, _EPOCHS_NEWEST, _EPOCHS_OLDEST)
    wanted = [of_topic(topic=name, partitions=partitions) for name, partitions in topics.items()]
    return OffsetForLeaderEpochRequest(version=version, replica_id=_CONSUMER, topics=wanted)


def epoch_ends(answer: Any) -> dict[TopicPartition, EpochEnd]:
    """Reads an answer to such a request."""
    return {
        TopicPartition(str(topic.topic), int(row.partition)): EpochEnd(int(row.error_code), int(row.leader_epoch), int(row.end_offset))
        for topic in answer.topics
        for row in topic.partitions
    }
