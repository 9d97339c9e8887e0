"""What a backfill is asked for, what its times come to in offsets, and what became of it: values for XCom and `--json`. Pure.

o(T) is the first offset whose record is stamped T or later. It never decreases with T, so the intervals of times that tile are intervals of
offsets that tile, whatever the order of the records' timestamps: each offset between the first and the last belongs to exactly one of them.

Times for people, and from people: ISO 8601, UTC unless they say otherwise.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import pendulum

from kafka_mirror.config.catalogue.values import milliseconds
from kafka_mirror.errors import ErrorReport, UsageError
from kafka_mirror.formats.documents import from_columns, from_document, to_columns, to_document
from kafka_mirror.formats.offsets.intervals import Interval
from kafka_mirror.formats.offsets.partition import TopicPartition


class TimeInterval(NamedTuple):
    """Times `[start, end)` in Unix milliseconds."""

    start: int
    end: int


@dataclass(frozen=True)
class OffsetInterval:
    """The offsets `[start, end)` of one source partition that a time interval comes to, as of when it was asked for."""

    topic: str
    partition: int
    start: int
    end: int
    log_start: int
    readable_end: int
    """The last stable offset, or the end of the log where uncommitted records are mirrored too."""

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition of the source."""
        return TopicPartition(self.topic, self.partition)

    @property
    def offsets(self) -> int:
        """How many offsets the interval has: an upper bound of its records."""
        return self.end - self.start

    @property
    def is_provisional(self) -> bool:
        """Whether it reaches the end of what can be read: records of its time may still come, so it is asked for again later."""
        return self.end == self.readable_end

    @property
    def begins_at_log_start(self) -> bool:
        """Whether records of its time may have been deleted by the source's retention."""
        return self.start == self.log_start > 0


def make_offset_interval(tp: TopicPartition, first: int | None, after: int | None, log_start: int, readable_end: int) -> OffsetInterval:
    """The interval between the first records of two times, None for a time after all records. Both ends lie in what can be read.

    `readable_end` must be older than the answers for the times: a record that came between would belong to no interval otherwise.
    """
    end = max(log_start, readable_end)
    begin = _clamp(first, log_start, end)
    return OffsetInterval(*tp, begin, max(begin, _clamp(after, log_start, end)), log_start, end)


def _clamp(offset: int | None, least: int, most: int) -> int:
    return most if offset is None else max(least, min(offset, most))


@dataclass(frozen=True)
class Cut:
    """An interval at the start of its partition in the ledger: `history` lies below, `live` from it on. Either may be empty."""

    history: Interval
    live: Interval


def cut(interval: OffsetInterval, live_start: int) -> Cut:
    """The two parts. Together they are the interval, whatever the start is."""
    start, end = interval.start, interval.end
    return Cut((min(start, live_start), min(end, live_start)), (max(start, live_start), max(end, live_start)))


IN_TIME_ORDER, ANY_ORDER = "time", "any"
"""Whether history of a partition is written only after older history, or in whatever order the backfills come."""


_COLUMNS = ("topic", "partition", "start", "end", "log_start", "readable_end")


@dataclass(frozen=True)
class BackfillRequest:
    """A time interval to bring to the target. `topics`: only these source topics (all of the flow's: none given).

    `into` names the topic for history (mirror.backfill.into), `order` is time or any, `accept_wild` lets an interval be empty because a
    wild timestamp jumps over it; what is None is as the configuration says. Without `history` nothing below the copy's start is written.
    """

    times: TimeInterval
    topics: tuple[str, ...] = ()
    into: str | None = None
    order: str | None = None
    accept_wild: bool | None = None
    history: bool = True


