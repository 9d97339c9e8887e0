"""The live part of an interval: the copy, run until the watermarks have passed it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from kafka_mirror.backfill.model import BackfillPart, OffsetInterval, Resolution, cut
from kafka_mirror.backfill.plan_view import PendingLedger, explain_absence, find_paused, partition_of, read_pending_ledger, select_errors
from kafka_mirror.config import Flow
from kafka_mirror.copy.model import LaneResult
from kafka_mirror.copy.plan.model import Plan
from kafka_mirror.copy.plan.run import PlanContext, survey
from kafka_mirror.copy.run_result import RunResult, describe_other_runs, publish_and_judge
from kafka_mirror.errors import NothingMoved, SourceRecreated, SourceTruncated, name_flow_in_errors
from kafka_mirror.formats.offsets.intervals import Interval
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.clusters import clusters
from kafka_mirror.ledger.record import LedgerRecord

Copy = Callable[[Plan], Sequence[LaneResult]]
"""Copies what a plan says, through Spark or in this process, within a run's budget."""

Wanted = Mapping[TopicPartition, OffsetInterval]


def live_slice(flow: Flow, resolution: Resolution, copy: Copy, dry_run: bool = False, run: str | None = None) -> BackfillPart:
    """One run of the copy for the partitions that have not passed the interval; none if all have. What is left is in `owed`.

    Partitions that the copy begins, for the first time or again, are begun as it begins them: until then nothing says what is live. What
    was paused since the times were resolved is in `not_had`. `run` is the run's name in the ledger: what another one copied is not its own.
    Raises what concerns the whole flow.
    """
    with name_flow_in_errors(flow.name), clusters(flow) as (source, target):
        context = survey(flow, source, target, dry_run)
    ledger = read_pending_ledger(context)
    # Where the topic was recreated or truncated, a watermark past the interval says nothing about it: it counts offsets of another log.
    other_log = {partition_of(error) for error in context.plan.errors if error.kind in (SourceRecreated, SourceTruncated)}
    watermarks = {tp: record.watermark for tp, record in ledger.records.items() if tp not in other_log and tp not in ledger.begun}
    wanted, not_had = _drop_paused(resolution.by_partition, context, ledger, watermarks)
    planned = _plan_lagging(context, wanted, ledger, watermarks)
    parts = _find_live_parts(wanted, ledger)
    before = BackfillPart(
        offsets=sum(end - start for start, end in parts.values()),
        owed=_count_owed(parts, watermarks),
        errors=planned.errors,
        notices=planned.notices,
        not_had=(*not_had, *_note_passed_over(parts, ledger.records)),
    )
    if dry_run:
        return before
    if not planned.ranges:
        if not before.owed or before.errors:
            return before
        # No run of the copy would do it, so none is waited for for ever.
        return replace(before, errors=(NothingMoved.behind_the_log(before.owed).report().with_flow(flow.name),))
    judged = publish_and_judge(flow, RunResult(planned, tuple(copy(planned))), run)
    marks = {TopicPartition(mark.topic, mark.partition): mark.source_offset for mark in judged.watermarks}
    return replace(
        before,
        records=judged.records,
        bytes=judged.bytes,
        owed=_count_owed(parts, {**watermarks, **marks}),
        errors=judged.errors,
        notices=(*judged.notices, *describe_other_runs(judged.copied_elsewhere)),
    )


def _drop_paused(
    wanted: Wanted, context: PlanContext, ledger: PendingLedger, watermarks: Mapping[TopicPartition, int]
) -> tuple[dict[TopicPartition, OffsetInterval], list[str]]:
    """The intervals of what is not paused, and what is said of the others as far as they are not copied."""
    left_out = find_paused(context, wanted)
    parts = _find_live_parts({tp: interval for tp, interval in wanted.items() if tp in left_out}, ledger)
    not_had = [left_out[tp] for tp, part in parts.items() if _count_owed({tp: part}, watermarks)]
    return {tp: interval for tp, interval in wanted.items() if tp not in left_out}, not_had


def _find_live_parts(wanted: Wanted, ledger: PendingLedger) -> dict[TopicPartition, Interval]:
    """The live part of each interval; all of it where nothing says yet where the copy of the partition begins."""
    starts = ledger.starts
    return {tp: part for tp, interval in wanted.items() if (part := cut(interval, starts.get(tp, interval.start)).live)[0] < part[1]}


def _plan_lagging(context: PlanContext, wanted: Wanted, ledger: PendingLedger, watermarks: Mapping[TopicPartition, int]) -> Plan:
    """The plan of the partitions that have not passed their interval, and the errors that concern them. One that the plan says nothing of
    has an error too."""
    owing = {tp for tp, interval in wanted.items() if tp not in watermarks or watermarks[tp] < interval.end}
    # Nothing of these times is in them, so the copy may begin them when it comes to them.
    unbegun = {tp for tp in owing if tp not in ledger.records and not wanted[tp].offsets}
    absent = sorted(tp for tp in owing if tp not in context.source or tp not in ledger.starts)
    errors = [*select_errors(context.plan, owing), *(error for tp in absent for error in explain_absence(context, tp))]
    return replace(
        context.plan,
        ranges=tuple(planned for planned in context.plan.ranges if planned.topic_partition in owing - unbegun),
        errors=tuple(dict.fromkeys(errors)),
    )


def _count_owed(parts: Mapping[TopicPartition, Interval], watermarks: Mapping[TopicPartition, int]) -> int:
    return sum(max(0, end - max(start, watermarks.get(tp, start))) for tp, (start, end) in parts.items())


def _note_passed_over(parts: Mapping[TopicPartition, Interval], records: Mapping[TopicPartition, LedgerRecord]) -> list[str]:
    """What of the live part the copy passed over for good: a gap, a record that the target refused."""
    return [
        f"{tp}: of the offsets [{skip.start}, {skip.end}) {skip.offsets} were passed over: {skip.reason}"
        for tp, (start, end) in parts.items()
        if tp in records
        for skip in records[tp].skipped
        if skip.start < end and skip.end > start
    ]
