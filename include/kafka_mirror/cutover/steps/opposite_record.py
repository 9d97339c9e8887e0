"""The ledger record with which a partition begins to flow the other way, where both clusters keep the topic's name. Pure.

                      copied from here │ a cutover moved the producers      copied from here on
    source (east)     ─────────────────┤ watermark           ▲ target_next  ◄── appended by the way back
    target (west)     ─────────────────┤ target_next         ▼ watermark    ◄── written by producers

What was copied ends at the same record on both sides, so the way back begins behind it on either. It never copies what came from the
source, and the first direction, when the partition moves back, never what came from the way back.
"""

from dataclasses import replace

from kafka_mirror.formats.offsets.intervals import merged
from kafka_mirror.formats.offsets.map import OffsetMap
from kafka_mirror.groups.opposite_map import find_history_end, opposite_map
from kafka_mirror.ledger.apply_decisions import caught_up
from kafka_mirror.ledger.control_records import RETURNED
from kafka_mirror.ledger.record import Decided, LedgerRecord, Writer


def opposite_record(
    record: LedgerRecord,
    before: LedgerRecord | None,
    *,
    topic: str,
    lanes: int,
    leader_epoch: int | None,
    decided: Decided,
    writer: Writer,
) -> LedgerRecord:
    """What the ledger of the opposite flow says of a partition once this `record` of its own is closed.

    `before`: what that ledger said of it until now; `topic`: the topic's name on the source, `leader_epoch` that of the partition on the
    target, which is the opposite flow's source. `lanes` are that flow's.
    """
    ours = before if before is not None and _is_same(before, record) else None
    joined = ours is not None and _is_untouched(record, ours)
    opposite = LedgerRecord(
        watermark=record.target_next,
        leader_epoch=leader_epoch,
        source_topic_id=record.target_topic_id,
        target_topic=topic,
        target_topic_id=record.source_topic_id,
        target_next=_end_of_copied(record),
        source_cluster_id=record.target_cluster_id,
        target_cluster_id=record.source_cluster_id,
        lanes=lanes,
        offset_map=opposite_map(record),
        writer=writer,
        decided=decided,
        # What lies below came from the other side, and is no history that a backfill could fill.
        start=0,
        earlier=before.totals if before is not None else (0, 0),
    )
    if ours is None:
        return opposite
    opposite = replace(
        opposite,
        start=ours.live_start,
        history=ours.history,
        history_topics=ours.history_topics,
        skipped=ours.skipped,
        covered=ours.covered,
    )
    if not joined:
        return opposite
    flowed_back = (ours.watermark, opposite.watermark)
    covered = merged((*ours.covered, flowed_back)) if ours.covered and not _skips(record, ours.offset_map.target_end) else ours.covered
    return caught_up(replace(opposite, offset_map=_joined(ours.offset_map, record), covered=covered, older=ours.older))


def _is_same(before: LedgerRecord, record: LedgerRecord) -> bool:
    """Whether both records are of the same two topics."""
    return (before.source_topic_id, before.target_topic_id) == (record.target_topic_id, record.source_topic_id)


def _is_untouched(record: LedgerRecord, before: LedgerRecord) -> bool:
    """Whether all that happened since the direction last changed is that records were copied: nobody decided anything, and no backfill
    wrote history into the remote topic. Then the map from before that still holds."""
    is_decided = record.decided is None or record.decided.decision != RETURNED
    return not is_decided and record.older is None and find_history_end(record) <= before.watermark


def _joined(former: OffsetMap, record: LedgerRecord) -> OffsetMap:
    """The map from before the direction changed, and what flowed back since."""
    back = opposite_map(record, since=former.source_end)
    return former.extended(back.runs).with_mark(back.thinned_behind or (not back.runs and former.thinned_behind))


def _skips(record: LedgerRecord, since: int) -> bool:
    return any(skip.end > since for skip in record.skipped)


def _end_of_copied(record: LedgerRecord) -> int:
    """The source offset right behind the last record that was copied, where nothing but markers stands between it and the watermark. So a
    reader that has read all is told its very place."""
    offset_map = record.offset_map
    is_known = record.older is None and not opposite_map(record).thinned_behind and offset_map.runs
    return offset_map.source_end if is_known else record.watermark
