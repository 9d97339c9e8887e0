"""How fast a flow copies and its source grows, and when it will have caught up. Pure arithmetic over samples of the running totals."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_mirror.formats.offsets.partition import TopicPartition

WINDOW_SECONDS = 300.0
"""Over how long rates are measured at least, once there are samples of so long a time: several runs of the usual copy."""
_SAMPLES = 6
_INTERVALS = 2
"""How many copy intervals ago the source may have had what is copied now if a flow keeps up; less is no time to judge by."""

UNKNOWN_LAG = "unknown, as is how much is missing"
NOT_YET_MEASURED = "not measured yet"
KEEPS_UP = "the flow keeps up"
NOTHING_COPIED = "nothing was copied in the last {seconds:.0f} s"
TOO_SLOW = "the source grows at least as fast as the flow copies"


class Totals(NamedTuple):
    """The running totals of one partition: records and bytes copied, the watermark (or where a decision leads that the next run acts on),
    and the source's end (None: unknown)."""

    records: int
    bytes: int
    watermark: int
    end: int | None


@dataclass(frozen=True)
class Sample:
    """The totals of all partitions at one moment (Unix seconds)."""

    time: float
    totals: Mapping[TopicPartition, Totals]


@dataclass
class Samples:
    """Samples of one flow, the oldest first, spaced so that a few of them cover the window."""

    window: float = WINDOW_SECONDS
    samples: list[Sample] = field(default_factory=list)

    def add(self, sample: Sample) -> None:
        """Keeps the sample, in place of the newest one if that is not old enough to stand for itself. One of an earlier time (a clock that
        was set back) begins a new series, and so does one with an earlier watermark (a partition is copied again)."""
        if self.samples and (sample.time <= self.samples[-1].time or _went_back(self.samples[-1].totals, sample.totals)):
            self.samples = []
        if len(self.samples) > 1 and sample.time - self.samples[-2].time < self.window / (_SAMPLES - 1):
            self.samples.pop()
        self.samples.append(sample)
        while len(self.samples) > 2 and sample.time - self.samples[1].time >= self.window:
            self.samples.pop(0)


@dataclass(frozen=True)
class Throughput:
    """Means per second over the last `seconds`; None where that is not known. `source_records` is how fast the source grows: its
    offsets, counted as records in the measure in which those that were copied held records."""

    seconds: float = 0.0
    records: float | None = None
    bytes: float | None = None
    source_records: float | None = None


NOT_MEASURED = Throughput()


@dataclass(frozen=True)
class CatchUp:
    """In how many seconds everything will be copied, if flow and source go on as in the last minutes.

    0: it is. None: not known. Infinity: never. `reason` says why it is not a plain number. Partitions that wait for a person (`waiting`)
    do not count.
    """

    seconds: float | None = None
    reason: str = NOT_YET_MEASURED
    waiting: int = 0

    @property
    def keeps_up(self) -> bool:
        """Whether nothing is missing but what the flow copies next."""
        return self.seconds == 0 or self.reason == KEEPS_UP


def throughput(samples: Sequence[Sample], partitions: Iterable[TopicPartition] | None = None) -> Throughput:
    """The rates of the partitions together (None: of all), between the oldest and the newest sample; of those alone that both have."""
    if len(samples) < 2:
        return NOT_MEASURED
    first, last = samples[0].totals, samples[-1].totals
    seconds = samples[-1].time - samples[0].time
    pairs = [(first[tp], last[tp]) for tp in (last if partitions is None else partitions) if tp in first and tp in last]
    if not pairs:
        return Throughput(seconds)
    ends = [(old.end, new.end) for old, new in pairs if old.end is not None and new.end is not None]
    records = sum(max(new.records - old.records, 0) for old, new in pairs)
    advance = sum(max(new.watermark - old.watermark, 0) for old, new in pairs)
    records_an_offset = min(records / advance, 1.0) if advance else 1.0  # the rest are markers, and what was aborted
    return Throughput(
        seconds,
        records / seconds,
        sum(max(new.bytes - old.bytes, 0) for old, new in pairs) / seconds,
        records_an_offset * sum(max(new - old, 0) for old, new in ends) / seconds if ends else None,
    )


