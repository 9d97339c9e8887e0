"""Reading partitions between two offsets: to the very end of each range, and not a record further.

`BoundedReader` reads few records, of our own topics mostly; `PartReader` reads large ranges quickly, for whoever looks at every record and
keeps none. One loop reads for both, batch by batch, each time with a consumer of its own.
"""

import gc
import logging
import math
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, MutableMapping
from contextlib import closing, suppress
from itertools import groupby
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as ClientTopicPartition

from mirror.errors import DeadlineExceeded, LogMoved, MirrorError, StaleAnswer
from mirror.kafka.client_errors import ClientErrors, Errors, collect_refusal, concerns_reading, settings_with, to_mirror_error
from mirror.kafka.connection_errors import LOAD_NEXT
from mirror.kafka.consumer_settings import STATISTICS_MS, FetchProgress, bulk_settings, reader_settings
from mirror.offsets.intervals import Interval
from mirror.offsets.partition import TopicPartition

_BATCH = 10_000
_POLL_SECONDS = 0.02  # the client waits this long for a full batch, even when the last record is there
_LEARN_SECONDS = 1.0
_CLOSE_SECONDS = 10.0
"""How long a consumer may take to close. One that lives takes milliseconds."""
PARTITIONS_AT_ONCE = 100
"""How many partitions one consumer of a PartReader reads at the same time; the others wait for one of these to end."""

Ranges = Mapping[TopicPartition, tuple[int, int]]
Batches = Generator[tuple[TopicPartition, list[Message]], None, None]
Failed = Callable[[TopicPartition, MirrorError], None]
"""Takes what keeps a partition from being read to its end: ends it (`_Pass.end`), or raises."""


log = logging.getLogger(__name__)


class TimeIsUp(Exception):
    """Raised when a reading would take longer than it may."""


class _Silence(TimeIsUp):
    """Raised when nothing at all has come for too long."""


