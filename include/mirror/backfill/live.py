"""The live part of an interval: the copy, run until the watermarks have passed it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from mirror.backfill.model import Part, Resolution
from mirror.backfill.tiling import OffsetInterval, cut
from mirror.config import Flow
from mirror.copy.model import LaneResult
from mirror.errors import ErrorReport, NothingMoved, SourceRecreated, SourceTruncated, named_with
from mirror.formats.ledger import LedgerRecord
from mirror.kafka.connect import clusters
from mirror.offsets.intervals import Interval
from mirror.offsets.partition import TopicPartition
from mirror.plan.model import FIRST_SIGHT, Plan
from mirror.plan.run import survey
from mirror.report.publish import Published, publish
from mirror.report.verdict import verdict

Copy = Callable[[Plan], Sequence[LaneResult]]
"""Copies what a plan says, through Spark or in this process, within a run's budget."""

Records = Mapping[TopicPartition, LedgerRecord]

_OTHER_LOG = {SourceRecreated.__name__, SourceTruncated.__name__}


def live_slice(flow: Flow, resolution: Resolution, copy: Copy, dry_run: bool = False) -> Part:
    """One run of the copy for the partitions that have not passed the interval; none if all have. What is left is in `owed`.

    Partitions that the ledger does not know are begun as the copy begins them: until then nothing says what is live. Raises what concerns
    the whole flow.
    """
    wanted = resolution.by_partition()
    with named_with(flow.name), clusters(flow) as (source, target):
        found = survey(flow, source, target, dry_run)
    known = _watermarks(found.plan, found.ledger.records)
    planned = _behind(found.plan, wanted, known)
    parts = live_parts(wanted, found.plan, found.ledger.records)
    before = Part(
        offsets=sum(end - start for start, end in parts.values()),
        owed=_owed(parts, known),
        errors=planned.errors,
        notices=planned.notices,
        not_had=tuple(_passed_over(parts, found.ledger.records)),
    )
    if dry_run:
        return before
    if not planned.ranges:
        return _not_stuck(before)
    results = list(copy(planned))
    published = publish(flow, planned, results)
    judged = verdict(planned, results, published)
    parts |= _begun(wanted, planned, published)
    marks = {TopicPartition(mark.topic, mark.partition): mark.source_offset for mark in published.watermarks}
    return replace(
        before,
        offsets=sum(end - start for start, end in parts.values()),
        records=judged.records,
        bytes=judged.bytes,
        owed=_owed(parts, {**known, **marks}),
        errors=judged.errors,
        notices=judged.notices,
    )


def _not_stuck(part: Part) -> Part:
    """The part; with an error where something is left that no run of the copy would do, so that nobody waits for it for ever."""
    if not part.owed or part.errors:
        return part
    error = NothingMoved(
        f"{part.owed} offsets of the live part are left, and the copy has no work: their partitions are paused or have no leader.",
        next="See what the plan says of them: python -m mirror plan.",
    )
    return replace(part, errors=(error.report(),))


def live_parts(wanted: Mapping[TopicPartition, OffsetInterval], plan: Plan, records: Records) -> dict[TopicPartition, Interval]:
    """The live part of each interval; of a partition that the ledger does not know, by the start that is planned for it."""
    starts = planned_starts(plan) | {tp: record.live_start for tp, record in records.items()}
    return {tp: part for tp, each in wanted.items() if tp in starts and (part := cut(each, starts[tp]).live)[0] < part[1]}


def planned_starts(plan: Plan) -> dict[TopicPartition, int]:
    """Where partitions begin that the ledger does not know yet."""
    return {planned.topic_partition: planned.start for planned in plan.ranges if planned.reason == FIRST_SIGHT}


def _watermarks(plan: Plan, records: Records) -> dict[TopicPartition, int]:
    """How far the copy is, of the partitions where that counts the offsets of the log as it is now: not where the topic was created anew or
    truncated, nor where a decision leads back. There, a watermark past the interval says nothing about it."""
    other_log = {TopicPartition(error.topic or "", error.partition or 0) for error in plan.errors if error.code in _OTHER_LOG}
    starts = {planned.topic_partition: planned.start for planned in plan.ranges}
    return {
        tp: record.watermark
        for tp, record in records.items()
        if tp not in other_log and record.watermark <= starts.get(tp, record.watermark)
    }


def _behind(plan: Plan, wanted: Mapping[TopicPartition, OffsetInterval], watermarks: Mapping[TopicPartition, int]) -> Plan:
    """The plan of the partitions that have not passed their interval, and the errors that concern them."""
    owing = {tp for tp, each in wanted.items() if tp not in watermarks or watermarks[tp] < each.end}
    topics = {tp.topic for tp in owing}
    return replace(
        plan,
        ranges=tuple(planned for planned in plan.ranges if planned.topic_partition in owing),
        errors=tuple(error for error in plan.errors if _concerns(error, owing, topics)),
    )


def _concerns(error: ErrorReport, partitions: set[TopicPartition], topics: set[str]) -> bool:
    if error.topic is None or error.partition is None:
        return bool(partitions) and (error.topic is None or error.topic in topics)
    return TopicPartition(error.topic, error.partition) in partitions


def _begun(wanted: Mapping[TopicPartition, OffsetInterval], plan: Plan, published: Published) -> dict[TopicPartition, Interval]:
    reached = {TopicPartition(mark.topic, mark.partition) for mark in published.watermarks}
    starts = {tp: start for tp, start in planned_starts(plan).items() if tp in reached}
    return {tp: part for tp, start in starts.items() if (part := cut(wanted[tp], start).live)[0] < part[1]}


def _owed(parts: Mapping[TopicPartition, Interval], watermarks: Mapping[TopicPartition, int]) -> int:
    return sum(max(0, end - max(start, watermarks.get(tp, start))) for tp, (start, end) in parts.items())


def _passed_over(parts: Mapping[TopicPartition, Interval], records: Records) -> list[str]:
    """What of the live part the copy passed over for good: a gap, a record that the target refused."""
    return [
        f"{tp}: of the offsets [{each.start}, {each.end}) {each.offsets} were passed over: {each.reason}"
        for tp, (start, end) in parts.items()
        if tp in records
        for each in records[tp].skipped
        if each.start < end and each.end > start
    ]
