"""Listing offsets of partitions (ListOffsets), with patience for leaders that are just moving."""

import time
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from typing import Any

from confluent_kafka import OFFSET_INVALID, IsolationLevel, KafkaError
from confluent_kafka import TopicPartition as ClientTopicPartition
from confluent_kafka.admin import OffsetSpec

from mirror.kafka.admin import MISSING, Admin
from mirror.kafka.client_errors import Errors, kafka_error
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
    admin: Admin,
    partitions: Iterable[TopicPartition],
    spec: OffsetSpec,
    committed: bool,
    errors: Errors,
    pauses: Sequence[float] | None = None,
) -> dict[TopicPartition, End]:
    """What `spec` asks for, with the leader epoch; the offset -1 where nothing is. `committed`: as a `read_committed` reader sees it.
    `pauses`: how long to wait for leaders that are moving, before each further question; () asks once.

    A partition that is gone or without leader is absent. A topic that we may not describe goes into `errors` if it is given. Raises
    ClusterUnreachable.
    """
    isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
    wanted = [tp for tp in partitions if not unusable(tp.topic)]  # one other name, and the client waits for all of them in vain
    ends: dict[TopicPartition, End] = {}
    wanted = _ask(admin, wanted, spec, isolation, errors, ends)
    for pause in _PAUSES if pauses is None else pauses:
        if not wanted:
            break
        time.sleep(pause)
        wanted = _ask(admin, wanted, spec, isolation, errors, ends)
    return ends


def _ask(
    admin: Admin,
    wanted: list[TopicPartition],
    spec: OffsetSpec,
    isolation: IsolationLevel,
    errors: Errors,
    ends: dict[TopicPartition, End],
) -> list[TopicPartition]:
    """Puts what the leaders say into `ends`; gives the partitions whose leader is moving just now.

    One answer does not tell what is gone. The client finds no leader (`_NOENT`) while no broker can be reached, does not know a topic
    before it has its metadata again, and a broker that has just come back does not know the partitions that it leads. Of partitions whose
    broker closes the connection before it has answered, the client gives the offset that stands for none, and no error. So the cluster is
    asked for its topics then, which waits for a broker to answer. Raises ClusterUnreachable.
    """
    request = {ClientTopicPartition(tp.topic, tp.partition): spec for tp in wanted}
    if not request:
        return []
    answers = admin.send(_STEP, lambda client, seconds: client.list_offsets(request, isolation_level=isolation, request_timeout=seconds))
    moving: list[TopicPartition] = []
    unknown: list[TopicPartition] = []
    for client_partition, answer in answers.items():
        tp = TopicPartition(client_partition.topic, client_partition.partition)
        listed = admin.result(answer, _STEP, tp.topic, errors, "DESCRIBE", awaited=_LEADER_MOVES)
        if listed is not None and listed.offset != OFFSET_INVALID:
            ends[tp] = End(int(listed.offset), listed.leader_epoch)
        elif (code := _code(answer)) in _LEADER_MOVES:
            moving.append(tp)
        elif listed is not None or code in MISSING:
            unknown.append(tp)
    if unknown:
        topics = admin.metadata().topics
        moving += [tp for tp in unknown if tp.topic in topics and tp.partition in topics[tp.topic].partitions]
    return moving


def _code(answer: "Future[Any]") -> int | None:
    error = kafka_error(answer.exception(0))
    return None if error is None else error.code()
