"""Reading records between two offsets of each partition: to the very end of each range, and not a record further.

`BoundedReader` reads few records, or the first of many; `PartReader` reads large ranges, for whoever looks at every record and keeps none.
"""

import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, MutableMapping
from contextlib import closing
from typing import Any, NamedTuple

from kafka_mirror.errors import ClusterUnreachable, DeadlineExceeded, LogMoved, MirrorError, StaleAnswer
from kafka_mirror.formats.batches.batch_records import ReadRecord
from kafka_mirror.formats.offsets.intervals import Interval
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.asked_cluster import AskedCluster
from kafka_mirror.kafka.batch_fetch import FetchLimits
from kafka_mirror.kafka.connection_errors import LOAD_NEXT, Errors, collect_refusal
from kafka_mirror.kafka.range_reader import FETCH_BYTES, RangeReader, Ranges, TimeIsUp, named, records_within

PARTITIONS_AT_ONCE = 100
"""How many partitions a PartReader reads at the same time; the others wait for one of these to end."""
_PART_BYTES = 4 * 1024 * 1024
"""How much one answer has at most: what is fetched may be opened to many times as much."""
_FIRST_BYTES, _GROWTH = 64 * 1024, 4
"""Whoever looks for one record of a partition mostly finds it in so many bytes; otherwise so many times more are fetched."""
_WAIT_MS = 10

Records = Generator[tuple[TopicPartition, list[ReadRecord]], None, None]

__all__ = ["PARTITIONS_AT_ONCE", "BoundedReader", "Part", "PartReader", "Ranges", "TimeIsUp"]


def _records(reading: RangeReader, ranges: Ranges) -> Records:
    for tp, batches in reading.batches():
        try:
            for records in records_within(tp, batches, *ranges[tp]):
                yield tp, records
                if tp not in reading.open:
                    break
        except MirrorError as failure:
            reading.failed(tp, failure)


class BoundedReader:
    """Reads `[start, end)` of partitions of one cluster and says so if it cannot reach an end in time."""

    def __init__(self, alias: str, settings: Mapping[str, Any], committed: bool = True) -> None:
        """Of the `settings`, those of a consumer, only how to connect counts."""
        self._alias = alias
        self._settings = settings
        self._committed = committed

    def read(self, ranges: Ranges, seconds: float, errors: Errors = None, *, in_all: bool = False) -> Iterator[ReadRecord]:
        """Yields the visible records of all ranges, in order within each partition.

        Raises DeadlineExceeded, naming what was not reached, when the reader got no further for `seconds`, or with `in_all` when it takes
        longer: a long topic that is read on and on is not late. Raises StaleAnswer when the broker's log ends in front of a range. A topic
        that may not be read is in `errors`, if that is given.
        """
        for _, _, records in self._read(ranges, seconds, errors, FETCH_BYTES, in_all):
            yield from records

    def first_visible(
        self,
        ranges: Ranges,
        seconds: float,
        errors: Errors,
        partial: bool = False,
        accept: Callable[[ReadRecord], bool] = lambda _record: True,
        in_all: bool = True,
    ) -> dict[TopicPartition, ReadRecord]:
        """The first visible record of each range that has one; reads little further than that. A topic that may not be read is in `errors`.
        With `accept` the first one that it takes.

        When time is up it raises DeadlineExceeded, and StaleAnswer as `read` does; with `partial` it gives what was found by then. `in_all`
        as in `read`.
        """
        first_records: dict[TopicPartition, ReadRecord] = {}
        try:
            for reading, tp, records in self._read(ranges, seconds, errors, _FIRST_BYTES, in_all):
                reading.limits = reading.limits._replace(partition_bytes=min(_GROWTH * reading.limits.partition_bytes, FETCH_BYTES))
                first = next(filter(accept, records), None)
                if first is not None:
                    first_records[tp] = first
                    reading.end(tp)
        except (ClusterUnreachable, DeadlineExceeded, StaleAnswer):
            if not partial:
                raise
        return first_records

    def _read(
        self, ranges: Ranges, seconds: float, errors: Errors, partition_bytes: int, in_all: bool
    ) -> Iterator[tuple[RangeReader, TopicPartition, list[ReadRecord]]]:
        def failed(tp: TopicPartition, failure: MirrorError) -> None:
            if not collect_refusal(failure, errors):
                raise failure
            for of_topic in [open_tp for open_tp in reading.open if open_tp.topic == tp.topic]:
                reading.end(of_topic)

        wanted = {tp: (start, end) for tp, (start, end) in ranges.items() if start < end}
        limits = FetchLimits(FETCH_BYTES, partition_bytes, _WAIT_MS, self._committed)
        ends_at = time.monotonic() + seconds if in_all else math.inf
        with closing(AskedCluster(self._alias, self._settings, seconds)) as cluster:
            reading = RangeReader(cluster, wanted, limits, failed, ends_at=ends_at)
            try:
                yield from ((reading, tp, records) for tp, records in _records(reading, wanted))
            except TimeIsUp:
                raise DeadlineExceeded(
                    f"Cluster '{self._alias}': the end of {named(reading.open)} was not reached within {seconds:g} s.", next=LOAD_NEXT
                ) from None


class Part(NamedTuple):
    """Offsets `[start, end)` of a partition without those in `excluded`, and how many records at their beginning are not counted."""

    start: int
    end: int
    excluded: tuple[Interval, ...] = ()
    skip: int = 0
    timed: bool = True


class _PartReading(RangeReader):
    """Of a log that does not hold a position, nothing more is read."""

    def another_log(self, tp: TopicPartition, position: int, diverged_at: int | None) -> None:
        """Fails the partition."""
        why = "it is not in its log" if diverged_at is None else f"another leader wrote what follows @{diverged_at}"
        self.failed(tp, LogMoved(self.cluster.alias, *tp, f"@{position}: {why}"))


class PartReader:
    """Reads parts of partitions of one cluster with the user's consumer settings; its memory is bounded whatever the number of partitions.

    `seconds`: for how long nothing at all may come. `ends_at`: until when (time.monotonic) it may read, whatever comes.
    """

    def __init__(self, alias: str, settings: Mapping[str, Any], committed: bool, seconds: float, ends_at: float = math.inf) -> None:
        self.alias = alias
        self._settings = settings
        self._limits = FetchLimits.of(settings, _PART_BYTES, committed)
        self._seconds = seconds
        self._ends_at = ends_at

    def batches(self, parts: Mapping[TopicPartition, Part], errors: MutableMapping[TopicPartition, MirrorError]) -> Records:
        """The visible records of each part in their order, some of one partition at a time; `skip` is not heeded.

        A partition that cannot be read to its end is in `errors`: LogMoved if its start is gone (also while it is read),
        AuthorizationRefused … Raises what concerns the whole cluster, DeadlineExceeded, and TimeIsUp at `ends_at`.
        """

        def failed(tp: TopicPartition, failure: MirrorError) -> None:
            errors[tp] = failure
            reading.end(tp)

        ranges = {tp: (part.start, part.end) for tp, part in parts.items() if part.start < part.end}
        with closing(AskedCluster(self.alias, self._settings, self._seconds)) as cluster:
            reading = _PartReading(cluster, ranges, self._limits, failed, ends_at=self._ends_at, at_once=PARTITIONS_AT_ONCE)
            for tp, read in _records(reading, ranges):
                excluded = parts[tp].excluded
                records = [record for record in read if not _lies_in(record.offset(), excluded)] if excluded else read
                if records:
                    yield tp, records


def _lies_in(offset: int, intervals: Iterable[Interval]) -> bool:
    return any(start <= offset < end for start, end in intervals)
