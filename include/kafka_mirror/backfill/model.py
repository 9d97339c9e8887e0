"""What a backfill is asked for, what the times come to, and what became of it: plain values that travel through XCom and `--json`.

Times for people, and from people: ISO 8601, UTC unless they say otherwise.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pendulum

from kafka_mirror.backfill.intervals import OffsetInterval, TimeInterval
from kafka_mirror.config.catalogue.per_topic import milliseconds
from kafka_mirror.errors import ErrorReport, UsageError
from kafka_mirror.formats.documents import from_columns, from_document, to_columns, to_document
from kafka_mirror.formats.offsets.partition import TopicPartition

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
            f"{self.flow}: the times {text_of(self.times)} come to {totals['offsets']:,} offsets in {totals['partitions']:,} partitions"
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
        raise UsageError(f"The backfill's times {text_of(times)} are no interval: it ends before it begins.", next="Times are [from, to).")
    return times


def text_of(times: TimeInterval) -> str:
    """A time interval, such as [2026-11-20T00:00:00Z, 2026-11-21T00:00:00Z)."""
    return f"[{moment_of(times.start)}, {moment_of(times.end)})"


def moment_of(unix_milliseconds: int) -> str:
    """A time; beyond what a calendar takes, its number."""
    try:
        return pendulum.from_timestamp(unix_milliseconds / 1000).to_iso8601_string()
    except (ValueError, OverflowError):
        return f"{unix_milliseconds} ms"