class _Pass:
    """One pass over ranges. `seconds`: for how long nothing at all may come; `ends_at`: until when (time.monotonic) it may read."""

    def __init__(
        self, complaints: ClientErrors, settings: Mapping[str, Any], ranges: Ranges, seconds: float, ends_at: float, at_once: int
    ) -> None:
        self._complaints = complaints
        self._ranges = ranges
        self._seconds = seconds
        self._ends_at = ends_at
        self._at_once = at_once
        self._progress = FetchProgress()
        statistics = {"statistics.interval.ms": STATISTICS_MS, "stats_cb": self._progress}
        self._settings = {**settings_with(settings, complaints), **statistics}
        self._waiting = [tp for tp, (start, end) in sorted(ranges.items()) if start < end]
        self._ended: list[TopicPartition] = []
        self.open: dict[TopicPartition, int] = {}
        """The ends of the ranges that are being read."""

    def end(self, tp: TopicPartition) -> None:
        """Reads no more of a range."""
        if self.open.pop(tp, None) is not None:
            self._ended.append(tp)

    def batches(self, failed: Failed) -> Batches:
        """The visible records of all ranges, in order within each partition, some of one partition at a time.

        An end-of-partition event ends a range only at or behind the range's end: right after a leader change a fetch may end early.
        Raises TimeIsUp, AuthenticationFailed, and StaleAnswer when the broker's log ends in front of a range.
        """
        if not self._waiting:
            return
        consumer = Consumer(self._settings)
        try:
            self._learn_topics(consumer)
            heard = time.monotonic()
            self._begin_more(consumer)
            while self.open:
                self._check(heard)
                for (topic, number), run in groupby(_consumed(consumer), key=lambda message: (message.topic(), message.partition())):
                    tp = TopicPartition(topic or "", -1 if number is None else number)
                    records = self._within(tp, list(run), failed)
                    if records:
                        yield tp, records
                        heard = time.monotonic()  # whoever takes them may take his time
                if self._ended:
                    heard = time.monotonic()
                self._begin_more(consumer)
        finally:
            _close(consumer)

    def _check(self, heard: float) -> None:
        self._complaints.raise_refusal()
        now = time.monotonic()
        if now > self._ends_at:
            raise TimeIsUp
        if now > max(heard, self._progress.moved_at) + self._seconds:
            raise _Silence

    def _learn_topics(self, consumer: Consumer) -> None:
        """Has the client learn of all topics at once, if it does not begin with all of them: of a topic that it meets later, it asks for
        the leaders only when it looks through its topics, once a second."""
        first, later = ({tp.topic for tp in part} for part in (self._waiting[: self._at_once], self._waiting[self._at_once :]))
        if later - first:
            with suppress(KafkaException):  # the client then learns of each when it meets it; whatever is wrong it says while it reads
                consumer.list_topics(timeout=_LEARN_SECONDS)

    def _begin_more(self, consumer: Consumer) -> None:
        """Lets go of what was read, which would be fetched on and on, and begins as many ranges as there is room for."""
        if self._ended and (self.open or self._waiting):
            consumer.incremental_unassign([ClientTopicPartition(*tp) for tp in self._ended])
        self._ended.clear()
        room = self._at_once - len(self.open)
        if not self._waiting or room < self._at_once // 2:
            return
        begun, self._waiting = self._waiting[:room], self._waiting[room:]
        consumer.incremental_assign([ClientTopicPartition(*tp, self._ranges[tp][0]) for tp in begun])
        self.open.update({tp: self._ranges[tp][1] for tp in begun})

    def _within(self, tp: TopicPartition, messages: list[Message], failed: Failed) -> list[Message]:
        """The records of the range among consecutive messages of one partition; ends the range when its end is reached."""
        if tp in self._ranges and tp not in self.open:
            return []
        start, end = self._ranges.get(tp, (0, 0))
        if any(message.error() is not None or (message.offset() or 0) < start for message in messages):
            messages = [message for message in messages if self._is_record(tp, message, failed)]
        if messages and (messages[-1].offset() or 0) + 1 >= end:
            self.end(tp)
            messages = [message for message in messages if (message.offset() or 0) < end]
        return messages

    def _is_record(self, tp: TopicPartition, message: Message, failed: Failed) -> bool:
        """Whether it is none of the events, which are dealt with here. Raises StaleAnswer for what stands in front of the range: a broker
        whose log does not reach the range's start sends the reader back to the log's beginning (`auto.offset.reset`)."""
        start, end = self._ranges.get(tp, (0, 0))
        error, offset = message.error(), message.offset() or 0
        is_end = error is not None and error.code() == KafkaError._PARTITION_EOF
        if (error is None or is_end) and 0 <= offset < start:
            raise StaleAnswer(tp, start, end)
        if is_end and offset >= end:
            self.end(tp)
        if error is not None and not is_end and concerns_reading(error):
            failed(tp, self._failure(tp, error))
        return error is None

    def _failure(self, tp: TopicPartition, error: KafkaError) -> MirrorError:
        if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
            return LogMoved(self._complaints.cluster, tp.topic, tp.partition, error.str())
        failure, step = KafkaException(error), f"reading {tp}"
        return to_mirror_error(failure, self._complaints, step=step, seconds=self._seconds, topic=tp.topic, operation="READ")


def _consumed(consumer: Consumer) -> list[Message]:
    # The collector would look at thousands of messages again and again, and none of them is in a cycle.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return consumer.consume(_BATCH, _POLL_SECONDS)
    finally:
        if collecting:
            gc.enable()


