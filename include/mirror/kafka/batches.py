"""Reading large ranges of partitions quickly, batch by batch: for whoever looks at every record and keeps none."""

import gc
import math
import time
from collections.abc import Generator, Mapping, MutableMapping
from itertools import groupby
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as ClientTopicPartition

from mirror.errors import DeadlineExceeded, LogMoved, MirrorError
from mirror.kafka.closing import close
from mirror.kafka.consumer_settings import bulk_settings
from mirror.kafka.failures import Complaints, concerns_reading, settings_with, translated
from mirror.kafka.fetch_progress import FetchProgress
from mirror.offsets.partition import TopicPartition

_BATCH = 10_000
_POLL_SECONDS = 0.05
PARTITIONS_AT_ONCE = 100
"""How many partitions one consumer reads at the same time; the others wait for one of these to end."""

_PLACED = Mapping[TopicPartition, tuple[int, int]]


class TimeIsUp(Exception):
    """Raised when a reading would take longer than it may."""


class BatchReader:
    """Reads `[start, end)` of partitions of one cluster with the user's consumer settings, which bound its memory whatever the number of
    partitions. `seconds`: for how long nothing at all may come. `ends_at`: until when (time.monotonic) it may read, whatever comes."""

    def __init__(self, alias: str, settings: Mapping[str, Any], committed: bool, seconds: float, ends_at: float = math.inf) -> None:
        self._alias = alias
        self._seconds = seconds
        self._ends_at = ends_at
        self._complaints = Complaints(alias, settings)
        self._progress = FetchProgress()
        self._settings = settings_with(bulk_settings(settings, committed), self._complaints, stats_cb=self._progress)

    def batches(
        self, ranges: _PLACED, errors: MutableMapping[TopicPartition, MirrorError]
    ) -> Generator[tuple[TopicPartition, list[Message]], None, None]:
        """The visible records of all ranges, in order within each partition, some of one partition at a time.

        A partition that cannot be read to its end is in `errors`: LogMoved if its start is gone (also while it is read),
        AuthorizationRefused … Raises what concerns the whole cluster, and DeadlineExceeded.
        """
        waiting = [tp for tp, (start, end) in sorted(ranges.items()) if start < end]
        if not waiting:
            return
        consumer = Consumer(self._settings)
        try:
            yield from _Reading(self, consumer, ranges, waiting, errors).run()
        finally:
            close(consumer)

    # ------------------------------------------------------------ what a reading asks

    def failure(self, tp: TopicPartition, error: KafkaError) -> MirrorError:
        """An event that ends the reading of a partition, as an error of ours."""
        if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
            return LogMoved(self._alias, tp.topic, tp.partition, error.str())
        return translated(
            KafkaException(error),
            self._complaints,
            step=f"reading {tp}",
            seconds=self._seconds,
            topic=tp.topic,
            operation="READ",
        )

    def check(self, last: float, left: Mapping[TopicPartition, int]) -> None:
        """Raises if the cluster refuses us, if nothing has come for too long since `last` (time.monotonic), or if time is up."""
        self._complaints.raise_refusal()
        if left and time.monotonic() > self._ends_at:
            raise TimeIsUp
        if time.monotonic() - max(last, self._progress.moved_at) < self._seconds:
            return
        self._complaints.raise_unreachable(self._seconds)
        named = ", ".join(f"{tp}@{end}" for tp, end in sorted(left.items())[:5])
        raise DeadlineExceeded(
            f"Cluster '{self._alias}': nothing came for {self._seconds:g} s, and the end of {named} was not reached.",
            next="Look at the brokers' load and the network, and run it again.",
        )


class _Reading:
    """One pass over the ranges."""

    def __init__(
        self,
        reader: BatchReader,
        consumer: Consumer,
        ranges: _PLACED,
        waiting: list[TopicPartition],
        errors: MutableMapping[TopicPartition, MirrorError],
    ) -> None:
        self._reader = reader
        self._consumer = consumer
        self._ranges = ranges
        self._waiting = waiting
        self._errors = errors
        self._open: dict[TopicPartition, int] = {}

    def run(self) -> Generator[tuple[TopicPartition, list[Message]], None, None]:
        """The messages, a batch of one partition at a time, until every range has been read."""
        last = time.monotonic()
        self._begin_more()
        while self._open:
            messages = self._messages()
            if messages:
                last = time.monotonic()
            for (topic, number), run in groupby(messages, key=lambda each: (each.topic(), each.partition())):
                tp = TopicPartition(str(topic), int(number or 0))
                part = self._within(tp, list(run))
                if part:
                    yield tp, part
                    last = time.monotonic()  # whoever takes them may take his time
            self._reader.check(last, self._open)
            self._begin_more()

    def _messages(self) -> list[Message]:
        # The collector would look at thousands of messages again and again, and none of them is in a cycle.
        collecting = gc.isenabled()
        gc.disable()
        try:
            return self._consumer.consume(_BATCH, _POLL_SECONDS)
        finally:
            if collecting:
                gc.enable()

    def _begin_more(self) -> None:
        room = PARTITIONS_AT_ONCE - len(self._open)
        if not self._waiting or room < PARTITIONS_AT_ONCE // 2:
            return
        begun, self._waiting = self._waiting[:room], self._waiting[room:]
        self._consumer.incremental_assign([ClientTopicPartition(*tp, self._ranges[tp][0]) for tp in begun])
        self._open.update({tp: self._ranges[tp][1] for tp in begun})

    def _within(self, tp: TopicPartition, messages: list[Message]) -> list[Message]:
        """The records of the range among consecutive messages of one partition; ends the range when its end is reached."""
        end = self._open.get(tp)
        if end is None:
            return []
        if any(each.error() is not None for each in messages):
            messages = self._without_events(tp, messages, end)
        if messages and (messages[-1].offset() or 0) + 1 >= end:
            self._end(tp)
            messages = [each for each in messages if (each.offset() or 0) < end]
        return messages

    def _without_events(self, tp: TopicPartition, messages: list[Message], end: int) -> list[Message]:
        records = []
        for each in messages:
            error = each.error()
            if error is None:
                records.append(each)
            elif error.code() == KafkaError._PARTITION_EOF:
                # In front of the end it means nothing: a fetch may end early after a leader change.
                if (each.offset() or 0) >= end:
                    self._end(tp)
            elif concerns_reading(error):
                self._errors[tp] = self._reader.failure(tp, error)
                self._end(tp)
        return records

    def _end(self, tp: TopicPartition) -> None:
        if self._open.pop(tp, None) is not None:
            self._consumer.incremental_unassign([ClientTopicPartition(*tp)])
