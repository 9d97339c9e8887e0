"""Fetching whole batches: the request, what an answer holds of a partition, and what of it a reader of committed records skips.

    a broker from   version   what it brings
    Kafka 2.1       10        says that another one leads by now, by the epoch of the leader that is asked
    Kafka 2.7       12        says by itself that its log went another way than the one that was read
    Kafka 3.1       13        knows a topic that was deleted and made anew from the one that was asked for, by its id

Up to version 11 the leader is asked about its log in front of the first fetch: as long as it leads, its log goes no other way.
"""

import sys
from base64 import urlsafe_b64decode
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from itertools import islice
from typing import Any, NamedTuple
from uuid import UUID

import kafka.errors as errors
from kafka.protocol.consumer import FetchRequest

from kafka_mirror.formats.batches.batch_rewrite import JoinedStretch
from kafka_mirror.formats.batches.record_batch import AbortedTransactions, OldMagic, RecordBatch, batches_in, require_batch, span_of
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.broker_connection import BrokerConnection
from kafka_mirror.kafka.broker_pool import Leader
from kafka_mirror.kafka.fetch_response import FLEXIBLE, WITH_IDS, FetchResponse, PartitionData, fetch_response
from kafka_mirror.kafka.offset_questions import EpochEnd, epoch_ends, epoch_question
from kafka_mirror.kafka.old_messages import ClosedMessage, first_message
from kafka_mirror.kafka.schema_answers import read_by

_OLDEST = 10
_WAIT_MS = 100
_OFFSET_BYTES = 8
NOBODY_KNOWS = sys.maxsize
"""Where a batch begins that has not come."""
_BELIEVED = 2
"""A second answer in which a batch ends behind its log is believed: what was written meanwhile, the leader has told by then."""
_LEAST_SHARE = 1024 * 1024
"""An answer is shared by the partitions that are asked for, but not into pieces smaller than this."""
_MOVED = {
    error.errno
    for error in (
        errors.NotLeaderForPartitionError,
        errors.LeaderNotAvailableError,
        errors.ReplicaNotAvailableError,
        errors.FencedLeaderEpochError,
        errors.UnknownLeaderEpochError,
    )
}


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


class _ClosedAnswer:
    """Batches of one answer one behind the other, of which those from `at` on are not read yet; `rest` is what follows them there."""

    __slots__ = ("_rest", "aborted", "at", "data")

    def __init__(self, data: memoryview, rest: memoryview, aborted: AbortedTransactions | None) -> None:
        self.data = data
        self.at = 0
        self.aborted = aborted
        self._rest = rest

    @property
    def follows(self) -> int:
        """The offset at which the next batch of the answer begins; `NOBODY_KNOWS` if it has no more."""
        begin = self.data[self.at : self.at + _OFFSET_BYTES] or self._rest[:_OFFSET_BYTES]
        return int.from_bytes(begin, "big", signed=True) if len(begin) == _OFFSET_BYTES else NOBODY_KNOWS


