"""The source side of the engine: reads the lane's partitions between two offsets and hands each record to the target side."""

import gc
import time
from collections.abc import Sequence
from typing import Protocol

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, ThrottleEvent
from confluent_kafka import TopicPartition as ClientTopicPartition

from mirror.copy.confluent.partition import InFlightPartition, poison_of, unreadable_headers
from mirror.copy.engine import PartitionAssignment, PoisonRecord
from mirror.copy.model import LaneTask
from mirror.errors import BatchNotUnpacked, MirrorError, RecordNotCarried, SourceRepeated, SourceTruncated, SourceUnreadable
from mirror.formats.message_headers import UNREADABLE_HEADERS, Headers, read_headers
from mirror.kafka.client_errors import ClientErrors, concerns_reading, settings_with, to_mirror_error
from mirror.kafka.consumer_settings import FETCH_BYTES, QUEUE_KILOBYTES, FetchProgress, bulk_settings
from mirror.kafka.lifecycle import close
from mirror.kafka.polling import throttle_seconds
from mirror.offsets.partition import TopicPartition

_RECORDS_AT_A_TIME = 2_000
_PORTION_RECORD_BYTES = 2_000  # as if the records of a throttled lane had this size


class RecordSink(Protocol):
    """Where records go: the target side of the engine."""

    alias: str
    bytes: int

    def send(self, in_flight: InFlightPartition, message: Message, offset: int, timestamp: int, headers: Headers) -> None:
        """Sends one record into the open transaction."""
        ...


