"""The copies that a restart is about to make once more: they answer for groups until the newer ones have caught up with them.

    target   … 299 │ 300 … 999 │ 300 … 419 │          restart at 300, when the watermark was 1000
             kept    older       newer     ▲
                     copies      copies    the copy goes on here, with source offset 420

If nothing more came from the source, records 420 … 999 would be read from the older copies alone. So a group at 350 goes on at the older
copy of 350, and reads 300 … 349 again after it; one at 1000, which has read all the older copies, goes on at the end. When the watermark
has passed 1000 the newer copies answer. Should the newer ones lack some (a gap was accepted, a record was passed over), the older ones of
those are the only ones, and the older copies answer for all that lies in front of the last such offset, for good:

    older    300 … 999                                 500 … 599 expired on the source before they were copied once more
    newer    300 … 499, 600 … 1000                     below 600 the older copies answer, from 600 on the newer ones

Pure.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from kafka_mirror.formats.offsets.intervals import Interval
from kafka_mirror.formats.offsets.map import OffsetMap


@dataclass(frozen=True)
class OlderCopies:
    """What restarts left on the target: copies of source offsets in `[start, end)` that newer ones stand after.

    `offset_map` is the map from before the restart at source offset `restarted`, until the watermark has passed `end`; then None. In front
    of `lacking` not all were copied once more, so there the partition's own map leads to the older copies.
    """

    start: int
    end: int
    restarted: int
    lacking: int = 0
    offset_map: OffsetMap | None = None

    def count_read_again(self, group: int, copied: int) -> int | None:
        """How many records a group at a source offset reads again, at most, if the older copies answer for it: newer ones of what it may
        have read stand after them. None if the newer ones answer. `copied` is the source offset of the record that the answer leads to,
        or, where the map is thinned, of the one in front of it."""
        if copied < self.lacking:
            return max(group - self.start, 0)
        waits = self.offset_map is not None and self.restarted <= max(group, copied) and group < self.end
        return max(group - self.restarted, 0) if waits else None


@dataclass(frozen=True)
class Restart:
    """A restart at a source offset, when the watermark was `reached`. `target_end`: where what is left on the target ends, if it lost
    records. `behind_others`: in front of the first record of the map stand others that are to be read as well."""

    offset: int
    reached: int
    target_end: int | None = None
    behind_others: bool = False


def older_copies(former_map: OffsetMap, before: OlderCopies | None, restart: Restart) -> OlderCopies | None:
    """What a restart leaves of the copies that answered until then: those of the `former_map`, or, while an earlier restart has not caught
    up, those that `before` it answered."""
    start, reached = restart.offset, restart.reached
    restarted = first = start
    lacking, newest = 0, former_map
    waiting = before is not None and before.offset_map is not None
    if before is not None:
        first = min(start, before.start)
        lacking = before.lacking if start > before.start else 0
        if before.offset_map is not None:
            former_map, reached, restarted = before.offset_map, max(reached, before.end), min(start, before.restarted)
    cut = former_map
    if restart.target_end is not None:
        cut = _cut_map(former_map, before, restart.target_end)
        lost = (offset_map.source_of(restart.target_end) for offset_map in (former_map, newest))
        if any(first_lost is not None and first_lost < start for first_lost in lost):
            lacking = max(lacking, start)
    if not cut.runs and not cut.thinned_behind and restart.target_end is not None:
        return None  # nothing is left
    if restart.behind_others:
        cut = cut.with_unknown_front()
    end = reached if cut.thinned_behind else min(cut.source_end, reached)
    if before is not None:
        end = max(end, before.end)
    if waiting or lacking or start < end:
        return OlderCopies(first, end, restarted, lacking, cut)
    return before


def settle(offset_map: OffsetMap, older: OlderCopies, watermark: int, skipped: Iterable[Interval]) -> tuple[OffsetMap, OlderCopies]:
    """The partition's map, and what is left of the older copies, once the watermark has passed them. `skipped` are the source offsets that
    were passed over without being copied."""
    former_map = older.offset_map
    if former_map is None or watermark < older.end:
        return offset_map, older
    passed_over = (min(end, older.end) for start, end in skipped if end > older.restarted and start < older.end)
    lacking = max(older.lacking, *passed_over, 0)
    before_gap = former_map.cut_before(lacking)
    if not before_gap.thinned_behind:
        lacking = min(lacking, before_gap.source_end)  # of what lies after it newer copies alone may stand there
    if lacking <= older.restarted:
        lacking = min(lacking, older.lacking)
    settled = replace(older, lacking=lacking, offset_map=None)
    return (_join(former_map.cut_before(lacking), offset_map.cut_since(lacking)) if lacking else offset_map), settled


def _cut_map(former_map: OffsetMap, before: OlderCopies | None, target_end: int) -> OffsetMap:
    """The map of what is left in front of a position of the target. Where newer copies are lost, older ones that no map has any more are
    left of the same records, so it is thinned after those in front of them."""
    lost = former_map.source_of(target_end)
    if before is None or lost is None or lost >= before.end:
        return former_map.cut_before_target(target_end)
    remaining = former_map.cut_before(before.start).cut_before_target(target_end)
    return remaining.with_mark(remaining.target_end < target_end)


def _join(older: OffsetMap, newer: OffsetMap) -> OffsetMap:
    if not newer.runs:
        return older.with_mark(older.thinned_behind or newer.thinned_behind)
    joined = older.cut_before_target(newer.runs[0].target).with_runs(newer.runs)
    return joined.with_mark(newer.thinned_behind)
