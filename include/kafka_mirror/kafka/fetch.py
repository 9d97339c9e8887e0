"""Asking leaders for whole batches, and what becomes of their answers, for all that read: records (`reader`), the copy and the audit.

    a broker from   version   what it brings
    Kafka 2.1       10        says that another one leads by now, by the epoch of the leader that is asked
    Kafka 2.7       12        says by itself that its log went another way than the one that was read
    Kafka 3.1       13        tells a topic that was deleted and created again from the one that was asked for, by its id

Up to version 11 the leader is asked about its log in front of the first fetch: as long as it leads, its log goes no other way.

    the answer says                                              what follows here            what each reader adds
    an error of the whole request                                kafka-python's error         asks again, or ends the attempt
    a quota holds us back (KIP-219)                              silence until then counts    -
                                                                 as heard
    batches                                                      they wait in the             takes them in their order
                                                                 `FetchedPartition`
    a partition's error, another log, bytes that are no batches  a `FetchFault` with its      its own error, or another position
                                                                 `Cause`

Gaps, markers and aborted transactions are in the order of the batches, so `FetchedPartition` finds them.
"""

import time
from base64 import urlsafe_b64decode
from collections.abc import Callable, Iterator, Mapping
from enum import Enum, auto
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

import kafka.errors as errors
from kafka.protocol.consumer import FetchRequest

from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.broker_connection import BrokerConnection
from kafka_mirror.kafka.broker_pool import BrokerPool
from kafka_mirror.kafka.connection_errors import TOPIC_DENIED, is_retriable, name_of, raise_for
from kafka_mirror.kafka.fetch_response import FLEXIBLE, WITH_IDS, FetchResponse, PartitionData, fetch_response
from kafka_mirror.kafka.fetched_partition import FetchedPartition
from kafka_mirror.kafka.offset_questions import EpochEnd, epoch_ends, epoch_question
from kafka_mirror.kafka.polling import throttle_seconds
from kafka_mirror.kafka.schemas import read_by

_OLDEST = 10
_WAIT_MS = 100
_LEAST_SHARE = 1024 * 1024
"""An answer is shared by the partitions that are asked for, but not into pieces smaller than this."""
Fetches = Mapping[TopicPartition, FetchedPartition]


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


def ask_for(connection: BrokerConnection, questions: Fetches, limits: FetchLimits, answered: Callable[[FetchResponse], None]) -> None:
    """Asks for what follows of these partitions. A broker fills its answer in their order, each partition up to its share."""
    version = connection.choose_version(FetchRequest.API_KEY, WITH_IDS, _OLDEST)
    topic_ids = {tp.topic: fetched.leader.topic_id for tp, fetched in questions.items()}
    ids = {topic: UUID(bytes=urlsafe_b64decode(f"{text}==")) if text else UUID(int=0) for topic, text in topic_ids.items()}
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


def _hand_over_confirmed(
    questions: Fetches, ends: Mapping[TopicPartition, EpochEnd], answered: Callable[[FetchResponse], None], answer: FetchResponse
) -> None:
    """Adds to an answer what a broker of version 12 says by itself."""

    def confirm(data: PartitionData) -> PartitionData:
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

    answered(answer._replace(partitions=tuple(map(confirm, answer.partitions))))


def _fetch_request(version: int, ids: Mapping[str, UUID], questions: Fetches, limits: FetchLimits) -> FetchRequest:
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


class Cause(Enum):
    """Why a leader gave no batches of a partition."""

    OUT_OF_RANGE = auto()
    """Its log begins after the position, or ends in front of it."""
    DIVERGED = auto()
    """Its log went another way from `FetchFault.diverged_at` on (KIP-320): it was cut off, and has grown again."""
    LEADER_MOVED = auto()
    PASSING = auto()
    """Another error that Kafka calls retriable."""
    DENIED = auto()
    """We may not read the topic."""
    CORRUPT = auto()
    """The broker cannot read its own log."""
    NO_BATCHES = auto()
    """It sent bytes that are no record batches."""
    REFUSED = auto()
    """Any other error."""


_CAUSES = {
    errors.OffsetOutOfRangeError.errno: Cause.OUT_OF_RANGE,
    errors.NotLeaderForPartitionError.errno: Cause.LEADER_MOVED,
    errors.LeaderNotAvailableError.errno: Cause.LEADER_MOVED,
    errors.ReplicaNotAvailableError.errno: Cause.LEADER_MOVED,
    errors.FencedLeaderEpochError.errno: Cause.LEADER_MOVED,
    errors.UnknownLeaderEpochError.errno: Cause.LEADER_MOVED,
    TOPIC_DENIED: Cause.DENIED,
    errors.CorruptRecordError.errno: Cause.CORRUPT,
}


