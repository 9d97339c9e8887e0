"""The ledger record of a partition that a person lets go on at another source offset: what of it still holds, and what is left out."""

from dataclasses import replace

from mirror.formats.control import Decision
from mirror.formats.history import HistoryTopic
from mirror.formats.ledger import LedgerRecord
from mirror.formats.skipped import Skipped
from mirror.offsets.intervals import before
from mirror.offsets.map import OffsetMap
from mirror.offsets.older_copies import OlderCopies, Restart, older_copies, settled
from mirror.plan.model import Standing


def restarted(record: LedgerRecord, decision: Decision, now: Standing) -> LedgerRecord | None:
    """The record after a restart at the offset that was decided; None if the partition does not stand any more as it did then."""
    if record.watermark != decision.watermark or decision.offset is None:
        return None
    if (now.source_topic_id, now.remote) != (decision.source_topic_id, decision.target_topic) or now.remote_id is None:
        return None
    # Where no remote topic was when it was decided, any that was created since will do: what stands in it is still looked at.
    if now.remote_id != (decision.target_topic_id or now.remote_id):
        return None
    return _restarted(record, decision, now, now.remote_id)


def caught_up(record: LedgerRecord) -> LedgerRecord:
    """The record without the older copies that newer ones stand behind, if the watermark has passed them."""
    if record.older is None:
        return record
    skipped = ((each.start, each.end) for each in record.skipped)
    offset_map, older = settled(record.offset_map, record.older, record.watermark, skipped)
    return replace(record, offset_map=offset_map, older=older)


def _restarted(record: LedgerRecord, decision: Decision, now: Standing, remote_id: str) -> LedgerRecord:
    same_source = record.source_topic_id == now.source_topic_id
    same_target = (record.target_topic, record.target_topic_id) == (now.remote, remote_id)
    start, same = decision.offset or 0, same_source and same_target
    watermark = max(start, now.log_start or 0)
    target_next = record.target_next if same_target else 0
    offsets = record.offset_map.before(start) if same else OffsetMap()
    if same_target and decision.target_end is not None:
        target_next = min(target_next, decision.target_end)
        offsets = offsets.before_target(target_next)
        if _history_lost_in_part(record, _lost_from(record, decision)):
            offsets = offsets.behind_others()
    copied = min(start, record.watermark) if same else 0
    on_target = min(copied, _first_lost(record, decision)) if same else 0
    reason = decision.told_as("restart")
    left_out = [(on_target if on_target < copied else record.watermark, start)] if same_source else []
    left_out += [(start, watermark)]
    skipped = (each.before(on_target) for each in record.skipped if each.start < on_target)
    changed = replace(
        record,
        watermark=watermark,
        leader_epoch=now.leader_epoch,
        source_topic_id=now.source_topic_id,
        target_topic=now.remote,
        target_topic_id=remote_id,
        target_next=target_next,
        offset_map=offsets,
        covered=before(record.covered, on_target),
        start=min(record.live_start, start) if same else watermark,
        history=before(record.history, copied),
        history_topics=_history_kept(record, decision, same_target) if same_source else (),
        skipped=(*skipped, *(Skipped(first, end, reason) for first, end in left_out if first < end)),
        blocked=None,
        older=_older(record, decision) if same else None,
        handed_back=None,
    )
    return caught_up(changed)


def _older(record: LedgerRecord, decision: Decision) -> OlderCopies | None:
    start, end = decision.offset or 0, _lost_from(record, decision)
    others = start < record.live_start or _history_lost_in_part(record, end)
    return older_copies(record.offset_map, record.older, Restart(start, record.watermark, end, others))


def _lost_from(record: LedgerRecord, decision: Decision) -> int | None:
    """The end of what is left of ours in the remote partition, if it lost records."""
    return decision.target_end if decision.target_end is not None and decision.target_end < record.target_next else None


def _first_lost(record: LedgerRecord, decision: Decision) -> int:
    """The source offset from which on copies are lost, as far as the map tells, never a later one; the watermark if none are."""
    end = _lost_from(record, decision)
    lost = None if end is None else record.offset_map.source_of(end)
    return record.watermark if lost is None else lost


def _history_lost_in_part(record: LedgerRecord, target_end: int | None) -> bool:
    """Whether the remote partition lost some of what a backfill wrote at once: what is left of it is forgotten, and stands there still."""
    places = [place for place in record.places_of_history if place.topic == record.target_topic]
    return target_end is not None and any(place.target_start < target_end < place.target_end for place in places)


def _history_kept(record: LedgerRecord, decision: Decision, same_target: bool) -> tuple[HistoryTopic, ...]:
    """What a restart leaves of the history: all of it in other topics, and in the remote topic what is not copied again or lost."""
    kept = []
    for each in record.history_topics:
        if each.topic != record.target_topic:
            kept.append(each)
        elif same_target:
            left = each.before(decision.offset or 0)
            kept.append(left if decision.target_end is None else left.before_target(decision.target_end))
    return tuple(kept)
