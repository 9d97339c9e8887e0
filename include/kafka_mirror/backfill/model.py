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
from kafka_mirror.errors.words import first_lines
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
    begin, stop = (end if offset is None else max(log_start, min(offset, end)) for offset in (first, after))
    return OffsetInterval(*tp, begin, max(begin, stop), log_start, end)


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

    @property
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

    def add(self, other: "BackfillPart") -> "BackfillPart":
        """This slice and the one after it: what was copied adds up, what is left is the later one's."""
        return BackfillPart(
            other.offsets,
            self.records + other.records,
            self.bytes + other.bytes,
            other.owed,
            other.errors,
            tuple(dict.fromkeys((*self.notices, *other.notices))),
            tuple(dict.fromkeys((*self.not_had, *other.not_had))),
            {**self.into, **other.into},
        )


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


DONE, FAILED, MISSING = "done", "failed", "no result"
_MAX_SHOWN = 20


@dataclass(frozen=True)
class BackfillSummary:
    """One interval: its state (done or failed), the records that were copied, and what could not be had. `audit` is the audit's state, ''
    without one."""

    flow: str
    times: TimeInterval
    state: str
    live_records: int = 0
    history_records: int = 0
    owed: int = 0
    provisional: int = 0
    audit: str = ""
    errors: tuple[ErrorReport, ...] = ()
    not_had: tuple[str, ...] = ()

    @property
    def records(self) -> int:
        """Records copied, live and history."""
        return self.live_records + self.history_records

    def as_document(self) -> dict[str, Any]:
        """Plain JSON; at most 20 of the errors and of what could not be had, with their numbers."""
        shortened = replace(self, errors=self.errors[:_MAX_SHOWN], not_had=self.not_had[:_MAX_SHOWN])
        return {**to_document(shortened), "error_count": len(self.errors), "not_had_count": len(self.not_had)}

    def __str__(self) -> str:
        copied = f"the copy brought {self.live_records:,} records on its way past these times, and {self.history_records:,} came as history"
        owed = f"; {self.owed:,} offsets are left" if self.owed else ""
        audit = f"; audit: {self.audit}" if self.audit else ""
        provisional = f"; {self.provisional} partitions reach the end and are provisional" if self.provisional else ""
        return f"{self.flow} {show_times(self.times)}: {self.state}: {copied}{owed}{audit}{provisional}"


def summarize(
    resolution: Resolution, live: BackfillPart, history: BackfillPart, audit: str = "", errors: Iterable[ErrorReport] = ()
) -> BackfillSummary:
    """The summary of an interval. It failed if anything did, or if something is left."""
    all_errors = tuple(dict.fromkeys((*resolution.errors, *live.errors, *history.errors, *errors)))
    owed = live.owed + history.owed
    return BackfillSummary(
        flow=resolution.flow,
        times=resolution.times,
        state=FAILED if all_errors or owed else DONE,
        live_records=live.records,
        history_records=history.records,
        owed=owed,
        provisional=sum(interval.is_provisional for interval in resolution.intervals),
        audit=audit,
        errors=all_errors,
        not_had=(*resolution.not_had, *live.not_had, *history.not_had),
    )


@dataclass(frozen=True)
class RangeSummary:
    """A date range, interval by interval: what is reported once, when all of it has ended."""

    flow: str
    intervals: tuple[BackfillSummary, ...]

    @property
    def state(self) -> str:
        """`done` if every interval is."""
        return DONE if all(summary.state == DONE for summary in self.intervals) else FAILED

    @property
    def times(self) -> TimeInterval:
        """From the first interval to the last."""
        return TimeInterval(min(summary.times.start for summary in self.intervals), max(summary.times.end for summary in self.intervals))

    @property
    def headline(self) -> str:
        """One sentence."""
        good = sum(summary.state == DONE for summary in self.intervals)
        records = sum(summary.records for summary in self.intervals)
        return (
            f"Backfill of {self.flow} {show_times(self.times)}: {good} of {len(self.intervals)} intervals done, {records} records copied."
        )

    @property
    def detail(self) -> str:
        """What failed and what could not be had, a line each."""
        lines = [str(summary) for summary in self.intervals if summary.state != DONE]
        failed = dict.fromkeys(f"failed: {error}" for summary in self.intervals for error in summary.errors)
        not_had = dict.fromkeys(f"could not be had: {text}" for summary in self.intervals for text in summary.not_had)
        lines += first_lines(failed, most=_MAX_SHOWN, rest="more failed")
        lines += first_lines(not_had, most=_MAX_SHOWN, rest="more could not be had")
        return "\n".join(lines)

    def __str__(self) -> str:
        return "\n".join(filter(None, (self.headline, self.detail)))
