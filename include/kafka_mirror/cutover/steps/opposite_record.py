"""What the opposite flow's ledger says of a partition once a wave is open: the record of its own direction, read the other way round. Pure.

                      copied from here │ a cutover moved the producers      copied from here on
    source (east)     ─────────────────┤ watermark           ▲ target_next  ◄── appended by the way back
    target (west)     ─────────────────┤ target_next         ▼ watermark    ◄── written by producers

A topic that keeps its name goes on after the copied records, which end at the same record on both sides. So the way back never copies what
came from the source, and the first direction, when the topic moves back, never what came from the way back.

Its offset map leads a reader of the copies to where it goes on at the originals. A run says which source offsets became which target
offsets, and read the other way round it says the same. What a map does not know, it does not know in either direction: a hole stays a hole,
and an answer from it is early, never late:

    forward    10 11 12 → 5 6 7 │ 30 31 → 14 15, thinned       translate(21) = 8
    opposite   5 6 7 → 10 11 12 │ 14 15 → 30 31, thinned       translate(9) = 13, the first source offset that may be unread there

Three things the runs do not tell of: history that a backfill wrote after newer records, copies that a restart made once more, and source
offsets that were passed over. A reader in front of the first two has not read what lies further back on the source. So the opposite map
forgets the runs beside them, which makes a hole, and has a hole around the third.
"""

from collections.abc import Iterator
from dataclasses import replace

from kafka_mirror.formats.offsets.intervals import Run, merge_intervals
from kafka_mirror.formats.offsets.map import OffsetMap
from kafka_mirror.groups.translation import first_unread
from kafka_mirror.ledger.apply_decisions import caught_up
from kafka_mirror.ledger.control_records import RETURNED
from kafka_mirror.ledger.record import Decided, LedgerRecord, Writer


def make_opposite_record(
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
    is_same = before is not None and (before.source_topic_id, before.target_topic_id) == (record.target_topic_id, record.source_topic_id)
    ours = before if is_same else None
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
        offset_map=make_opposite_map(record),
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
    if not _is_untouched(record, ours):
        return opposite
    # The map from before the direction changed, and what flowed back since.
    former, covered = ours.offset_map, ours.covered
    back = make_opposite_map(record, since=former.source_end)
    joined = former.with_runs(back.runs).with_mark(back.thinned_behind or (not back.runs and former.thinned_behind))
    if covered and all(skip.end <= former.target_end for skip in record.skipped):
        covered = merge_intervals((*covered, (ours.watermark, opposite.watermark)))
    return caught_up(replace(opposite, offset_map=joined, covered=covered, older=ours.older))


def _is_untouched(record: LedgerRecord, before: LedgerRecord) -> bool:
    """Whether all that happened since the direction last changed is that records were copied: no person decided anything, and no backfill
    wrote history into the remote topic. Then the map from before that still holds."""
    is_decided = record.decided is None or record.decided.decision != RETURNED
    return not is_decided and record.older is None and _find_history_end(record) <= before.watermark


def _end_of_copied(record: LedgerRecord) -> int:
    """The source offset directly after the last record that was copied, where nothing but markers stands between it and the watermark. So a
    reader that has read all gets its very place."""
    offset_map = record.offset_map
    is_known = record.older is None and not make_opposite_map(record).thinned_behind and offset_map.runs
    return offset_map.source_end if is_known else record.watermark


def make_opposite_map(record: LedgerRecord, since: int = 0) -> OffsetMap:
    """The map from target offsets to source offsets, of the target offsets from `since` on: another map knows those in front."""
    runs: list[Run] = []
    floor = 0 if since else _find_history_end(record)
    before, has_hole = None, floor > 0
    for part in _list_parts(record):
        has_hole |= part.thinned or (before is not None and _is_hole(record, before.source + before.length, part.source))
        before = part
        if part.target + part.length <= since:
            has_hole = False
        elif part.target + part.length <= floor or not _is_true(record, part):
            has_hole = True
        else:
            begins = max(since, floor, part.target)
            ahead = begins - part.target
            thinned = (has_hole and not ahead) or (ahead > 0 and begins == floor)
            runs.append(Run(begins, part.source + ahead, part.length - ahead, thinned))
            has_hole = False
    end = before.source + before.length if before is not None else record.live_start
    after = record.offset_map.thinned_behind or has_hole or _is_hole(record, end, record.watermark) or floor > record.offset_map.target_end
    return OffsetMap().with_runs(runs).with_mark(after)


def _find_history_end(record: LedgerRecord) -> int:
    """The end of what backfills wrote into the remote topic; 0 if they wrote nothing."""
    written = record.find_history(record.target_topic, record.target_topic_id)
    return written.target_next if written is not None else 0


def _list_parts(record: LedgerRecord) -> Iterator[Run]:
    """The runs, cut where older copies that a restart made once more begin and end."""
    older = record.older
    places = sorted({older.start, older.restarted, older.lacking, older.end}) if older is not None else []
    for run in record.offset_map.runs:
        end, thinned, begin = run.source + run.length, run.thinned, run.source
        for place in (*(place for place in places if run.source < place < end), end):
            yield Run(begin, run.target + begin - run.source, place - begin, thinned)
            begin, thinned = place, False


def _is_hole(record: LedgerRecord, start: int, end: int) -> bool:
    """Whether the source may have records between two runs, or after the last one, of which the target has no copy, or older ones."""
    if start >= end:
        return False
    return record.older is not None or any(skip.start < end and skip.end > start for skip in record.skipped)


def _is_true(record: LedgerRecord, part: Run) -> bool:
    """Whether a reader at any target offset of the part, or right after it, has read all in front of the source offset that it tells."""
    older, end = record.older, part.source + part.length
    if older is None:
        return True
    is_copied_once = end <= older.start or part.source >= older.end
    return is_copied_once and all(first_unread(part.target + ahead, record) >= part.source + ahead for ahead in (0, part.length))
