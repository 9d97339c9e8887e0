"""How a lane writes history: by the protocol of the copy, to which a partition's history in a topic looks like a partition of its own.

    ledger record ── view ──►  what the protocol checks and moves on        watermark: the next offset that is missing
                  ◄─ stored ─  the same record, with what was written       target_*: the topic of the history

Data and ledger record are in one transaction, so what is written is known to be written; what is known to be written is not written again.
"""

import re
from dataclasses import replace
from itertools import count

from kafka_mirror.config.catalogue.mirror import REMOTE
from kafka_mirror.copy.plan.model import Range
from kafka_mirror.errors import (
    BatchNotUnpacked,
    ErrorReport,
    HistoryOutOfOrder,
    HistoryTooScattered,
    MirrorError,
    RecordRefused,
    TargetLostRecords,
    TargetRecreated,
    UnexplainedTarget,
)
from kafka_mirror.formats.offsets.intervals import find_missing, merge_intervals
from kafka_mirror.formats.offsets.map import OffsetMap
from kafka_mirror.kafka.model import Topic
from kafka_mirror.ledger.record import MAX_HISTORY_INTERVALS, History, HistoryTopic, LedgerRecord, merge_skips


def view_as_history(record: LedgerRecord, planned: Range, topic: Topic) -> tuple[LedgerRecord, Range]:
    """The record as the protocol sees it, and the first part of the planned offsets that is not written into the topic yet.

    Nothing of the live part is ever in it, wherever the plan believed that the live part begins.
    """
    written = _find_written(record, topic.name, topic.id)
    wanted = (planned.start, max(planned.start, min(planned.end, record.live_start)))
    start, end = next(iter(find_missing(wanted, written.intervals)), (wanted[1], wanted[1]))
    history_record = replace(
        record,
        watermark=start,
        leader_epoch=None,
        target_topic=topic.name,
        target_topic_id=topic.id,
        target_next=written.target_next,
        offset_map=OffsetMap(),
        covered=(),
        skipped=(),
        records=written.records,
        bytes=written.bytes,
        blocked=None,
        last=None,
        moved=None,  # into its own topic history may still go; the remote one is refused before
    )
    if topic.name == record.target_topic:
        history_record = replace(history_record, target_topic_id=record.target_topic_id)
    return history_record, replace(planned, start=start, end=end)


def refuse_part(record: LedgerRecord, part: Range, topic: Topic, in_time_order: bool) -> MirrorError | None:
    """Why a part that is missing may not be written now, if it may not."""
    if not part.offsets:
        return None
    intervals = _find_written(record, topic.name, topic.id).intervals
    tp, after = part.topic_partition, (part.start, part.end)
    newer = next((start for start, _ in intervals if start >= part.end), None)
    if in_time_order and newer is not None:
        return HistoryOutOfOrder(*tp, *after, topic.name, newer, another_topic(record, topic.name, part.end))
    if len(merge_intervals((*intervals, after))) > MAX_HISTORY_INTERVALS:
        return HistoryTooScattered(*tp, topic.name, len(intervals))
    return None


def another_topic(record: LedgerRecord, into: str, end: int) -> str:
    """Where history in front of the source offset `end` may go that is older than what stands in `into`: the first of `…-older`,
    `…-older-2` and so on that has nothing from there on. `{remote}` stands for the remote topic's name, as `--into` takes it."""
    first = f"history.{into}" if into == record.target_topic else _OLDER.sub("", into)
    behind = {history_topic.topic for history_topic in record.history_topics if any(start >= end for start, _ in history_topic.intervals)}
    names = (f"{first}-older{f'-{number}' if number > 1 else ''}" for number in count(1))
    return next(name for name in names if name not in behind).replace(record.target_topic, REMOTE)


def merge_history(record: LedgerRecord, history_record: LedgerRecord) -> LedgerRecord:
    """The partition's record after the protocol moved on what `view_as_history` gave it: the live part is as it was, but for the end of
    a remote topic that took the history."""
    same = replace(
        record,
        start=record.live_start,  # what is passed over below it must not move it, where it was not noted before
        source_cluster_id=history_record.source_cluster_id,
        target_cluster_id=history_record.target_cluster_id,
        decided=history_record.decided,
        writer=history_record.writer,
    )
    if not history_record.covered:
        return same
    [(start, end)] = history_record.covered
    runs = history_record.offset_map.runs
    place = History(
        start, end, history_record.target_topic, runs[0].target if runs else history_record.target_next, history_record.target_next
    )
    written = _find_written(record, history_record.target_topic, history_record.target_topic_id)
    written = written.extend(place, history_record.records - written.records, history_record.bytes - written.bytes)
    in_order = sorted((*record.skipped, *history_record.skipped), key=lambda skip: (skip.start, skip.end))
    return replace(
        same,
        target_next=history_record.target_next if history_record.target_topic == record.target_topic else record.target_next,
        skipped=merge_skips(in_order) if history_record.skipped else record.skipped,
        history=merge_intervals((*record.history, (start, end))),
        history_topics=(*(topic for topic in record.history_topics if topic.topic != written.topic), written),
    )


def add_history_advice(error: ErrorReport, into: str) -> ErrorReport:
    """The error of a lane with what a person does about it where it is about history: no decision does anything there."""
    if error.kind in _WRITE_AGAIN:
        step = (
            f"Let it go into another topic (--into, in Airflow the parameter into of the DAG backfill), or delete {into} if it holds "
            "nothing else: then it is written from its beginning."
        )
    elif error.kind in _REFUSED:
        step = "Remove the cause that is named, or let the backfill pass over such records (errors.tolerance=all); then run it again."
    else:
        return error
    return error.with_next(step)


_WRITE_AGAIN = (UnexplainedTarget, TargetLostRecords, TargetRecreated)
_REFUSED = (RecordRefused, BatchNotUnpacked)


_OLDER = re.compile(r"-older(-[0-9]+)?$")


def _find_written(record: LedgerRecord, topic: str, topic_id: str) -> HistoryTopic:
    """What was written into the topic. Into the remote topic the copy writes too, so its end is the copy's."""
    history_topic = record.find_history(topic, topic_id) or HistoryTopic(topic, topic_id, 0)
    return replace(history_topic, target_next=record.target_next) if topic == record.target_topic else history_topic
