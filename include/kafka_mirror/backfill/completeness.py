"""Which hours and days of a topic are complete on the target: over, copied to their last offset, and equal by the audit. Pure.

hours         09      10      11            an interval of times that was audited
offsets    0 ────► 120 ──► 160 ──► 300      all of it read on both sides, in each partition, and equal
complete      ✓       ✓       ✓             none, if a single partition of the topic is missing
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from kafka_mirror.audit.model import EQUAL, AuditResult, PartitionAudit
from kafka_mirror.backfill.model import Resolution, TimeInterval
from kafka_mirror.formats.offsets.intervals import Interval
from kafka_mirror.formats.offsets.partition import TopicPartition

HOURS, DAYS = "hours", "days"
_UNITS = {HOURS: (3_600_000, "%Y-%m-%dT%H"), DAYS: (86_400_000, "%Y-%m-%d")}
"""Milliseconds, and how its key is written: as Airflow's StartOfHourMapper and StartOfDayMapper write theirs."""


@dataclass(frozen=True)
class Period:
    """An hour or a day in UTC. `key` names it, such as 2026-11-21T10 or 2026-11-21."""

    key: str
    times: TimeInterval


@dataclass(frozen=True)
class Completeness:
    """What an audit of an interval says of its topics: `complete` has the audited offsets of each partition, `reasons` says of the other
    topics why it is unknown whether they are complete."""

    complete: Mapping[str, Mapping[int, Interval]]
    reasons: Mapping[str, str]


def list_periods(times: TimeInterval, units: Iterable[str], now: int) -> list[Period]:
    """The whole hours or days (`units`) inside an interval that are over by now (Unix milliseconds), in order."""
    periods = []
    for unit in units:
        length, key = _UNITS[unit]
        last = min(times.end, now)
        for start in range(-(-times.start // length) * length, last - length + 1, length):
            name = datetime.fromtimestamp(start / 1000, UTC).strftime(key)
            periods.append(Period(name, TimeInterval(start, start + length)))
    return sorted(periods, key=lambda period: (period.times.start, period.key))


def completeness(resolution: Resolution, audit: AuditResult, remote: Callable[[str], str]) -> Completeness:
    """Which topics of an interval are complete. `remote` gives the remote topic of a source topic: history that stands elsewhere is not
    complete there."""
    audited: dict[TopicPartition, list[PartitionAudit]] = {}
    for partition in audit.partitions:
        audited.setdefault(partition.topic_partition, []).append(partition)
    complete: dict[str, dict[int, Interval]] = {}
    reasons = {error.topic: error.message for error in resolution.errors if error.topic is not None}
    reasons |= {topic: f"{topic}: partitions are paused, or have no remote partition yet." for topic in resolution.absent}
    of_flow = next((error.message for error in (*resolution.errors, *audit.errors) if error.topic is None), None)
    for interval in resolution.intervals:
        why = of_flow or _find_unequal((interval.start, interval.end), audited.get(interval.topic_partition, []), remote(interval.topic))
        if why is not None:
            reasons.setdefault(interval.topic, f"{interval.topic_partition}: {why}")
        complete.setdefault(interval.topic, {})[interval.partition] = (interval.start, interval.end)
    return Completeness({topic: offsets for topic, offsets in complete.items() if topic not in reasons}, reasons)


def clip_offsets(inner: Mapping[int, Interval], outer: Mapping[int, Interval]) -> dict[int, Interval] | None:
    """The offsets of a period as far as they lie in the audited ones; None if partitions are missing.

    Both may end at the end of the log, which went on since the audit: what came after it was not audited.
    """
    if inner.keys() != outer.keys():
        return None
    clamp = {number: (max(start, outer[number][0]), min(end, outer[number][1])) for number, (start, end) in inner.items()}
    return {number: (min(start, end), end) for number, (start, end) in clamp.items()}


def describe_late(before: Mapping[int, Interval], now: Mapping[int, Interval]) -> str:
    """What came for a period after it was said to be complete, in words; empty if nothing did."""
    more = {number: end - before.get(number, (start, start))[1] for number, (start, end) in sorted(now.items())}
    return ", ".join(f"partition {number}: {count:,} offsets" for number, count in more.items() if count > 0)


def _find_unequal(wanted: Interval, audited: Iterable[PartitionAudit], remote: str) -> str | None:
    """Why the offsets that were asked for are not proven to be on the remote topic; None if they are."""
    start, end = wanted
    if start == end:
        return None
    parts = sorted(audited, key=lambda partition: partition.source)
    for part in parts:
        if part.state != EQUAL:
            return f"the audit calls it {part.state}."
        if part.left_out:
            return f"the audit left out {part.left_out[0].start} to {part.left_out[0].end}: {part.left_out[0].reason}"
        if part.remote != remote:
            return f"a part of it stands in {part.remote}."
        if part.source[0] <= start:
            start = max(start, part.source[1])
    return None if start >= end else f"the audit has not read offset {start}, which is not copied yet."
