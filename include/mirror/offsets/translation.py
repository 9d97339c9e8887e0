"""Where a consumer group of the source would go on on the target: exact where the ledger knows it, early where it does not, never late.

source   0 … 39 │ 40 … 71        72 … 79 │ 80 …
         not    │ mirrored               │ not yet there
         mirrored                watermark        end
answer   first  │ its record, or          the position behind
         record │ one before it           the last mirrored record
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace

from mirror.formats.ledger import LedgerRecord
from mirror.offsets.history_topics import history_said
from mirror.offsets.map import OffsetMap

EXACT, EARLY, INCOMPLETE, NONE = "exact", "early", "incomplete", "none"


@dataclass(frozen=True)
class TranslatedOffset:
    """A group's position on the target, and how good it is.

    `exact`: the very record (or the end, for a group that has read everything mirrored). `early`: some records are read again, none is
    missed. `incomplete`: the first record that is on the target; records that the group has not read lie before it and were never mirrored.
    `none`: there is no answer, and `reason` says why.
    """

    kind: str
    target: int | None = None
    at_most: int | None = None
    """No position behind this one can be right; None if nobody knows."""
    reread: int | None = None
    """How many of the records on the target the group would read again, at most; None if nobody knows."""
    reason: str = ""
    ahead: int = 0
    """Offsets of the source that the group has read and that the copy has yet to bring. They are nowhere on the target now, and behind
    `target` when the copy goes on: a group that moves before they are there reads them again."""


@dataclass(frozen=True)
class SourcePartition:
    """The source's side as it is now: the topic's id, the end of the partition (uncommitted records included) and its leader epoch."""

    topic_id: str
    end: int
    leader_epoch: int | None = None


_NOT_MIRRORED = "records before the first that was mirrored are not on the target"

Sync = Callable[[int], int | None]
"""What MirrorMaker 2's offset syncs say of a source offset: an offset of the target that is not late, −1 for one older than they know, None
where there are none."""


def none(reason: str) -> TranslatedOffset:
    """No answer."""
    return TranslatedOffset(NONE, reason=reason)


def translate(
    offset: int,
    record: LedgerRecord | None,
    source: SourcePartition | None,
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
        return none("there is no remote topic yet")
    if reason := _not_of(source, offset, leader_epoch, record.source_topic_id if record else None):
        return none(reason)
    if record is not None and record.target_topic_id != target_topic_id:
        return none("the remote topic was deleted and created anew, and the mirror has not gone on with the new one")
    if record is None:
        known = sync(offset) if sync else None
        return none("nothing of the partition was mirrored yet") if known is None or known < 0 else TranslatedOffset(EARLY, known)
    return replace(_by_ledger(offset, record, sync), ahead=max(offset - record.watermark, 0))


def translate_back(
    offset: int,
    record: LedgerRecord | None,
    source: SourcePartition | None,
    upstream_topic_id: str | None,
    *,
    leader_epoch: int | None = None,
) -> TranslatedOffset:
    """The position in an upstream topic of a group that read its mirror, and committed `offset` there (KIP-1098).

    The group runs on the cluster that was mirrored to, so `record` is the ledger of the other direction, and its map is read backwards;
    `source` is the partition of the mirror.
    """
    if record is None:
        return none("the ledger of the other direction, on the source, does not have this partition")
    if reason := _not_of(source, offset, leader_epoch, record.target_topic_id):
        return none(reason)
    if record.source_topic_id != upstream_topic_id:
        return none("its upstream topic is not the one that was mirrored: it was deleted, or created anew")
    runs = record.offset_map.runs
    if not runs or offset < runs[0].target:
        return none("it lies below all that the ledger of the other direction knows")
    upstream = record.offset_map.source_of(offset)
    assert upstream is not None
    exact = record.offset_map.translate(upstream)
    if exact is not None and exact.target == offset:
        return TranslatedOffset(EXACT, upstream, upstream, 0)
    return TranslatedOffset(EARLY, upstream)


def generation(record: LedgerRecord) -> str:
    """What a checkpoint has to share with another one to be compared with it: both topics, and the person's decision, if any, after which
    the offset map began anew. 12 hexadecimal digits."""
    decided = [record.decided.decision, record.decided.when.isoformat()] if record.decided else []
    text = json.dumps([record.source_topic_id, record.target_topic_id, *decided])
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _not_of(source: SourcePartition | None, offset: int, leader_epoch: int | None, topic_id: str | None) -> str:
    """Why the offset is none of the partition that was mirrored; empty if it may be one."""
    if source is None:
        return "the source has no such partition"
    if topic_id not in (None, source.topic_id):
        return "the topic was deleted and created anew on the source, and the mirror has not gone on with the new one"
    if offset > source.end:
        return f"it lies beyond the partition's end on the source, {source.end}"
    if leader_epoch is not None and source.leader_epoch is not None and leader_epoch > source.leader_epoch:
        return f"it is older than the topic: committed in leader epoch {leader_epoch}, and the partition is in {source.leader_epoch}"
    return ""


def _by_ledger(offset: int, record: LedgerRecord, sync: Sync | None) -> TranslatedOffset:
    runs = record.offset_map.runs
    begun = min((*(start for start, _ in record.covered[:1]), *(run.source for run in runs[:1]), record.watermark))
    if runs and runs[0].thinned and offset < runs[0].source:
        # Others wrote in front of the first run that the ledger knows: MirrorMaker 2, from which the flow was taken over.
        return _filled_in(offset, runs[0].target, sync) or TranslatedOffset(EARLY, 0, runs[0].target, runs[0].target)
    if not runs and record.is_unmapped_at_its_end and offset < record.watermark:
        return _filled_in(offset, record.target_next, sync) or TranslatedOffset(EARLY, 0, record.target_next, record.target_next)
    if offset < begun:
        first = runs[0].target if runs else record.target_next
        return _filled_in(offset, first, sync) or TranslatedOffset(INCOMPLETE, first, first, 0, _not_mirrored(offset, begun, record))
    if not runs:
        return TranslatedOffset(EXACT, record.target_next, record.target_next, 0)
    behind = runs[-1].target + runs[-1].length
    if offset < runs[-1].source + runs[-1].length:
        return _in_map(offset, record.offset_map)
    if behind == record.target_next:
        return TranslatedOffset(EXACT, behind, behind, 0)
    # A person's decision: what stands between may be older copies of what the group has not read.
    return TranslatedOffset(EARLY, behind, record.target_next, record.target_next - behind)


def _not_mirrored(offset: int, begun: int, record: LedgerRecord) -> str:
    written = history_said(record, offset, begun)
    return f"the copy began behind it; of what it has not read, backfills wrote the offsets {written}" if written else _NOT_MIRRORED


def _filled_in(offset: int, first: int, sync: Sync | None) -> TranslatedOffset | None:
    """What offset syncs say of an offset in front of the `first` position that the ledger knows; None where they say nothing."""
    known = sync(offset) if sync else None
    if known is None or known < 0:
        return None
    return TranslatedOffset(EARLY, min(known, first), first, first - min(known, first))


def _in_map(offset: int, offsets: OffsetMap) -> TranslatedOffset:
    found = offsets.translate(offset)
    assert found is not None
    if found.exact:
        return TranslatedOffset(EXACT, found.target, found.target, 0)
    kept, following = offsets.around(offset)
    reread = min(offset - kept.source - kept.length, following.target - found.target)
    return TranslatedOffset(EARLY, found.target, following.target, reread)
