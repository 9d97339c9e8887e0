"""Where a consumer group of the source would go on on the target: exact where the ledger knows it, early where it does not, never late.

source   0 … 39 │ 40 … 71        72 … 79 │ 80 …
         not    │ mirrored               │ not yet there
         mirrored                watermark        end
answer   first  │ its record, or          the position after
         record │ one before it           the last mirrored record

Never late: if nothing more came from the source, the group would read every record that the target holds and that it has not read. Of a
record that stands there twice, for a restart copied it once more, one copy is enough; which one, `offsets.older_copies` tells.
"""

import hashlib
import json
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from kafka_mirror.formats.offsets.holes import EXACT_PLACE, Hole
from kafka_mirror.formats.offsets.intervals import cut_within, find_missing
from kafka_mirror.formats.offsets.map import OffsetMap, Run
from kafka_mirror.ledger.record import LedgerRecord, history_text

EXACT, EARLY, INCOMPLETE, NONE = "exact", "early", "incomplete", "none"
BY_MAP, BY_COUNT, BY_CHECKPOINT = "map", "count", "checkpoint"
"""What a position was found by: the ledger's offset map, counting beyond it, or a checkpoint that kept what was found before."""


@dataclass(frozen=True)
class TranslatedOffset:
    """A group's position on the target, and how good it is.

    `exact`: the position of the first record that the group has not read (or the end, for a group that has read everything mirrored), and
    from there on it reads nothing that it has read. `early`: some records are read again, none is missed. `incomplete`: the first record
    that is on the target; records that the group has not read lie before it and were never mirrored.
    `none`: there is no answer, and `reason` says why.
    """

    kind: str
    target: int | None = None
    at_most: int | None = None
    """No position after this one can be right; None if it is unknown."""
    reread: int | None = None
    """How many of the records on the target the group would read again, at most, one that stands there twice counted once; None if it
    knows."""
    reason: str = ""
    ahead: int = 0
    """Offsets of the source that the group has read and that the copy has yet to bring. They are nowhere on the target now, and after
    `target` when the copy goes on: a group that moves before they are there reads them again."""
    hole: Hole | None = field(default=None, compare=False)
    """Of an early answer: the pairs of the offset map in front and after, between which the right position can be counted."""
    by: str = BY_MAP
    is_over_budget: bool = False
    """Whether it is early only because counting would have cost more than it may."""
    place: str = field(default="", compare=False)
    """What a checkpoint notes of it, so that it need not be counted again (`holes.EXACT_PLACE`, `holes.UncountedHole`)."""

    @property
    def rereads_nothing(self) -> bool:
        """Whether the group would miss nothing and read nothing again."""
        return self.kind == EXACT or (self.kind == EARLY and self.reread == 0)


@dataclass(frozen=True)
class SourceState:
    """The source's side as it is now: the topic's id, the end of the partition (uncommitted records included) and its leader epoch."""

    topic_id: str
    end: int
    leader_epoch: int | None = None
    shared_end: int | None = None
    """Where the log departs from the one of which the offset was committed (KIP-320): past that the group has read none of it. None: it
    does not."""

    def read_until(self, committed: int) -> int:
        """Up to where a group has read the log as it is now."""
        return committed if self.shared_end is None else min(committed, self.shared_end)


_ANEW = "the topic was recreated on the source, and the mirror has not gone on with the new one"
_NOT_MIRRORED = "records before the first that was mirrored are not on the target"

Sync = Callable[[int], int | None]
"""What MirrorMaker 2's offset syncs say of a source offset: an offset of the target that is not late, −1 for one older than they know, None
where there are none."""


def no_answer(reason: str) -> TranslatedOffset:
    """Returns the answer for an offset that has none, with the reason."""
    return TranslatedOffset(NONE, reason=reason)


def translate(
    offset: int,
    record: LedgerRecord | None,
    source: SourceState | None,
    target_topic_id: str | None,
    *,
    leader_epoch: int | None = None,
    sync: Sync | None = None,
) -> TranslatedOffset:
    """The position on the target of a group that committed `offset` on the source.

    `record` is the ledger's, read after the group's offset; `target_topic_id` that of the remote topic as it is now. `leader_epoch` stands
    in the group's commit. `sync` fills in what the ledger does not know, where MirrorMaker 2 mirrored before.
    """
    if target_topic_id is None:
        return no_answer("there is no remote topic yet")
    offset = offset if source is None else source.read_until(offset)
    if source is not None and record is not None and not record.is_of(source.topic_id):
        return no_answer(_ANEW)
    if reason := _explain_other(source, offset, leader_epoch):
        return no_answer(reason)
    if record is not None and record.target_topic_id != target_topic_id:
        return no_answer("the remote topic was recreated, and the mirror has not gone on with the new one")
    if record is None:
        synced = sync(offset) if sync else None
        return no_answer("nothing of the partition was mirrored yet") if synced is None or synced < 0 else TranslatedOffset(EARLY, synced)
    answer = _read_again(offset, _translate_by_ledger(offset, record, sync), record)
    return replace(answer, ahead=max(offset - record.watermark, 0))