def _close(consumer: Any, seconds: float = _CLOSE_SECONDS) -> None:
    """Closes a consumer; one that does not end in time is left behind until the process ends. Connections that are cut at the wrong moment
    keep librdkafka's threads from ending, for ever (confluent-kafka-python, issue 1667). Nothing depends on that end."""
    thread = threading.Thread(target=consumer.close, name="closing", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        log.warning("A consumer did not close within %g s and is left behind until this process ends.", seconds)


def _named(ranges: Mapping[TopicPartition, int]) -> str:
    return ", ".join(f"{tp}@{end}" for tp, end in sorted(ranges.items())[:5])


class BoundedReader:
    """Reads `[start, end)` of partitions of one cluster and says so if it cannot reach an end in time."""

    def __init__(self, alias: str, settings: Mapping[str, Any], committed: bool = True) -> None:
        self._alias = alias
        self._complaints = ClientErrors(alias, settings)
        self._settings = reader_settings(settings, committed)

    def read(self, ranges: Ranges, seconds: float, errors: Errors = None, *, in_all: bool = False) -> Iterator[Message]:
        """Yields the visible records of all ranges, in order within each partition.

        Raises DeadlineExceeded, naming what was not reached, when the client got no further for `seconds`, or with `in_all` when it takes
        longer: a long topic that is read on and on is not late. Raises StaleAnswer when the broker's log ends in front of a range. A topic
        that may not be read is in `errors`, if that is given.
        """
        for _, messages in self._batches(self._pass(ranges, seconds, in_all), seconds, errors):
            yield from messages

    def first_visible(
        self,
        ranges: Ranges,
        seconds: float,
        errors: Errors,
        partial: bool = False,
        accept: Callable[[Message], bool] = lambda _message: True,
        in_all: bool = True,
    ) -> dict[TopicPartition, Message]:
        """The first visible record of each range that has one; reads no further than that. A topic that may not be read is in `errors`.
        With `accept` the first one that it takes.

        When time is up it raises DeadlineExceeded, and StaleAnswer as `read` does; with `partial` it gives what was found by then. `in_all`
        as in `read`.
        """
        reading, first_records = self._pass(ranges, seconds, in_all), dict[TopicPartition, Message]()
        try:
            for tp, messages in self._batches(reading, seconds, errors):
                first = next(filter(accept, messages), None)
                if first is not None:
                    first_records[tp] = first
                    reading.end(tp)
        except (DeadlineExceeded, StaleAnswer):
            if not partial:
                raise
        return first_records

    def _pass(self, ranges: Ranges, seconds: float, in_all: bool) -> _Pass:
        ends_at = time.monotonic() + seconds if in_all else math.inf
        return _Pass(self._complaints, self._settings, ranges, seconds, ends_at, at_once=max(len(ranges), 1))

    def _batches(self, reading: _Pass, seconds: float, errors: Errors) -> Batches:
        def failed(tp: TopicPartition, failure: MirrorError) -> None:
            if not collect_refusal(failure, errors):
                raise failure
            for open_tp in [open_tp for open_tp in reading.open if open_tp.topic == tp.topic]:
                reading.end(open_tp)

        try:
            yield from reading.batches(failed)
        except TimeIsUp:
            detail = self._complaints.detail()
            raise DeadlineExceeded(
                f"Cluster '{self._alias}': the end of {_named(reading.open)} was not reached within {seconds:g} s"
                f"{': ' + detail if detail else ''}.",
                next=LOAD_NEXT,
            ) from None


class Part(NamedTuple):
    """Offsets `[start, end)` of a partition without those in `excluded`, and how many records at their beginning are not counted."""

    start: int
    end: int
    excluded: tuple[Interval, ...] = ()
    skip: int = 0
    timed: bool = True


class PartReader:
    """Reads parts of partitions of one cluster with the user's consumer settings, which bound its memory whatever the number of partitions.

    `seconds`: for how long nothing at all may come. `ends_at`: until when (time.monotonic) it may read, whatever comes.
    """

    def __init__(self, alias: str, settings: Mapping[str, Any], committed: bool, seconds: float, ends_at: float = math.inf) -> None:
        self.alias = alias
        self._seconds = seconds
        self._ends_at = ends_at
        self._complaints = ClientErrors(alias, settings)
        self._settings = bulk_settings(settings, committed)

    def batches(self, parts: Mapping[TopicPartition, Part], errors: MutableMapping[TopicPartition, MirrorError]) -> Batches:
        """The visible records of each part in their order, some of one partition at a time; `skip` is not heeded.

        A partition that cannot be read to its end is in `errors`: LogMoved if its start is gone (also while it is read),
        AuthorizationRefused … Raises what concerns the whole cluster, DeadlineExceeded, and TimeIsUp at `ends_at`.
        """
        ranges = {tp: (part.start, part.end) for tp, part in parts.items()}
        reading = _Pass(self._complaints, self._settings, ranges, self._seconds, self._ends_at, PARTITIONS_AT_ONCE)

        def failed(tp: TopicPartition, failure: MirrorError) -> None:
            if tp in parts:
                errors[tp] = failure
                reading.end(tp)

        try:
            with closing(reading.batches(failed)) as batches:
                for tp, messages in batches:
                    excluded = parts[tp].excluded
                    records = [message for message in messages if not _lies_in(message.offset() or 0, excluded)] if excluded else messages
                    if records:
                        yield tp, records
        except _Silence:
            self._complaints.raise_unreachable(self._seconds)
            raise DeadlineExceeded(
                f"Cluster '{self.alias}': nothing came for {self._seconds:g} s, and the end of {_named(reading.open)} was not reached.",
                next="Look at the brokers' load and the network, and run it again.",
            ) from None


def _lies_in(offset: int, intervals: Iterable[Interval]) -> bool:
    return any(start <= offset < end for start, end in intervals)
