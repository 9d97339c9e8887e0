"""From times to offsets: pure arithmetic.

o(T) is the first offset whose record is stamped T or later. It never decreases with T, so the intervals of times that tile are intervals of
offsets that tile, whatever the order of the records' timestamps: each offset between the first and the last belongs to exactly one of them.
"""

from dataclasses import dataclass
from typing import NamedTuple

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


def offset_interval(tp: TopicPartition, first: int | None, after: int | None, log_start: int, readable_end: int) -> OffsetInterval:
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
