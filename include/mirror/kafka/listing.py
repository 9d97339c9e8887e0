"""Listing offsets of partitions (ListOffsets), with patience for leaders that are just moving."""

import time
from collections.abc import Iterable
from concurrent.futures import Future
from typing import Any

from confluent_kafka import IsolationLevel, KafkaError
from confluent_kafka import TopicPartition as ClientTopicPartition
from confluent_kafka.admin import OffsetSpec

from mirror.kafka.admin import Admin
from mirror.kafka.failures import Errors, kafka_error
from mirror.kafka.model import End
from mirror.offsets.partition import TopicPartition
from mirror.policy.topic_names import unusable

_STEP = "listing offsets"
_LEADER_MOVES = {
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.OFFSET_NOT_AVAILABLE,
    KafkaError.REPLICA_NOT_AVAILABLE,
}
_PAUSES = (0.05, 0.2, 0.5, 1.0, 2.0)
"""How long to wait before asking again, in seconds; a partition whose leader is still moving then counts as without one."""


def list_offsets(
    admin: Admin, partitions: Iterable[TopicPartition], spec: OffsetSpec, committed: bool, errors: Errors
) -> dict[TopicPartition, End]:
    """What `spec` asks for, with the leader epoch; a negative offset where nothing is. `committed`: as a `read_committed` reader sees it.

    A partition that is gone or without leader is absent. A topic that we may not describe goes into `errors` if it is given. Raises
    ClusterUnreachable.
    """
    isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
    wanted = [tp for tp in partitions if not unusable(tp.topic)]  # one other name, and the client waits for all of them in vain
    found: dict[TopicPartition, End] = {}
    for pause in _PAUSES:
        wanted = _ask(admin, wanted, spec, isolation, errors, found)
        if not wanted:
            break
        time.sleep(pause)
    return found


def _ask(
    admin: Admin,
    wanted: list[TopicPartition],
    spec: OffsetSpec,
    isolation: IsolationLevel,
    errors: Errors,
    found: dict[TopicPartition, End],
) -> list[TopicPartition]:
    """Puts what the leaders say into `found`; gives the partitions whose leader is moving just now.

    The client finds no leader at all (`_NOENT`) for topics that are gone, and at once for every other while no broker can be reached. So
    the cluster is asked for its topics then, which waits for a broker to answer. Raises ClusterUnreachable.
    """
    request = {ClientTopicPartition(tp.topic, tp.partition): spec for tp in wanted}
    if not request:
        return []
    answers = admin.send(_STEP, lambda client, seconds: client.list_offsets(request, isolation_level=isolation, request_timeout=seconds))
    moving: list[TopicPartition] = []
    unled: list[TopicPartition] = []
    for asked, answer in answers.items():
        tp = TopicPartition(asked.topic, asked.partition)
        listed = admin.result(answer, _STEP, tp.topic, errors, "DESCRIBE", awaited=_LEADER_MOVES)
        if listed is not None:
            found[tp] = End(int(listed.offset), listed.leader_epoch)
        elif (code := _code(answer)) in _LEADER_MOVES:
            moving.append(tp)
        elif code == KafkaError._NOENT:
            unled.append(tp)
    if unled:
        topics = admin.metadata().topics
        moving += [tp for tp in unled if tp.topic in topics]
    return moving


def _code(answer: "Future[Any]") -> int | None:
    error = kafka_error(answer.exception(0))
    return None if error is None else error.code()
