"""The source side of the engine: reads the lane's partitions between two offsets and hands each record to the target side."""

import gc
import time
from collections.abc import Sequence
from typing import Protocol

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, ThrottleEvent
from confluent_kafka import TopicPartition as ClientTopicPartition

from mirror.copy.confluent_partition import PartitionFlow
from mirror.copy.confluent_record import poison_of, unreadable_headers
from mirror.copy.confluent_settings import consumer_settings
from mirror.copy.engine import PoisonRecord, Work
from mirror.copy.model import LaneTask
from mirror.errors import MirrorError, RecordNotCarried, SourceRepeated, SourceTruncated, SourceUnreadable
from mirror.formats.message_headers import UNREADABLE_HEADERS, Headers, read_headers
from mirror.kafka.closing import close
from mirror.kafka.epochs import epoch_end
from mirror.kafka.failures import Complaints, concerns_reading, settings_with, translated
from mirror.kafka.fetch_progress import FetchProgress
from mirror.offsets.partition import TopicPartition


class Sink(Protocol):
    """Where records go: the target side of the engine."""

    alias: str
    bytes: int

    def send(self, flow: PartitionFlow, message: Message, offset: int, timestamp: int, headers: Headers) -> None:
        """Sends one record into the open transaction."""
        ...


class Source:
    """A consumer that is assigned partition by partition and never commits anything.

    A partition that reached its end, or its share of a transaction, is paused: paused partitions give no events and are not fetched.
    """

    def __init__(self, task: LaneTask) -> None:
        self._seconds = task.request_seconds
        self._complaints = Complaints(task.source, task.clients.source_consumer)
        self._throttled_until = 0.0
        self._progress = FetchProgress()
        self._consumer = Consumer(
            settings_with(consumer_settings(task), self._complaints, throttle_cb=self._throttled, stats_cb=self._progress)
        )
        self._flows: dict[tuple[str, int], PartitionFlow] = {}
        self._positions: dict[tuple[str, int], int] = {}
        self._pending: list[Message] = []
        self._open = 0

    def assign(self, work: Sequence[Work], target: Sink) -> list[PartitionFlow]:
        """Makes the given work what `consume` reads, each partition at its start, and returns the flows in the same order."""
        self._positions.update({key: flow.next_offset for key, flow in self._flows.items() if not flow.stopped})
        self._flows = {work_item.source: PartitionFlow(work_item, target.alias) for work_item in work}
        self._let_go({key for key, position in self._positions.items() if position >= 0 and key not in self._flows})
        self._open = sum(not flow.stopped for flow in self._flows.values())
        moved = [flow for key, flow in self._flows.items() if not flow.stopped and self._positions.get(key) != flow.work.start]
        if moved:
            known = [ClientTopicPartition(*flow.work.source) for flow in moved if flow.work.source in self._positions]
            if known:
                self._consumer.incremental_unassign(known)
            self._consumer.incremental_assign([_start(flow.work) for flow in moved])
            self._consumer.resume(known)  # a pause outlives the assignment
            stale = {flow.work.source for flow in moved}
            self._pending = [message for message in self._pending if _key(message) not in stale]
            self._positions.update({flow.work.source: flow.work.start for flow in moved})
        return list(self._flows.values())

    def has_work(self) -> bool:
        """Whether any partition has not reached its end or its share."""
        return self._open > 0

    def consume(self, records: int, seconds: float, target: Sink, max_bytes: int) -> None:
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
        self._throttled_until = max(self._throttled_until, time.monotonic() + event.throttle_time)

    def _hand_over(self, messages: list[Message], target: Sink, max_bytes: int) -> None:
        self._pending = []
        if not messages:
            self._complaints.raise_refusal()
        topic, partition, flow, now = None, None, None, time.time()
        for index, message in enumerate(messages):
            if target.bytes >= max_bytes:
                self._pending = messages[index:]
                return
            # Mostly the partition of the message before: comparing is cheaper than looking it up.
            if message.partition() != partition or message.topic() != topic:
                topic, partition = message.topic(), message.partition()
                flow = self._flows.get(_key(message))
                if flow is not None:
                    flow.read = now
            error = message.error()
            if error is not None:
                self._event(error, message, flow)
            elif flow is not None and not flow.stopped:
                self._take(message, flow, target)

    def _take(self, message: Message, flow: PartitionFlow, target: Sink) -> None:
        """A record of a partition that is being copied. This runs for every single record, so it is kept short."""
        offset: int = message.offset()  # type: ignore[assignment]
        if offset >= flow.end:
            self._stop(flow, flow.end)
            return
        if offset < flow.next_offset:
            raise SourceRepeated(*flow.work.source, offset, flow.next_offset)
        timestamp: int = message.timestamp()[1]
        try:
            headers = read_headers(message)
            poison = None if timestamp and offset not in flow.work.refused else poison_of(message, timestamp, flow.work)
        except UNREADABLE_HEADERS:
            headers, poison = None, unreadable_headers(message, flow.work)
        if poison is None:
            target.send(flow, message, offset, timestamp, headers)
            flow.sources.append(offset)
        elif flow.work.skip_refused:
            flow.skip(offset, poison.reason)
        else:
            self._stop(flow, offset, poison)
            return
        flow.next_offset = offset + 1
        flow.last = message
        if offset + 1 >= flow.end or len(flow.sources) == flow.max_records:
            self._stop(flow, offset + 1)

    def _stop(self, flow: PartitionFlow, next_offset: int, poison: PoisonRecord | RecordNotCarried | None = None) -> None:
        flow.next_offset = max(flow.next_offset, next_offset)
        flow.poison = poison
        flow.stopped = True
        self._open -= 1
        self._consumer.pause([ClientTopicPartition(*flow.work.source)])
        # What the consumer had fetched beyond this point is thrown away, so the next assignment has to start it anew.
        self._positions[flow.work.source] = -1

    def _event(self, error: KafkaError, message: Message, flow: PartitionFlow | None) -> None:
        if error.code() == KafkaError._PARTITION_EOF:
            # The event carries the position, past markers and aborted records. One in front of the end means nothing: a fetch may end
            # early after a leader change.
            if flow is not None and not flow.stopped and (message.offset() or 0) >= flow.work.end:
                self._stop(flow, flow.work.end)
            return
        if concerns_reading(error):
            raise self._failure(error, flow)

    def _failure(self, error: KafkaError, flow: PartitionFlow | None) -> MirrorError:
        tp = flow.work.source if flow else None
        if tp and flow and error.code() in (KafkaError._LOG_TRUNCATION, KafkaError._AUTO_OFFSET_RESET):
            diverged = epoch_end(error)
            if diverged is not None and diverged < flow.work.start:
                return SourceTruncated(tp.topic, tp.partition, flow.work.start, flow.work.end, diverged)
            return SourceUnreadable(
                f"{tp}@{flow.next_offset}: the source no longer has this offset: {error.str()}.",
                topic=tp.topic,
                partition=tp.partition,
                offset=flow.next_offset,
                next="The next run compares it with the log's start and end, and says which.",
            )
        return translated(
            KafkaException(error),
            self._complaints,
            step=f"reading {tp or 'the source'}",
            seconds=self._seconds,
            topic=tp.topic if tp else None,
            operation="READ",
        )


def _start(work: Work) -> ClientTopicPartition:
    """Where to begin. With the leader epoch of the last copied record, the client notices a log that was truncated below it (KIP-320)."""
    if work.leader_epoch is None:
        return ClientTopicPartition(work.source.topic, work.source.partition, work.start)
    return ClientTopicPartition(work.source.topic, work.source.partition, work.start, leader_epoch=work.leader_epoch)


def _key(message: Message) -> TopicPartition:
    return TopicPartition(message.topic(), message.partition())  # type: ignore[arg-type]