class FetchedPartition:
    """What was fetched of one partition and not handed over. Batches are read when somebody asks for them."""

    __slots__ = (
        "_answers",
        "_beyond",
        "_confirmed_by",
        "_head",
        "_rest",
        "_start",
        "_there",
        "bytes",
        "closed",
        "epoch",
        "follows",
        "leader",
        "next_offset",
        "old",
        "passed_over_to",
        "position",
    )

    def __init__(self, start: int, epoch: int | None, leader: Leader) -> None:
        self.leader = leader
        self._start = (start, epoch)
        self.next_offset = start
        """Behind what was handed over."""
        self.position = start
        """Where to fetch next."""
        self.epoch = -1 if epoch is None else epoch
        self._answers: deque[_ClosedAnswer] = deque()
        self._there: deque[tuple[RecordBatch, bool]] = deque()
        """What was read, in front of the answers."""
        self._head: _ClosedAnswer | None = None
        """Of which the first of them is, if no other one was read."""
        self.follows = NOBODY_KNOWS
        """Where the batch begins that follows the one that was read last."""
        self.bytes = 0
        self.old: OldMagic | None = None
        """Where messages of an older format begin: at the position, until somebody has them read."""
        self.closed: ClosedMessage | None = None
        """The message of an older format at the position, if it cannot be read: nothing after it is here."""
        self.passed_over_to = 0
        """Where its log ends, if the leader gave nothing in its last answer though there was room in it."""
        self._rest = memoryview(b"")
        self._confirmed_by: Leader | None = None
        self._beyond = 0
        """How often nothing came but a batch that ends behind its log."""

    def goes_on(self, start: int, epoch: int | None) -> bool:
        """Whether what is here follows the record in front of `start`, which is of this leader epoch: the broker was asked with it whether
        it has that record (KIP-320), or what stands in front was handed over from here."""
        return self.next_offset == start and (start != self._start[0] or epoch == self._start[1])

    @property
    def is_confirmed(self) -> bool:
        """Whether its leader has said that it has the record in front of the position; or nothing is known of that record."""
        return self.epoch < 0 or self._confirmed_by == self.leader

    @property
    def batches(self) -> deque[tuple[RecordBatch, bool]]:
        """All of them, each with whether it belongs to the copy: markers, aborted and empty batches do not."""
        while self._answers:
            self._read_some(sys.maxsize)
        return self._there

    @property
    def first(self) -> tuple[RecordBatch, bool] | None:
        """The first of them."""
        while self._answers and not self._there:
            self._head = self._answers[0]
            self._read_some(1)
        return self._there[0] if self._there else None

    def answers(self) -> list[Any]:
        """The memory in which batches wait."""
        return [answer.data.obj for answer in self._answers] + [batch.data.obj for batch, _ in self._there]

    def add(self, data: PartitionData) -> None:
        """Takes what its leader answered. Raises ValueError for bytes that are no batches, and for a batch that ends behind its log."""
        self._confirmed_by = self.leader
        before = self.position
        end = self._add(memoryview(data.records), AbortedTransactions(data.aborted) if data.aborted else None, data.high_watermark)
        self._beyond = self._beyond + 1 if end and self.position == before else 0
        if self._beyond >= _BELIEVED:
            raise ValueError(f"a batch says that it ends at {end}, and its log ends at {data.high_watermark}")

    def read_old(self, largest: int) -> None:
        """Reads the messages of an older format that were met, and what follows them, up to one that is `closed`."""
        while self.old is not None:
            self.old = None
            try:
                messages, rest = first_message(self._rest, largest, self.position)
            except ClosedMessage as closed:
                self.closed = closed
                return
            self._add(memoryview(b"".join(batch.data for batch in messages)), None)
            self._add(rest, None)

    def pass_over(self, end: int) -> None:
        """Goes on after a message that cannot be read, and of which nothing is here."""
        self.closed = None
        self.position = self.next_offset = end

    def pop(self) -> None:
        """The first batch is handed over."""
        batch, _ = self._there.popleft()
        self.bytes -= len(batch.data)
        self.next_offset = batch.next_offset

    def hand_over(self, join: Callable[[bytes, AbortedTransactions | None], JoinedStretch], room: int) -> JoinedStretch | None:
        """Lets `join` take batches as they stand in the answer, from the first one on, which was looked at: about `room` bytes, and two of
        such batches at least. None if others were looked at too."""
        answer, batch = self._head, self._there[0][0]
        if answer is None or len(self._there) > 1 or answer.data.obj is not batch.data.obj:
            return None
        size = len(batch.data)
        begin = answer.at - size
        joined = join(bytes(answer.data[begin : begin + max(room, 2 * size)]), answer.aborted)
        if joined.bytes:
            self._there.clear()
            self.bytes -= joined.bytes
            self.next_offset = joined.next_offset
            answer.at = begin + joined.bytes
            self._drop_empty()
        return joined

    # ------------------------------------------------------------ inside

    def _add(self, data: memoryview, aborted: AbortedTransactions | None, log_end: int = NOBODY_KNOWS) -> int:
        """Goes along the batches. What they hold is read when they are handed over. An intact one that ends behind its log is left out, and
        where it says that it ends is given; 0: there is none. No checksum covers where a batch begins, and nothing follows the last one
        that would show the damage. It is asked for again: a leader reads its log a moment after it has looked where that ends."""
        span, beyond = span_of(data, self.position), 0
        if span.last >= 0 and span.next_offset > log_end and next(batches_in(data[span.last :])).is_intact:
            beyond, data = span.next_offset, data[: span.last]
            span = span_of(data, self.position)
        if span.last >= 0:
            self._answers.append(_ClosedAnswer(data[span.begin : span.end], data[span.end :], aborted))
            self.bytes += span.end - span.begin
            self.position, self.epoch = span.next_offset, next(batches_in(data[span.last :])).leader_epoch
        try:
            require_batch(data[span.end :])
        except OldMagic as old:
            self.old, self._rest = old, data[span.end :]
        return beyond

    def _read_some(self, most: int) -> None:
        """Reads batches of the first answer."""
        answer = self._answers[0]
        for batch in islice(batches_in(answer.data[answer.at :]), most):
            answer.at += len(batch.data)
            is_dropped = batch.is_control or not batch.record_count
            # A marker that is damaged ends no transaction: it may be a batch in front of the position that says it reaches further.
            if answer.aborted is not None and (not batch.is_control or batch.is_intact):
                is_dropped |= answer.aborted.hold_by(min(batch.next_offset, answer.follows), batch.producer_id, batch.attributes)
            # A header that is damaged leaves nothing out.
            self._there.append((batch, not (is_dropped and batch.is_intact)))
        self.follows = answer.follows
        self._drop_empty()

    def _drop_empty(self) -> None:
        if self._answers and self._answers[0].at >= len(self._answers[0].data):
            self._answers.popleft()


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


def has_moved(code: int) -> bool:
    """Whether an error code of a partition says that another broker leads it now."""
    return code in _MOVED


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
