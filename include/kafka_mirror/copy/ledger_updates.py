"""The next ledger record of a partition, from the last one and what a transaction did."""

from dataclasses import replace
from datetime import datetime

from kafka_mirror.copy.model import LaneTask, PartitionProgress
from kafka_mirror.copy.plan.model import Range
from kafka_mirror.errors import ErrorReport, KafkaFailure, MirrorError, TargetLostRecords
from kafka_mirror.formats.offsets.intervals import merge_intervals
from kafka_mirror.formats.offsets.map import OffsetMap
from kafka_mirror.formats.offsets.partition import NO_TOPIC_ID
from kafka_mirror.ledger.apply_decisions import caught_up, pass_over_offsets
from kafka_mirror.ledger.record import Blocked, LedgerRecord, SourceEnd, Writer, merge_skips


def first_record(task: LaneTask, planned: Range, target_topic_id: str, target_end: int, writer: Writer) -> LedgerRecord:
    """The record of a partition seen for the first time: its start is committed even when there is nothing to copy yet, for otherwise
    `latest` would be resolved again in every plan, and records in between would be skipped."""
    return LedgerRecord(
        watermark=planned.start,
        leader_epoch=planned.leader_epoch,
        source_topic_id=planned.topic_id,
        target_topic=task.remote_topics[planned.topic],
        target_topic_id=target_topic_id,
        target_next=target_end,
        source_cluster_id=task.source_cluster_id,
        target_cluster_id=task.target_cluster_id,
        lanes=task.lanes,
        offset_map=OffsetMap(),
        writer=writer,
        start=planned.start,
    )


def with_topic_id(record: LedgerRecord, topic_id: str) -> LedgerRecord:
    """The record with the id that its source topic has since the source was upgraded to Kafka 2.8, and had not before."""
    return record if topic_id == NO_TOPIC_ID else replace(record, source_topic_id=topic_id)


def skip_gap(record: LedgerRecord, skip_to: int, leader_epoch: int | None) -> LedgerRecord:
    """The record after source offsets that are gone for good were passed over (mirror.on.gap=skip-and-record)."""
    return pass_over_offsets(record, skip_to, "gap: the source no longer has these offsets", leader_epoch)


def advance_record(record: LedgerRecord, progress: PartitionProgress, leader_epoch: int | None) -> LedgerRecord:
    """The record after one transaction's progress in a range that was planned in the given leader epoch.

    The epoch stands for the watermark, not for the last record: a marker or an aborted record may lie between them, written by a newer
    leader. In the old epoch the source's log ends before it, so it would look truncated ever after.
    """
    epochs = [epoch for epoch in (record.leader_epoch, progress.leader_epoch, leader_epoch) if epoch is not None]
    moved = replace(
        record,
        watermark=progress.next_offset,
        leader_epoch=max(epochs, default=None),
        target_next=record.target_next if progress.target_next is None else progress.target_next,
        offset_map=record.offset_map.with_runs(progress.runs),
        covered=merge_intervals((*record.covered, (record.watermark, progress.next_offset))),
        records=record.records + progress.records,
        bytes=record.bytes + progress.bytes,
        skipped=merge_skips((*record.skipped, *progress.skipped)) if progress.skipped else record.skipped,
        blocked=record.blocked if record.blocked and record.blocked.offset >= progress.next_offset else None,
        last=progress.last or record.last,
    )
    return caught_up(moved)


def with_source_end(record: LedgerRecord, planned: Range, time: datetime | None) -> LedgerRecord:
    """The record with where the source ended when its range was planned, at `time`; None: the plan does not say when.

    The larger end stays, whatever their times: a plan may be copied late, and the clock of a host may be ahead.
    """
    noted, end = record.source_end, planned.end if planned.log_end is None else planned.log_end
    if time is None or (noted is not None and noted.offset > end):
        return record
    return replace(record, source_end=SourceEnd(end, time))


def mark_blocked(
    record: LedgerRecord,
    offset: int,
    error: ErrorReport,
    now: datetime,
    *,
    planned: datetime | None = None,
    limits: str = "",
    end: int | None = None,
) -> LedgerRecord:
    """The record with a note that the partition is stuck at `offset`, up to `end` if a whole batch holds it up: at which error, and under
    which `limits` of the remote topic; since when, if it was stuck there before. `planned`: when the run was planned that found it so."""
    before = record.blocked if record.blocked and record.blocked.offset == offset else None
    since, tries = (before.since, before.tries) if before else (now, 0)
    return replace(record, blocked=Blocked(offset, error.code, error.message, since, tries + 1, planned, limits, end))


def check_write_order(record: LedgerRecord, remote: str, progress: PartitionProgress) -> MirrorError | None:
    """Whether records were acknowledged in front of what was written before: then a leader without that has taken over since."""
    tp, expected = progress.source, record.target_next
    for run in progress.runs:
        if run.target < 0:
            return KafkaFailure(f"{tp}@{run.source}: the target took it and did not say where.", topic=tp.topic, partition=tp.partition)
        if run.target < expected:
            return TargetLostRecords(tp.topic, tp.partition, remote, expected, run.target)
        expected = run.target + run.length
    return None
