"""The offset map of the opposite direction: where a reader of the copies goes on at the originals. Pure.

A run says which source offsets became which target offsets, and read the other way round it says the same. What a map does not know, it
does not know in either direction: a hole stays a hole, and an answer from it is early, never late:

    forward    10 11 12 → 5 6 7 │ 30 31 → 14 15, thinned       translate(21) = 8
    opposite   5 6 7 → 10 11 12 │ 14 15 → 30 31, thinned       translate(9) = 13, the first source offset that may be unread there

Three things the runs do not tell of: history that a backfill wrote after newer records, copies that a restart made once more, and source
offsets that were passed over. A reader in front of the first two has not read what lies further back on the source. So the opposite map
forgets the runs beside them, which makes a hole, and has a hole around the third.
"""

from collections.abc import Iterator

from kafka_mirror.formats.offsets.intervals import Run
from kafka_mirror.formats.offsets.map import OffsetMap
from kafka_mirror.groups.translation import first_unread
from kafka_mirror.ledger.record import LedgerRecord


def opposite_map(record: LedgerRecord, since: int = 0) -> OffsetMap:
    """The map from target offsets to source offsets, of the target offsets from `since` on: another map knows those in front."""
    runs: list[Run] = []
    floor = 0 if since else find_history_end(record)
    before, has_hole = None, floor > 0
    for part in _list_parts(record):
        has_hole |= part.thinned or (before is not None and _is_hole(record, before.source + before.length, part.source))
        before = part
        if part.target + part.length <= since:
            has_hole = False
        elif part.target + part.length <= floor or not _is_told(record, part):
            has_hole = True
        else:
            begins = max(since, floor, part.target)
            ahead = begins - part.target
            thinned = (has_hole and not ahead) or (ahead > 0 and begins == floor)
            runs.append(Run(begins, part.source + ahead, part.length - ahead, thinned))
            has_hole = False
    end = before.source + before.length if before is not None else record.live_start
    after = record.offset_map.thinned_behind or has_hole or _is_hole(record, end, record.watermark) or floor > record.offset_map.target_end
    return OffsetMap().extended(runs).with_mark(after)


def find_history_end(record: LedgerRecord) -> int:
    """The end of what backfills wrote into the remote topic; 0 if they wrote nothing."""
    written = record.written_into(record.target_topic, record.target_topic_id)
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


def _is_told(record: LedgerRecord, part: Run) -> bool:
    """Whether a reader at any target offset of the part, or right after it, has read all in front of the source offset that it tells."""
    older, end = record.older, part.source + part.length
    if older is None:
        return True
    is_copied_once = end <= older.start or part.source >= older.end
    return is_copied_once and all(first_unread(part.target + ahead, record) >= part.source + ahead for ahead in (0, part.length))
