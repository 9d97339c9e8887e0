"""Asking a leader for whole batches, and whether its log still holds what stands in front of them.

    a broker from   version   what it brings
    Kafka 2.1       10        says that another one leads by now, by the epoch of the leader that is asked
    Kafka 2.7       12        says by itself that its log went another way than the one that was read
    Kafka 3.1       13        tells a topic that was deleted and created again from the one that was asked for, by its id

Up to version 11 the leader is asked about its log in front of the first fetch: as long as it leads, its log goes no other way.
"""

from base64 import urlsafe_b64decode
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

import kafka.errors as errors
from kafka.protocol.consumer import FetchRequest

from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.broker_connection import BrokerConnection
from kafka_mirror.kafka.fetch_response import FLEXIBLE, WITH_IDS, FetchResponse, PartitionData, fetch_response
from kafka_mirror.kafka.fetched_partition import FetchedPartition
from kafka_mirror.kafka.offset_questions import EpochEnd, epoch_ends, epoch_question
from kafka_mirror.kafka.schema_answers import read_by

_OLDEST = 10
_WAIT_MS = 100
_LEAST_SHARE = 1024 * 1024
"""An answer is shared by the partitions that are asked for, but not into pieces smaller than this."""


class FetchLimits(NamedTuple):
    """What bounds the answer to a fetch, and whether it ends where a transaction is open."""

    max_bytes: int
    partition_bytes: int
    wait_ms: int
    committed: bool

    @classmethod
    def of(cls, settings: Mapping[str, Any], most: int, committed: bool) -> "FetchLimits":
        """Those of a user's consumer settings (librdkafka's), and never more than `most` bytes."""
        return cls(
            min(int(settings.get("fetch.max.bytes", most)), most),
            min(int(settings.get("max.partition.fetch.bytes", most)), most),
            int(settings.get("fetch.wait.max.ms", _WAIT_MS)),
            committed,
        )


def ask_for(
    connection: BrokerConnection,
    questions: Mapping[TopicPartition, FetchedPartition],
    limits: FetchLimits,
    answered: Callable[[FetchResponse], None],
) -> None:
    """Asks for what follows of these partitions. A broker fills its answer in their order, each partition up to its share."""
    version = connection.version(FetchRequest.API_KEY, WITH_IDS, _OLDEST)
    ids = {tp.topic: _uuid(fetched.leader.topic_id) for tp, fetched in questions.items()}
    if version >= WITH_IDS and not all(topic_id.int for topic_id in ids.values()):
        version = FLEXIBLE
    unconfirmed = {tp: fetched for tp, fetched in questions.items() if version < FLEXIBLE and not fetched.is_confirmed}
    if unconfirmed:
        ends: dict[TopicPartition, EpochEnd] = {}
        leaders = {tp: fetched.leader.epoch for tp, fetched in unconfirmed.items()}
        question = epoch_question(connection, leaders, {tp: fetched.epoch for tp, fetched in unconfirmed.items()})
        connection.send(question, lambda answer: ends.update(read_by(epoch_ends, answer)))
        answered = partial(_hand_over_confirmed, unconfirmed, ends, answered)
    names = {topic_id.bytes: topic for topic, topic_id in ids.items()}
    connection.send(_fetch_request(version, ids, questions, limits), answered, partial(fetch_response, version=version, names=names))


def _uuid(topic_id: str) -> UUID:
    return UUID(bytes=urlsafe_b64decode(f"{topic_id}==")) if topic_id else UUID(int=0)


def _hand_over_confirmed(
    questions: Mapping[TopicPartition, FetchedPartition],
    ends: Mapping[TopicPartition, EpochEnd],
    answered: Callable[[FetchResponse], None],
    answer: FetchResponse,
) -> None:
    """Adds to an answer what a broker of version 12 says by itself."""

    def confirmed(data: PartitionData) -> PartitionData:
        """Marks a partition whose log does not hold the record in front of the position."""
        tp = TopicPartition(data.topic, data.partition)
        if data.error_code or tp not in questions:
            return data
        if tp not in ends:
            raise errors.KafkaProtocolError(f"nothing is said of where a leader epoch of {tp} ends")
        fetched, end = questions[tp], ends[tp]
        if end.error_code or end.leader_epoch < 0:
            return data._replace(error_code=end.error_code or errors.OffsetOutOfRangeError.errno)
        is_another = end.leader_epoch < fetched.epoch or end.offset < fetched.position
        return data._replace(diverged_at=end.offset) if is_another else data

    answered(answer._replace(partitions=tuple(map(confirmed, answer.partitions))))


def _fetch_request(
    version: int, ids: Mapping[str, UUID], questions: Mapping[TopicPartition, FetchedPartition], limits: FetchLimits
) -> FetchRequest:
    topics: dict[str, list[Any]] = {}
    share = min(limits.partition_bytes, max(_LEAST_SHARE, limits.max_bytes // len(questions)))
    for tp, fetched in questions.items():
        topics.setdefault(tp.topic, []).append(
            FetchRequest.FetchTopic.FetchPartition(
                partition=tp.partition,
                current_leader_epoch=fetched.leader.epoch,
                fetch_offset=fetched.position,
                last_fetched_epoch=fetched.epoch if version >= FLEXIBLE else -1,
                log_start_offset=-1,
                partition_max_bytes=share,
            )
        )
    of_topic = FetchRequest.FetchTopic
    return FetchRequest(
        version=version,
        replica_id=-1,
        max_wait_ms=limits.wait_ms,
        min_bytes=1,
        max_bytes=limits.max_bytes,
        isolation_level=int(limits.committed),
        session_id=0,
        session_epoch=-1,
        topics=[of_topic(topic=name, topic_id=ids[name], partitions=partitions) for name, partitions in topics.items()],
        forgotten_topics_data=[],
        rack_id="",
    )