def catch_up(
    samples: Sequence[Sample],
    moving: Collection[TopicPartition],
    lag: int | None,
    interval: float,
    waiting: int = 0,
    *,
    old: Collection[TopicPartition] | None = None,
    lasting: float = 0.0,
) -> CatchUp:
    """When the `moving` partitions, which lag by `lag` offsets, will have caught up; `interval`: seconds between two copies, or
    turns of lanes that follow.

    `old` are those of them whose missing records are older than the flow's rhythm allows (None: any may be). A flow is said never to
    catch up only after it was so for `lasting` seconds, and two intervals.

    The mean rate tells how fast a flow can copy only while it copies all the time. One that keeps up is idle between its copies, and what
    is missing is the next one's.
    """
    if not lag:
        return CatchUp(waiting=waiting, reason=UNKNOWN_LAG) if lag is None else CatchUp(0.0, "", waiting)
    is_young = old is not None and not old
    if len(samples) < 2:
        return CatchUp(interval, KEEPS_UP, waiting) if is_young else CatchUp(waiting=waiting)
    seconds = samples[-1].time - samples[0].time
    gained = _advance(samples, moving) - _growth(samples, moving)
    at_this_rate = lag * seconds / gained if gained > 0 else math.inf
    if is_young or _keeps_up(samples, moving if old is None else old, interval):
        return CatchUp(min(at_this_rate, interval), KEEPS_UP, waiting)
    if math.isfinite(at_this_rate):
        return CatchUp(at_this_rate, "", waiting)
    if seconds < max(_INTERVALS * interval, lasting):
        return CatchUp(waiting=waiting)
    idle = _advance(samples, moving) == 0
    return CatchUp(math.inf, NOTHING_COPIED.format(seconds=seconds) if idle else TOO_SLOW, waiting)


def rhythm(interval: float, lag_limit: float | None) -> float:
    """How many seconds old what is missing may be while a flow is well: two copy intervals, or half of what may wait before an alert
    is sent, but no more than may."""
    return _INTERVALS * interval if lag_limit is None else min(max(_INTERVALS * interval, lag_limit / 2), lag_limit)


def estimated_bytes(offsets: int | None, *totals: tuple[int, int]) -> int | None:
    """About how many bytes these offsets hold, by the mean size of the first of the `totals` (records and bytes
    copied: of the partition, of its topic, of the flow) that has any record. None if none has."""
    if not offsets:
        return offsets
    counted = next(((records, size) for records, size in totals if records), None)
    return None if counted is None else offsets * counted[1] // counted[0]


def _keeps_up(samples: Sequence[Sample], moving: Collection[TopicPartition], interval: float) -> bool:
    """Whether all that the source had two intervals ago (or when it was looked at before, if that is longer ago) is copied. A flow that
    never copied does not keep up."""
    now = samples[-1]
    recent = [sample for sample in samples[:-1] if now.time - sample.time <= _INTERVALS * interval]
    before = (recent[0] if recent else samples[-2]).totals
    begun = [tp for tp in moving if tp in now.totals]
    return bool(begun) and all(
        now.totals[tp].watermark >= end for tp in begun if (end := before[tp].end if tp in before else now.totals[tp].end) is not None
    )


def _went_back(before: Mapping[TopicPartition, Totals], now: Mapping[TopicPartition, Totals]) -> bool:
    return any(tp in before and totals.watermark < before[tp].watermark for tp, totals in now.items())


def _advance(samples: Sequence[Sample], moving: Collection[TopicPartition]) -> int:
    first, last = samples[0].totals, samples[-1].totals
    return sum(max(last[tp].watermark - first[tp].watermark, 0) for tp in moving if tp in first and tp in last)


def _growth(samples: Sequence[Sample], moving: Collection[TopicPartition]) -> int:
    first, last = samples[0].totals, samples[-1].totals
    ends = [(first[tp].end, last[tp].end) for tp in moving if tp in first and tp in last]
    return sum(max(new - old, 0) for old, new in ends if old is not None and new is not None)