class SourceConsumer:
    """A consumer that is assigned partition by partition and never commits anything.

    A partition that reached its end, or its share of a transaction, is paused: paused partitions give no events and are not fetched.
    """

    def __init__(self, task: LaneTask) -> None:
        self._task, self._seconds = task, task.request_seconds
        self._complaints = ClientErrors(task.source, task.clients.source_consumer)
        self._throttled_until = 0.0
        self._progress = FetchProgress()
        self._consumer = Consumer(
            settings_with(consumer_settings(task), self._complaints, throttle_cb=self._throttled, stats_cb=self._progress)
        )
        self._in_flight: dict[tuple[str, int], InFlightPartition] = {}
        self._positions: dict[tuple[str, int], int] = {}
        self._pending: list[Message] = []
        self._open = 0

    def assign(self, work: Sequence[PartitionAssignment], target: RecordSink) -> list[InFlightPartition]:
        """Makes the given work what `consume` reads, each partition at its start, and returns the partitions in the same order."""
        self._positions.update({key: in_flight.next_offset for key, in_flight in self._in_flight.items() if not in_flight.stopped})
        self._in_flight = {work_item.source: InFlightPartition(work_item, target.alias) for work_item in work}
        self._let_go({key for key, position in self._positions.items() if position >= 0 and key not in self._in_flight})
        self._open = sum(not in_flight.stopped for in_flight in self._in_flight.values())
        moved = [
            in_flight
            for key, in_flight in self._in_flight.items()
            if not in_flight.stopped and self._positions.get(key) != in_flight.work.start
        ]
        if moved:
            reassigned = [ClientTopicPartition(*in_flight.work.source) for in_flight in moved if in_flight.work.source in self._positions]
            if reassigned:
                self._consumer.incremental_unassign(reassigned)
            self._consumer.incremental_assign([_start(in_flight.work) for in_flight in moved])
            self._consumer.resume(reassigned)  # a pause outlives the assignment
            stale = {in_flight.work.source for in_flight in moved}
            self._pending = [message for message in self._pending if _key(message) not in stale]
            self._positions.update({in_flight.work.source: in_flight.work.start for in_flight in moved})
        return list(self._in_flight.values())

    def has_work(self) -> bool:
        """Whether any partition has not reached its end or its share."""
        return self._open > 0

    def consume(self, records: int, seconds: float, target: RecordSink, max_bytes: int) -> None:
        """Hands over what is there, at most about `max_bytes` in the transaction; what is left of a batch waits for the next one."""
        # The collector would look at thousands of messages again and again, and none of them is in a cycle.
        collecting = gc.isenabled()
        gc.disable()
        try:
            self._hand_over(self._pending or self._consumer.consume(records, seconds), target, max_bytes)
        finally:
            if collecting:
                gc.enable()

    @property
    def heard_at(self) -> float:
        """When (time.monotonic) the source was last heard of, though by no record: the client came further through aborted records, or the
        brokers hold our reading back; then until when, as far as they said."""
        return max(self._throttled_until, self._progress.moved_at)

    def raise_complaint(self, seconds: float) -> None:
        """Raises what the client complained of, if anything: for so many seconds nothing has come."""
        self._complaints.raise_unreachable(seconds)

    def close(self) -> None:
        """Closes the consumer."""
        close(self._consumer)

    # ------------------------------------------------------------ inside

    def _let_go(self, partitions: set[tuple[str, int]]) -> None:
        """Partitions whose turn it is not: as at a stop, what was fetched of them is thrown away."""
        if partitions:
            self._consumer.pause([ClientTopicPartition(*key) for key in partitions])
            self._positions.update(dict.fromkeys(partitions, -1))

    def _throttled(self, event: ThrottleEvent) -> None:
        self._throttled_until = max(self._throttled_until, time.monotonic() + throttle_seconds(round(event.throttle_time * 1000)))

    def _hand_over(self, messages: list[Message], target: RecordSink, max_bytes: int) -> None:
        self._pending = []
        if not messages:
            self._complaints.raise_refusal()
        topic, partition, in_flight, now = None, None, None, time.time()
        for index, message in enumerate(messages):
            if target.bytes >= max_bytes:
                self._pending = messages[index:]
                return
            # Mostly the partition of the message before: comparing is cheaper than looking it up.
            if message.partition() != partition or message.topic() != topic:
                topic, partition = message.topic(), message.partition()
                in_flight = self._in_flight.get(_key(message))
                if in_flight is not None:
                    in_flight.read = now
            error = message.error()
            if error is not None:
                self._event(error, message, in_flight)
            elif in_flight is not None and not in_flight.stopped:
                self._take(message, in_flight, target)

    def _take(self, message: Message, in_flight: InFlightPartition, target: RecordSink) -> None:
        """A record of a partition that is being copied. This runs for every single record, so it is kept short."""
        offset: int = message.offset()  # type: ignore[assignment]
        if offset >= in_flight.end:
            self._stop(in_flight, in_flight.end)
            return
        if offset < in_flight.next_offset:
            raise SourceRepeated(*in_flight.work.source, offset, in_flight.next_offset)
        timestamp: int = message.timestamp()[1]
        try:
            headers = read_headers(message)
            poison = None if timestamp and offset not in in_flight.work.refused else poison_of(message, timestamp, in_flight.work)
        except UNREADABLE_HEADERS:
            headers, poison = None, unreadable_headers(message, in_flight.work)
        if poison is None:
            target.send(in_flight, message, offset, timestamp, headers)
            in_flight.sources.append(offset)
        elif in_flight.work.skip_refused and not (in_flight.work.hands_over and isinstance(poison, RecordNotCarried)):
            in_flight.skip(offset, poison.reason)
        else:
            self._stop(in_flight, offset, poison)
            return
        in_flight.next_offset = offset + 1
        in_flight.last = message
        if offset + 1 >= in_flight.end or len(in_flight.sources) == in_flight.max_records:
            self._stop(in_flight, offset + 1)

    def _stop(self, in_flight: InFlightPartition, next_offset: int, poison: PoisonRecord | RecordNotCarried | None = None) -> None:
        in_flight.next_offset = max(in_flight.next_offset, next_offset)
        in_flight.poison = poison
        in_flight.stopped = True
        self._open -= 1
        self._consumer.pause([ClientTopicPartition(*in_flight.work.source)])
        # What the consumer had fetched beyond this point is thrown away, so the next assignment has to start it anew.
        self._positions[in_flight.work.source] = -1

    def _event(self, error: KafkaError, message: Message, in_flight: InFlightPartition | None) -> None:
        if error.code() == KafkaError._PARTITION_EOF:
            # The event carries the position, past markers and aborted records. One in front of the end means nothing: a fetch may end
            # early after a leader change.
            if in_flight is not None and not in_flight.stopped and (message.offset() or 0) >= in_flight.work.end:
                self._stop(in_flight, in_flight.work.end)
            return
        if error.code() == KafkaError._BAD_COMPRESSION and in_flight is not None:
            if not in_flight.stopped:
                offset = max(in_flight.next_offset, message.offset() or 0)
                self._stop(in_flight, offset, BatchNotUnpacked(*in_flight.work.source, offset, None, error.str().rstrip(".")))
            return
        if concerns_reading(error):
            raise self._failure(error, in_flight)

    def _failure(self, error: KafkaError, in_flight: InFlightPartition | None) -> MirrorError:
        tp = in_flight.work.source if in_flight else None
        if tp and in_flight and error.code() in (KafkaError._LOG_TRUNCATION, KafkaError._AUTO_OFFSET_RESET):
            diverged = self._departs(in_flight.work)
            if diverged is not None and diverged < in_flight.work.start:
                return SourceTruncated(tp.topic, tp.partition, in_flight.work.start, in_flight.work.end, diverged)
            return SourceUnreadable(
                f"{tp}@{in_flight.next_offset}: the source no longer has this offset: {error.str()}.",
                topic=tp.topic,
                partition=tp.partition,
                offset=in_flight.next_offset,
                next="The next run compares it with the log's start and end, and says which.",
            )
        return to_mirror_error(
            KafkaException(error),
            self._complaints,
            step=f"reading {tp or 'the source'}",
            seconds=self._seconds,
            topic=tp.topic if tp else None,
            operation="READ",
        )

    def _departs(self, work: PartitionAssignment) -> int | None:
        """Where the log departs from what was copied of it; None: nobody says, as a leader does not that is older than what was copied. The
        client tells it in the words of its error alone."""
        from mirror.kafka.cluster import Cluster  # it brings packages that whoever opens the engines looks for by itself

        if work.leader_epoch is None:
            return None
        with Cluster(self._task.source, self._task.clients.source_admin, self._seconds) as source:
            log = source.log_offsets([work.source]).get(work.source)
            if log is None or (log.leader_epoch is not None and log.leader_epoch < work.leader_epoch):
                return None
            return source.epoch_ends({work.source: work.leader_epoch}, self._seconds).get(work.source)


