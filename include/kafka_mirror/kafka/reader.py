"""Reads ranges of partitions to the very end of each, and no record further, over a cluster's connections.

`RangeReader` reads in rounds: in each, every leader is asked once. A round is one question, so what breaks or moves meanwhile is asked
again, and each range goes on where it was. `BoundedReader` reads few records, or the first of many; `PartReader` reads large ranges for
callers that look at every record and keep none.
"""

import math
import time
from collections.abc import Callable, Generator, Iterator, Mapping, MutableMapping
from contextlib import closing
from itertools import chain, islice
from typing import Any, NamedTuple

from kafka_mirror.errors import ClusterUnreachable, DeadlineExceeded, KafkaFailure, LogMoved, MirrorError, StaleAnswer
from kafka_mirror.formats.batches.batch_records import ReadRecord, records_of, unpack_records
from kafka_mirror.formats.batches.compression import LARGEST_UNPACKED
from kafka_mirror.formats.batches.record_batch import RecordBatch
from kafka_mirror.formats.offsets.intervals import Interval
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.asked_cluster import AskedCluster
from kafka_mirror.kafka.broker_pool import BrokerPool, Leader
from kafka_mirror.kafka.connection_errors import LOAD_NEXT, Errors, collect_refusal, is_retriable
from kafka_mirror.kafka.fetch import Cause, FetchDispatch, FetchFault, FetchLimits, ask_for, group_by_leader
from kafka_mirror.kafka.fetch_response import FetchResponse
from kafka_mirror.kafka.fetched_partition import FetchedPartition

FETCH_BYTES = 8 * 1024 * 1024
_PAUSE_SECONDS = 0.05
_LOOK_SECONDS = 1.0
"""How long nothing may come before the cluster is asked again who leads."""
_RECORDS, _RECORD_BYTES = 10_000, 4 * 1024 * 1024
"""About how many records, or bytes of them, are handed over at once."""

Ranges = Mapping[TopicPartition, tuple[int, int]]
Batches = list[tuple[RecordBatch, bool]]
"""Each with whether a reader gets its records: markers, aborted and empty batches have none."""
Failed = Callable[[TopicPartition, MirrorError], None]
"""Takes what keeps a partition from being read to its end: ends it (`RangeReader.end`), or raises."""


class TimeIsUp(Exception):
    """Raised when a reading would take longer than it may in all."""


def _raise(_tp: TopicPartition, failure: MirrorError) -> None:
    raise failure