def translate_back(
    offset: int,
    record: LedgerRecord | None,
    source: SourceState | None,
    upstream_topic_id: str | None,
    *,
    leader_epoch: int | None = None,
) -> TranslatedOffset:
    """The position in an upstream topic of a group that read its mirror, and committed `offset` there (KIP-1098).

    The group runs on the cluster that was mirrored to, so `record` is the ledger of the other direction, and its map is read backwards;
    `source` is the partition of the mirror.
    """
    if record is None:
        return no_answer("the ledger of the other direction, on the source, does not have this partition")
    offset = offset if source is None else source.read_until(offset)
    if source is not None and source.topic_id != record.target_topic_id:
        return no_answer(_ANEW)
    if reason := _explain_other(source, offset, leader_epoch):
        return no_answer(reason)
    if upstream_topic_id is None or not record.is_of(upstream_topic_id):
        return no_answer("its upstream topic is not the one that was mirrored: it was deleted, or recreated")
    offset_map = record.offset_map
    if not offset_map.runs or offset < offset_map.runs[0].target:
        return _answer_in_front_back(offset, record)
    upstream = first_unread(offset, record)
    exact = offset_map.translate(upstream)
    if exact is not None and exact.target == offset:
        # What a restart makes once more may move the answer while it is made: then nothing is noted, and nothing is counted.
        return _answer_exactly_back(upstream, record, place=EXACT_PLACE if record.older is None else "")
    following = bisect_right(offset_map.runs, offset, key=lambda run: run.target)
    if record.older is None and _is_between_records(offset, following, record):
        return _answer_exactly_back(upstream, record)
    in_hole = record.older is None and following < len(offset_map.runs)
    return TranslatedOffset(EARLY, upstream, hole=_find_hole(*offset_map.runs[following - 1 : following + 1]) if in_hole else None)


def _is_between_records(position: int, following: int, record: LedgerRecord) -> bool:
    """Whether no copy stands between the end of the run in front of a position on the mirror and the run `following` it, or the end: only
    markers and what was aborted. A consumer that has read everything stands after the marker of the last transaction."""
    runs = record.offset_map.runs
    if position < runs[following - 1].target + runs[following - 1].length:
        return False
    if following < len(runs):
        return not runs[following].thinned
    return not record.offset_map.thinned_behind and record.offset_map.target_end == record.target_next


def _answer_exactly_back(unread: int, record: LedgerRecord, place: str = "") -> TranslatedOffset:
    """The exact answer of a reader of the mirror that has read all in front of a source offset. After the last record that was mirrored it
    is the watermark: there a reader of the topic itself stands, after the markers, where the next record may come."""
    position, offset_map = unread, record.offset_map
    if unread >= offset_map.source_end and not offset_map.thinned_behind and record.older is None:
        passed_over = (skip.start for skip in record.skipped if skip.end > unread)
        position = max(unread, min((record.watermark, *passed_over)))
    return TranslatedOffset(EXACT, position, position, 0, place=place)


def _answer_in_front_back(offset: int, record: LedgerRecord) -> TranslatedOffset:
    """Of a reader of the mirror that has read none of the records that the ledger knows: it goes on upstream where the copy began, if
    nothing else that was mirrored can stand in front of them."""
    runs = record.offset_map.runs
    others = runs[0].thinned if runs else record.offset_map.thinned_behind or offset > record.target_next
    history = record.find_history(record.target_topic, record.target_topic_id)
    if others or history is not None or record.older is not None:
        return no_answer("it lies below all that the ledger of the other direction knows")
    return TranslatedOffset(EXACT, record.live_start, record.live_start, 0)


def first_unread(position: int, record: LedgerRecord) -> int:
    """A source offset in front of which a reader of the mirror at this position has read all that was mirrored of both the older copies
    and the newer ones, where a restart made some again."""
    offset_map, older = record.offset_map, record.older
    if older is None:
        return offset_map.source_of(position) or 0
    newest = offset_map.find_read_end(position)
    newer = offset_map.translate(older.lacking)
    if newest <= older.lacking or (newer is not None and position < newer.target):
        return min(newest, older.start)
    before = newest if older.offset_map is None else older.offset_map.source_of(position)
    return min(newest, older.start if before is None else before)


def generation(record: LedgerRecord) -> str:
    """What a checkpoint has to share with another one to be compared with it: both topics, and the person's decision, if any, after which
    the offset map began again. 12 hexadecimal digits."""
    decided = [record.decided.decision, record.decided.when.isoformat()] if record.decided else []
    text = json.dumps([record.source_topic_id, record.target_topic_id, *decided])
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _explain_other(source: SourceState | None, offset: int, leader_epoch: int | None) -> str:
    """Why the offset is none of the partition that was mirrored; empty if it may be one."""
    if source is None:
        return "the source has no such partition"
    if offset > source.end:
        return f"it lies beyond the partition's end on the source, {source.end}"
    if leader_epoch is not None and source.leader_epoch is not None and leader_epoch > source.leader_epoch:
        return f"it is older than the topic: committed in leader epoch {leader_epoch}, and the partition is in {source.leader_epoch}"
    return ""