@dataclass(frozen=True)
class Resolution:
    """What a time interval comes to in offsets, partition by partition, as of when it was asked for. `errors` are of partitions that have
    no interval here, and `not_had` says which others have none; `absent` are the topics of those."""

    flow: str
    times: TimeInterval
    intervals: tuple[OffsetInterval, ...] = ()
    errors: tuple[ErrorReport, ...] = ()
    notices: tuple[str, ...] = ()
    not_had: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()

    def by_partition(self) -> dict[TopicPartition, OffsetInterval]:
        """The intervals by their partitions."""
        return {interval.topic_partition: interval for interval in self.intervals}

    @property
    def totals(self) -> dict[str, Any]:
        """What stands in XCom where the columns are too large."""
        return {
            "start": self.times.start,
            "end": self.times.end,
            "partitions": len(self.intervals),
            "offsets": sum(interval.offsets for interval in self.intervals),
            "provisional": sum(interval.is_provisional for interval in self.intervals),
            "errors": len(self.errors),
        }

    def __str__(self) -> str:
        totals = self.totals
        sentence = (
            f"{self.flow}: the times {show_times(self.times)} come to {totals['offsets']:,} offsets in {totals['partitions']:,} partitions"
        )
        if totals["provisional"]:
            sentence += f"; {totals['provisional']:,} of them reach the end of their log, where records of these times may still come"
        return f"{sentence}; {totals['errors']:,} partitions have no interval, with an error." if totals["errors"] else f"{sentence}."

    def as_document(self) -> dict[str, Any]:
        """Plain JSON, with a column for each field of the intervals."""
        return {**to_document(replace(self, intervals=())), "intervals": to_columns(_COLUMNS, self.intervals)}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "Resolution":
        """Reads the plain JSON that a resolution wrote."""
        intervals = from_columns(OffsetInterval, document["intervals"])
        return replace(from_document(cls, {**document, "intervals": []}), intervals=intervals)


@dataclass(frozen=True)
class BackfillPart:
    """What a backfill did, or would do, to one part of its interval: live or history.

    `offsets` are those of the part, `records` and `bytes` what this run copied of it, `owed` the offsets that are left. `not_had` says what
    cannot be had any more, or not in this way.
    """

    offsets: int = 0
    records: int = 0
    bytes: int = 0
    owed: int = 0
    errors: tuple[ErrorReport, ...] = ()
    notices: tuple[str, ...] = ()
    not_had: tuple[str, ...] = ()
    into: Mapping[str, str] = field(default_factory=dict)
    """For history: the topics that it goes to, by source topic."""

    def plus(self, other: "BackfillPart") -> "BackfillPart":
        """This slice and the one after it: what was copied adds up, what is left is the later one's."""
        return BackfillPart(
            other.offsets,
            self.records + other.records,
            self.bytes + other.bytes,
            other.owed,
            other.errors,
            _deduplicate((*self.notices, *other.notices)),
            _deduplicate((*self.not_had, *other.not_had)),
            {**self.into, **other.into},
        )


def _deduplicate(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


def time_interval(start: str, end: str) -> TimeInterval:
    """The times `[start, end)`. Raises UsageError for what is no time, or no interval."""
    try:
        times = TimeInterval(milliseconds(start), milliseconds(end))
    except ValueError as error:
        raise UsageError(
            f"The backfill's times cannot be used: {error}.", next="Times are ISO 8601, such as 2026-01-31 or …T12:00:00Z."
        ) from None
    if times.start >= times.end:
        raise UsageError(
            f"The backfill's times {show_times(times)} are no interval: it ends before it begins.", next="Times are [from, to)."
        )
    return times


def show_times(times: TimeInterval) -> str:
    """A time interval, such as [2026-11-20T00:00:00Z, 2026-11-21T00:00:00Z)."""
    return f"[{moment_of(times.start)}, {moment_of(times.end)})"


def moment_of(unix_milliseconds: int) -> str:
    """A time; beyond what a calendar takes, its number."""
    try:
        return pendulum.from_timestamp(unix_milliseconds / 1000).to_iso8601_string()
    except (ValueError, OverflowError):
        return f"{unix_milliseconds} ms"