class FetchFault(NamedTuple):
    """What a leader said of a partition instead of giving batches: `detail` in words, `code` as Kafka's error code (0: none)."""

    cause: Cause
    position: int
    detail: str
    code: int = 0
    diverged_at: int | None = None


class FetchDispatch:
    """Puts what answers hold where it is waited for. `heard_at` says when (time.monotonic) a partition was last read further; while a
    quota holds us back, until when."""

    def __init__(self, largest: int | None) -> None:
        """`largest`: to how many bytes messages of an older format may unpack; None: they stay in `FetchedPartition.old`."""
        self.heard_at = time.monotonic()
        self._largest = largest

    def hear(self, at: float | None = None) -> None:
        """Notes that the cluster is heard of until this time (time.monotonic), now if None."""
        self.heard_at = max(self.heard_at, time.monotonic() if at is None else at)

    def check(self, answer: FetchResponse) -> None:
        """Raises kafka-python's error for a whole answer that is one, and heeds a quota."""
        raise_for(answer.error_code)
        if answer.throttle_time_ms:
            self.hear(time.monotonic() + throttle_seconds(answer.throttle_time_ms))

    def take(self, answer: FetchResponse, wanted: Fetches) -> Iterator[tuple[TopicPartition, FetchFault | None]]:
        """Gives each partition that is still wanted its batches, one by one, and yields it with what is wrong with it."""
        had_room = not any(data.records for data in answer.partitions)
        for data in answer.partitions:
            if (fetched := wanted.get(tp := TopicPartition(data.topic, data.partition))) is not None:
                yield tp, self._take_partition(fetched, data, had_room)

    def _take_partition(self, fetched: FetchedPartition, data: PartitionData, had_room: bool) -> FetchFault | None:
        before = fetched.position
        if code := data.error_code:
            cause = _CAUSES.get(code) or (Cause.PASSING if is_retriable(code) else Cause.REFUSED)
            return FetchFault(cause, before, name_of(code), code)
        if (at := data.diverged_at) is not None:
            return FetchFault(Cause.DIVERGED, before, f"the log was cut off at {at} while it was read", diverged_at=at)
        fetched.passed_over_to = data.high_watermark if had_room else 0
        try:
            fetched.add(data)
            if self._largest is not None:
                fetched.read_old(self._largest)
        except ValueError as failure:
            return FetchFault(Cause.NO_BATCHES, fetched.position, str(failure))
        if fetched.position > before:
            self.hear()
        return None


class BatchFetcher:
    """Fetches from the leaders of partitions, one question at a time at each, while the caller does other things. Raises errors of ours."""

    def __init__(
        self,
        pool: BrokerPool,
        largest: int | None,
        on_fault: Callable[[TopicPartition, FetchFault], None],
        is_wanted: Callable[[TopicPartition, FetchedPartition], bool] = lambda _tp, _fetched: True,
    ) -> None:
        """`largest` as of a FetchDispatch. `on_fault` gets what is wrong with a partition, and may raise. `is_wanted`: whether the caller
        still wants what it asked for."""
        self.pool = pool
        self.dispatch = FetchDispatch(largest)
        self._on_fault = on_fault
        self._is_wanted = is_wanted

    def idle_leaders(self, wanted: Fetches) -> Iterator[tuple[BrokerConnection, dict[TopicPartition, FetchedPartition]]]:
        """The leaders that are asked nothing, each with its partitions. Those of which least waits are first: brokers fill an answer in the
        order of the question."""
        for node, questions in group_by_leader(wanted).items():
            connection = self.pool.guard("connecting", partial(self.pool.connect, node))
            if not connection.in_flight:
                yield connection, dict(sorted(questions.items(), key=lambda item: item[1].bytes))

    def ask(self, connection: BrokerConnection, questions: Fetches, limits: FetchLimits) -> None:
        """Asks for what follows of these partitions."""
        self.pool.guard("fetching", partial(ask_for, connection, questions, limits, partial(self._take, questions)))

    def _take(self, questions: Fetches, answer: FetchResponse) -> None:
        self.pool.guard("fetching", partial(self.dispatch.check, answer))
        wanted = {tp: fetched for tp, fetched in questions.items() if self._is_wanted(tp, fetched)}
        for tp, fault in self.dispatch.take(answer, wanted):
            if fault is not None:
                self._on_fault(tp, fault)


def group_by_leader(wanted: Fetches) -> dict[int, dict[TopicPartition, FetchedPartition]]:
    """The partitions by the node that leads them."""
    by_node: dict[int, dict[TopicPartition, FetchedPartition]] = {}
    for tp, fetched in wanted.items():
        by_node.setdefault(fetched.leader.node, {})[tp] = fetched
    return by_node