def _translate_by_ledger(offset: int, record: LedgerRecord, sync: Sync | None) -> TranslatedOffset:
    offset_map, watermark = record.group_map, record.watermark
    runs = offset_map.runs
    begun = min((*(start for start, _ in record.covered[:1]), *(run.source for run in runs[:1]), watermark))
    if runs and runs[0].thinned and offset < runs[0].source:
        # Others wrote in front of the first run that the ledger knows: MirrorMaker 2, from which the flow was taken over.
        return _translate_filled_in(offset, runs[0].target, sync) or TranslatedOffset(EARLY, 0, runs[0].target, runs[0].target)
    copied_end = watermark if record.older is None or record.older.offset_map is None else max(watermark, record.older.end)
    if not runs and offset_map.thinned_behind and offset < copied_end:  # from there on nothing stands on the target
        return _translate_filled_in(offset, record.target_next, sync) or TranslatedOffset(EARLY, 0, record.target_next, record.target_next)
    if offset < begun:
        first = runs[0].target if runs else record.target_next
        return _translate_filled_in(offset, first, sync) or _translate_in_front(offset, begun, first, record)
    if not runs:
        return TranslatedOffset(EXACT, record.target_next, record.target_next, 0)
    return _translate_in_map(offset, offset_map) if offset < offset_map.source_end else _translate_after(offset, record)


def _translate_after(offset: int, record: LedgerRecord) -> TranslatedOffset:
    """After the last record that the map knows: the end, if nothing stands in between that may be a copy of what it lacks."""
    after = record.group_map.target_end
    if record.older is not None and offset >= record.older.end:
        # It has read all the older copies, and of newer ones there are none of anything else yet.
        after = max(after, record.offset_map.target_end)
    if after == record.target_next:
        return TranslatedOffset(EXACT, after, after, 0)
    # A person's decision: what stands between may be older copies of what the group has not read.
    return TranslatedOffset(EARLY, after, record.target_next, record.target_next - after)


def _read_again(offset: int, answer: TranslatedOffset, record: LedgerRecord) -> TranslatedOffset:
    """The answer, where after it stand newer copies, of what the group has read too."""
    older, position = record.older, answer.target
    if older is None or position is None or (answer.kind == INCOMPLETE and offset < older.start):
        return answer
    if older.offset_map is not None and answer.hole is not None and answer.hole.source_end >= older.restarted:
        # What would be counted holds for as long as the older copies answer, and what a checkpoint notes for longer.
        answer = replace(answer, hole=None)
    source_offset = record.group_map.source_of(position)
    again = older.count_read_again(offset, offset if source_offset is None else source_offset - (answer.kind == EARLY))
    if again is None:
        return answer
    # Counting would find the older copy, and call exact what reads the newer ones again.
    return replace(answer, kind=EARLY, reread=None if answer.reread is None else answer.reread + again, reason="", hole=None, place="")


def _translate_in_front(offset: int, begun: int, first: int, record: LedgerRecord) -> TranslatedOffset:
    """In front of the `first` live record nothing is mirrored, but for history that a backfill wrote into the remote topic before."""
    written = record.find_history(record.target_topic, record.target_topic_id)
    places = [place for place in written.places if offset < place.end] if written is not None else []
    ahead = [(place.start, place.end) for place in places if place.target_end <= first]
    forgotten = written is not None and any(
        find_missing(part, ((place.start, place.end) for place in places)) for part in cut_within(written.intervals, offset, begun)
    )
    position = 0 if forgotten else min((first, *(place.target_start for place in places)))
    if not find_missing((offset, begun), ahead):
        return TranslatedOffset(EARLY, position, first, first - position)
    history = history_text(record, offset, begun)
    why = f"the copy began after it; of what it has not read, backfills wrote the offsets {history}" if history else _NOT_MIRRORED
    return TranslatedOffset(INCOMPLETE, position, first, first - position, why)


def _translate_filled_in(offset: int, first: int, sync: Sync | None) -> TranslatedOffset | None:
    """What offset syncs say of an offset in front of the `first` position that the ledger knows; None where they say nothing."""
    synced = sync(offset) if sync else None
    if synced is None or synced < 0:
        return None
    return TranslatedOffset(EARLY, min(synced, first), first, first - min(synced, first))


def _translate_in_map(offset: int, offsets: OffsetMap) -> TranslatedOffset:
    translated = offsets.translate(offset)
    assert translated is not None
    if translated.exact:
        return TranslatedOffset(EXACT, translated.target, translated.target, 0, place=EXACT_PLACE)
    preceding, following = offsets.find_around(offset)
    reread = min(offset - preceding.source - preceding.length, following.target - translated.target)
    return TranslatedOffset(EARLY, translated.target, following.target, reread, hole=_find_hole(preceding, following))


def _find_hole(preceding: Run, following: Run) -> Hole:
    """What the map does not know between two runs."""
    return Hole(preceding.source + preceding.length, preceding.target + preceding.length, following.source, following.target)
