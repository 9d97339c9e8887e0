"""Reading partitions between two offsets, to the very end of the range and not a record further."""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as ClientTopicPartition

from mirror.errors import DeadlineExceeded, MirrorError, StaleAnswer
from mirror.kafka.closing import close
from mirror.kafka.consumer_settings import STATISTICS_MS, reader_settings
from mirror.kafka.failures import Complaints, Errors, concerns_reading, left_out, settings_with, translated
from mirror.kafka.fetch_progress import FetchProgress
from mirror.offsets.partition import TopicPartition

_BATCH = 10_000
_POLL_SECONDS = 0.02  # the client waits this long for a full batch, even when the last record is there

Ranges = Mapping[TopicPartition, tuple[int, int]]


class BoundedReader:
    """Reads `[start, end)` of partitions of one cluster and says so if it cannot reach an end in time."""

    def __init__(self, alias: str, settings: Mapping[str, Any], committed: bool = True) -> None:
        self._alias = alias
        self._complaints = Complaints(alias, settings)
        self._settings = settings_with(reader_settings(settings, committed), self._complaints)

    def read(self, ranges: Ranges, seconds: float, errors: Errors = None, *, in_all: bool = False) -> Iterator[Message]:
        """Yields the visible records of all ranges, in order within each partition.

        An end-of-partition event ends a range only at or behind the range's end: right after a leader change a fetch may end early.
        Raises DeadlineExceeded, naming what was not reached, when the client got no further for `seconds`, or with `in_all` when it takes
        longer: a long topic that is read on and on is not late. Raises StaleAnswer when the broker's log ends in front of a range. A topic
        that may not be read is in `errors`, if that is given.
        """
        open_ranges = {tp: end for tp, (start, end) in ranges.items() if start < end}
        yield from self._read(ranges, open_ranges, seconds, errors, in_all=in_all)

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
        open_ranges = {tp: end for tp, (start, end) in ranges.items() if start < end}
        found: dict[TopicPartition, Message] = {}
        try:
            for message in self._read(ranges, open_ranges, seconds, errors, in_all=in_all):
                tp = TopicPartition(str(message.topic()), int(message.partition() or 0))
                if tp not in found and accept(message):
                    found[tp] = message
                    open_ranges.pop(tp, None)
        except (DeadlineExceeded, StaleAnswer):
            if not partial:
                raise
        return found

    # ------------------------------------------------------------ inside

    def _read(
        self, ranges: Ranges, open_ranges: dict[TopicPartition, int], seconds: float, errors: Errors, *, in_all: bool
    ) -> Iterator[Message]:
        if not open_ranges:
            return
        heard, progress = time.monotonic(), FetchProgress()
        told = {} if in_all else {"statistics.interval.ms": STATISTICS_MS, "stats_cb": progress}
        consumer = Consumer({**self._settings, **told})
        try:
            consumer.assign([ClientTopicPartition(tp.topic, tp.partition, ranges[tp][0]) for tp in open_ranges])
            fetched = set(open_ranges)
            while open_ranges:
                if time.monotonic() > max(heard, progress.moved_at) + seconds:
                    raise self._late(open_ranges, seconds)
                self._complaints.raise_refusal()
                messages = consumer.consume(_BATCH, _POLL_SECONDS)
                for message in messages:
                    failure = self._failure(message, seconds)
                    if failure is not None:
                        if not left_out(failure, errors):
                            raise failure
                        _close(open_ranges, failure.topic)
                        continue
                    _check_start(message, ranges)
                    if _within(message, open_ranges):
                        yield message
                if not in_all and any(message.error() is None for message in messages):
                    heard = time.monotonic()
                # What lies behind the end of a range would be fetched as well, for as long as another range is open.
                if done := fetched - open_ranges.keys():
                    consumer.pause([ClientTopicPartition(tp.topic, tp.partition) for tp in done])
                    fetched -= done
        finally:
            close(consumer)

    def _failure(self, message: Message, seconds: float) -> MirrorError | None:
        error = message.error()
        if error is None or error.code() == KafkaError._PARTITION_EOF or not concerns_reading(error):
            return None
        tp = _partition(message)
        return translated(
            KafkaException(error),
            self._complaints,
            step=f"reading {tp}",
            seconds=seconds,
            topic=tp.topic,
            operation="READ",
        )

    def _late(self, open_ranges: Mapping[TopicPartition, int], seconds: float) -> DeadlineExceeded:
        left = ", ".join(f"{tp}@{end}" for tp, end in sorted(open_ranges.items())[:5])
        detail = self._complaints.detail()
        return DeadlineExceeded(
            f"Cluster '{self._alias}': the end of {left} was not reached within {seconds:g} s{': ' + detail if detail else ''}.",
            next="Look at the brokers' load and the network; the next run goes on by itself.",
        )


def _partition(message: Message) -> TopicPartition:
    number = message.partition()
    return TopicPartition(message.topic() or "", -1 if number is None else number)


def _check_start(message: Message, ranges: Ranges) -> None:
    """Raises StaleAnswer for what stands in front of its range: a broker whose log does not reach the range's start sends the reader back
    to the log's beginning (`auto.offset.reset`)."""
    tp, offset = _partition(message), message.offset()
    start, end = ranges.get(tp, (0, 0))
    if offset is not None and 0 <= offset < start:
        raise StaleAnswer(tp, start, end)


def _within(message: Message, open_ranges: dict[TopicPartition, int]) -> bool:
    """Whether a message is a record of its range; closes the range when its end is reached."""
    tp, offset, error = _partition(message), message.offset(), message.error()
    end = open_ranges.get(tp)
    if end is None or offset is None:
        return False
    if error is not None:
        if error.code() == KafkaError._PARTITION_EOF and offset >= end:
            del open_ranges[tp]
        return False
    if offset + 1 >= end:
        del open_ranges[tp]
    return offset < end


def _close(open_ranges: dict[TopicPartition, int], topic: str | None) -> None:
    for tp in [tp for tp in open_ranges if tp.topic == topic]:
        del open_ranges[tp]