class RangeReader:
    """One reading of ranges `[start, end)`. A range that begins in front of its log is read from where that begins."""

    def __init__(
        self,
        cluster: AskedCluster,
        ranges: Ranges,
        limits: FetchLimits,
        failed: Failed = _raise,
        *,
        ends_at: float = math.inf,
        at_once: int | None = None,
    ) -> None:
        """`ends_at`: until when (time.monotonic) it may read; `at_once`: how many ranges are read at the same time."""
        self.cluster = cluster
        self.limits = limits
        self.failed = failed
        self.open: dict[TopicPartition, int] = {}
        """The ends of the ranges that are being read."""
        self._ranges = ranges
        self._ends_at = ends_at
        self._at_once = max(len(ranges) if at_once is None else at_once, 1)
        self._waiting = sorted(ranges)
        self._fetched: dict[TopicPartition, FetchedPartition] = {}
        self._refused: dict[str, int] = {}
        """The error codes of topics, as the newest metadata have them."""
        self._dispatch = FetchDispatch(LARGEST_UNPACKED)

    def end(self, tp: TopicPartition) -> None:
        """Reads no more of a range."""
        self.open.pop(tp, None)
        self._fetched.pop(tp, None)

    def read_batches(self) -> Iterator[tuple[TopicPartition, Batches]]:
        """What comes of each range, in order. Raises DeadlineExceeded when nothing comes, TimeIsUp, StaleAnswer when a broker's log ends in
        front of a range, and what concerns the whole cluster."""
        while self._waiting or self.open:
            if self._waiting and (room := self._at_once - len(self.open)) >= max(1, self._at_once // 2):
                self.open.update({tp: self._ranges[tp][1] for tp in self._waiting[:room]})
                del self._waiting[:room]
            came, answers = False, self.cluster.ask("reading records", self._fetch_round)
            self._fail_topics(passing=False)
            for tp, fault in chain.from_iterable(self._dispatch.take(answer, self._fetched) for answer in answers):
                if fault is not None:
                    self._heed(tp, fault)
                    continue
                if batches := self._fetched[tp].pop_all():
                    came = True
                    yield tp, batches
                    self._dispatch.hear()  # the caller may take its time
                self._end_if_read(tp)
            self._check(came)

    def handle_another_log(self, tp: TopicPartition, position: int, diverged_at: int | None) -> None:
        """The leader's log does not hold the position: it begins or ends elsewhere, or it is another one from `diverged_at` on."""
        if diverged_at is not None:
            raise StaleAnswer(tp, diverged_at, position)
        begins, ends = self.cluster.ask("listing offsets", lambda pool: self.cluster.find_bounds(pool, [tp]))
        if tp in ends and ends[tp].offset < position:
            raise StaleAnswer(tp, ends[tp].offset, position)
        if tp in begins and begins[tp].offset > position:
            self.go_on(tp, begins[tp].offset)

    def go_on(self, tp: TopicPartition, position: int) -> None:
        """Reads on from another position."""
        self._fetched[tp] = FetchedPartition(position, None, self._fetched[tp].leader)

    def begin_of(self, tp: TopicPartition, leader: Leader) -> tuple[int, int | None]:  # noqa: ARG002
        """Where a range is begun, and of which leader epoch the record in front of that is, if that is known."""
        return self._ranges[tp][0], None

    def report_refusal(self, tp: TopicPartition, code: int) -> MirrorError:
        """The error of ours for an error code of a partition or topic."""
        return self.cluster.errors.translate_code(code, f"reading {tp}", topic=tp.topic, operation="READ", what=f"topic {tp.topic}")

    # ------------------------------------------------------------ inside

    def _fetch_round(self, pool: BrokerPool) -> list[FetchResponse]:
        """Fetches once from every leader: a question."""
        leaders, self._refused = self.cluster.find_leaders(pool, self.open)
        for tp, leader in leaders.items():
            if tp not in self._fetched:
                self._fetched[tp] = FetchedPartition(*self.begin_of(tp, leader), leader)
            self._fetched[tp].leader = leader
        by_node = group_by_leader({tp: self._fetched[tp] for tp in leaders})
        answers: list[FetchResponse] = []
        for node, there in by_node.items():
            ask_for(pool.connect(node), there, self.limits, answers.append)
        for node in by_node:
            while pool.connect(node).in_flight:
                pool.connect(node).receive()
        for answer in answers:
            self._dispatch.check(answer)
        return answers

    def _heed(self, tp: TopicPartition, fault: FetchFault) -> None:
        match fault.cause:
            case Cause.OUT_OF_RANGE | Cause.DIVERGED:
                self.handle_another_log(tp, fault.position, fault.diverged_at)
            case Cause.LEADER_MOVED | Cause.PASSING:
                self.cluster.forget(tp.topic)
            case Cause.NO_BATCHES:
                self.failed(tp, report_damaged(tp, fault.position, fault.detail))
            case _:
                self.failed(tp, self.report_refusal(tp, fault.code))

    def _end_if_read(self, tp: TopicPartition) -> None:
        if (fetched := self._fetched.get(tp)) is None:
            return
        if fetched.closed is not None:
            self.failed(tp, report_damaged(tp, fetched.closed.end - 1, str(fetched.closed)))
        elif fetched.position >= self.open[tp]:
            self.end(tp)

    def _check(self, came: bool) -> None:
        now, seconds, heard_at = time.monotonic(), self.cluster.timeout, self._dispatch.heard_at
        is_silent = now > heard_at + seconds
        if is_silent or now > self._ends_at:
            self._fail_topics(passing=True)
            if self.open and not is_silent:
                raise TimeIsUp
            if self.open:
                alias = self.cluster.alias
                raise DeadlineExceeded(
                    f"Cluster '{alias}': nothing came for {seconds:g} s, and the end of {name_ranges(self.open)} was not reached.",
                    next=LOAD_NEXT,
                )
        if not came and self.open:
            if now > heard_at + _LOOK_SECONDS:
                for tp in self.open:
                    self.cluster.forget(tp.topic)
            time.sleep(_PAUSE_SECONDS)

    def _fail_topics(self, *, passing: bool) -> None:
        """Fails the partitions of topics that the cluster refuses; `passing`: also by what it calls an error that passes."""
        for tp in list(self.open):
            code = self._refused.get(tp.topic, 0)
            if tp in self.open and code and (passing or not is_retriable(code)):
                self.failed(tp, self.report_refusal(tp, code))


def records_within(tp: TopicPartition, batches: Batches, start: int, end: int) -> Iterator[list[ReadRecord]]:
    """The records of batches in `[start, end)`, some at a time. Raises KafkaFailure for a batch that cannot be read."""
    records: list[ReadRecord] = []
    size = 0
    for batch, is_read in batches:
        if not is_read:
            continue
        try:
            data = unpack_records(batch)
            size += len(data)
            read = records_of(tp, batch, data)
            if batch.base_offset < start or batch.next_offset > end:
                read = (record for record in read if start <= record.offset < end)
            while more := list(islice(read, _RECORDS)):
                records += more
                if len(records) >= _RECORDS or size >= _RECORD_BYTES:
                    yield records
                    records, size = [], 0
        except ValueError as failure:
            if records:
                yield records
            raise report_damaged(tp, batch.base_offset, str(failure)) from failure
    if records:
        yield records


def report_damaged(tp: TopicPartition, offset: int, why: str) -> KafkaFailure:
    """The error of a batch that cannot be read."""
    return KafkaFailure(
        f"The batch at {tp}@{offset} cannot be read: {why}. Nothing was written.",
        topic=tp.topic,
        partition=tp.partition,
        offset=offset,
        next="Look at the disk of the broker that leads the partition, and let an intact replica lead it. An audit leaves the batch out "
        "with --from and --to.",
    )


def name_ranges(ranges: Mapping[TopicPartition, Any]) -> str:
    """The first of some ranges, with their ends."""
    return ", ".join(f"{tp}@{end}" for tp, end in sorted(ranges.items())[:5])


PARTITIONS_AT_ONCE = 100
"""How many partitions a PartReader reads at the same time; the others wait for one of these to end."""
_PART_BYTES = 4 * 1024 * 1024
"""How much one answer has at most: what is fetched may be opened to many times as much."""
_FIRST_BYTES, _GROWTH = 64 * 1024, 4
"""How many bytes are fetched first to find one record of a partition, which mostly is enough, and how many times more next."""
_WAIT_MS = 10

Records = Generator[tuple[TopicPartition, list[ReadRecord]], None, None]


def _records(reading: RangeReader, ranges: Ranges) -> Records:
    for tp, batches in reading.read_batches():
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
        def note_failure(tp: TopicPartition, failure: MirrorError) -> None:
            if not collect_refusal(failure, errors):
                raise failure
            for of_topic in [open_tp for open_tp in reading.open if open_tp.topic == tp.topic]:
                reading.end(of_topic)

        wanted = {tp: (start, end) for tp, (start, end) in ranges.items() if start < end}
        limits = FetchLimits(FETCH_BYTES, partition_bytes, _WAIT_MS, self._committed)
        ends_at = time.monotonic() + seconds if in_all else math.inf
        with closing(AskedCluster(self._alias, self._settings, seconds)) as cluster:
            reading = RangeReader(cluster, wanted, limits, note_failure, ends_at=ends_at)
            try:
                yield from ((reading, tp, records) for tp, records in _records(reading, wanted))
            except TimeIsUp:
                raise DeadlineExceeded(
                    f"Cluster '{self._alias}': the end of {name_ranges(reading.open)} was not reached within {seconds:g} s.", next=LOAD_NEXT
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

    def handle_another_log(self, tp: TopicPartition, position: int, diverged_at: int | None) -> None:
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

    def read_batches(self, parts: Mapping[TopicPartition, Part], errors: MutableMapping[TopicPartition, MirrorError]) -> Records:
        """The visible records of each part in their order, some of one partition at a time; `skip` is not heeded.

        A partition that cannot be read to its end is in `errors`: LogMoved if its start is gone (also while it is read),
        AuthorizationRefused … Raises what concerns the whole cluster, DeadlineExceeded, and TimeIsUp at `ends_at`.
        """

        def note_failure(tp: TopicPartition, failure: MirrorError) -> None:
            errors[tp] = failure
            reading.end(tp)

        ranges = {tp: (part.start, part.end) for tp, part in parts.items() if part.start < part.end}
        with closing(AskedCluster(self.alias, self._settings, self._seconds)) as cluster:
            reading = _PartReading(cluster, ranges, self._limits, note_failure, ends_at=self._ends_at, at_once=PARTITIONS_AT_ONCE)
            for tp, read in _records(reading, ranges):
                excluded = parts[tp].excluded
                if excluded:
                    read = [record for record in read if not any(start <= record.offset < end for start, end in excluded)]
                if read:
                    yield tp, read