def _start(work: PartitionAssignment) -> ClientTopicPartition:
    """Where to begin. With the leader epoch of the last copied record, the client notices a log that was truncated below it (KIP-320)."""
    if work.leader_epoch is None:
        return ClientTopicPartition(work.source.topic, work.source.partition, work.start)
    return ClientTopicPartition(work.source.topic, work.source.partition, work.start, leader_epoch=work.leader_epoch)


def _key(message: Message) -> TopicPartition:
    return TopicPartition(message.topic(), message.partition())  # type: ignore[arg-type]


def consumer_settings(task: LaneTask) -> dict[str, object]:
    """Of the consumer that reads the source."""
    return bulk_settings({**task.clients.source_consumer, **_portions(task)}, task.read_committed)


def _portions(task: LaneTask) -> dict[str, object]:
    """A throttled lane fetches what it may copy, and not as much as it can: else it would throttle its writing alone."""
    if task.fetch_bytes is None:
        return {}
    mine = task.clients.source_consumer
    portion = {name: min(int(mine.get(name, FETCH_BYTES)), task.fetch_bytes) for name in ("fetch.max.bytes", "max.partition.fetch.bytes")}
    ahead = min(int(mine.get("queued.max.messages.kbytes", QUEUE_KILOBYTES)), max(1, task.fetch_bytes // 1024))
    # The client wants its largest message not to be larger than a fetch. That limits nothing that is read: one record always comes whole.
    return {**portion, "queued.max.messages.kbytes": ahead, "queued.min.messages": 1, "message.max.bytes": portion["fetch.max.bytes"]}


def records_at_a_time(task: LaneTask) -> int:
    """How many records to take from the consumer's queue in one turn. Taking them makes room for the next fetch: a throttled lane that took
    thousands would fetch as if it had no throttle, so it takes about a portion."""
    if task.fetch_bytes is None:
        return _RECORDS_AT_A_TIME
    return max(1, min(_RECORDS_AT_A_TIME, task.fetch_bytes // _PORTION_RECORD_BYTES))
