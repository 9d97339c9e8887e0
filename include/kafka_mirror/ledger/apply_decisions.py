"""What the decisions in force make of a ledger record.

A decision is bound to what the person saw. The plan and, after the fencing, each lane hold it against the ledger's record with the same
functions; a decision whose binding no longer matches, or that is not newer than the last one that was acted on, is used up. So one that is
read late, twice, or beside a running copy does no harm.

The ledger record of a partition that a person lets go on at another source offset: what of it still holds, and what is left out.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from kafka_mirror.formats.offsets.intervals import cut_before
from kafka_mirror.formats.offsets.map import OffsetMap
from kafka_mirror.formats.offsets.older_copies import OlderCopies, Restart, older_copies, settle
from kafka_mirror.ledger.control_records import ACCEPT_GAP, ACCEPT_RECORDS, RESTART, SKIP_RECORD, Decision
from kafka_mirror.ledger.decisions import Decisions
from kafka_mirror.ledger.record import Decided, HistoryTopic, LedgerRecord, Skipped, loss_note


@dataclass(frozen=True)
class PartitionFacts:
    """How one partition stands on both clusters; None for what is not there or not known."""

    source_topic_id: str
    log_start: int | None
    remote: str
    remote_id: str | None
    leader_epoch: int | None = None
    """The source partition's leader epoch: no offset that a decision leads to belongs to a newer one."""


def apply_restart(record: LedgerRecord, decision: Decision, now: PartitionFacts) -> LedgerRecord | None:
    """Returns the record after a restart at the decided offset; None if the partition has changed since the decision."""
    if record.watermark != decision.watermark or decision.offset is None:
        return None
    if (now.source_topic_id, now.remote) != (decision.source_topic_id, decision.target_topic) or now.remote_id is None:
        return None
    # Where no remote topic was when it was decided, any that was created since will do: what stands in it is still looked at.
    if now.remote_id != (decision.target_topic_id or now.remote_id):
        return None
    return _restart(record, decision, now, now.remote_id)


def caught_up(record: LedgerRecord) -> LedgerRecord:
    """The record without the older copies that newer ones stand after, if the watermark has passed them."""
    if record.older is None:
        return record
    skipped = ((skip.start, skip.end) for skip in record.skipped)
    offset_map, older = settle(record.offset_map, record.older, record.watermark, skipped)
    return replace(record, offset_map=offset_map, older=older)


def _restart(record: LedgerRecord, decision: Decision, now: PartitionFacts, remote_id: str) -> LedgerRecord:
    same_source = record.is_of(now.source_topic_id, now.leader_epoch)
    same_target = (record.target_topic, record.target_topic_id) == (now.remote, remote_id)
    start, same = decision.offset or 0, same_source and same_target
    watermark = max(start, now.log_start or 0)
    target_next = record.target_next if same_target else 0
    offsets = record.offset_map.cut_before(start) if same else OffsetMap()
    if same_target and decision.target_end is not None:
        target_next = min(target_next, decision.target_end)
        offsets = offsets.cut_before_target(target_next)
        if _is_history_cut(record, _find_lost_start(record, decision)):
            offsets = offsets.with_unknown_front()
    copied = min(start, record.watermark) if same else 0
    on_target = min(copied, _find_first_lost(record, decision)) if same else 0
    reason = decision.describe_as("restart")
    left_out = [(on_target if on_target < copied else record.watermark, start)] if same_source else []
    left_out += [(start, watermark)]
    skipped = (skip.cut_before(on_target) for skip in record.skipped if skip.start < on_target)
    changed = replace(
        record,
        watermark=watermark,
        leader_epoch=now.leader_epoch,
        source_topic_id=now.source_topic_id,
        target_topic=now.remote,
        target_topic_id=remote_id,
        target_next=target_next,
        offset_map=offsets,
        covered=cut_before(record.covered, on_target),
        start=min(record.live_start, start) if same else watermark,
        history=cut_before(record.history, copied),
        history_topics=_keep_history(record, decision, same_target) if same_source else (),
        skipped=(*skipped, *(Skipped(first, end, reason) for first, end in left_out if first < end)),
        blocked=None,
        older=_find_older(record, decision) if same else None,
        handed_back=None,
        source_end=None,
    )
    return caught_up(changed)


def _find_older(record: LedgerRecord, decision: Decision) -> OlderCopies | None:
    start, end = decision.offset or 0, _find_lost_start(record, decision)
    others = start < record.live_start or _is_history_cut(record, end)
    return older_copies(record.offset_map, record.older, Restart(start, record.watermark, end, others))


def _find_lost_start(record: LedgerRecord, decision: Decision) -> int | None:
    """The end of what is left of ours in the remote partition, if it lost records."""
    return decision.target_end if decision.target_end is not None and decision.target_end < record.target_next else None


def _find_first_lost(record: LedgerRecord, decision: Decision) -> int:
    """The source offset from which on copies are lost, as far as the map tells, never a later one; the watermark if none are."""
    end = _find_lost_start(record, decision)
    lost = None if end is None else record.offset_map.source_of(end)
    return record.watermark if lost is None else lost


def _is_history_cut(record: LedgerRecord, target_end: int | None) -> bool:
    """Whether the remote partition lost some of what a backfill wrote at once: what is left of it is forgotten, and stands there still."""
    places = [place for place in record.places_of_history if place.topic == record.target_topic]
    return target_end is not None and any(place.target_start < target_end < place.target_end for place in places)


def _keep_history(record: LedgerRecord, decision: Decision, same_target: bool) -> tuple[HistoryTopic, ...]:
    """What a restart leaves of the history: all of it in other topics, and in the remote topic what is not copied again or lost."""
    topics = []
    for history_topic in record.history_topics:
        if history_topic.topic != record.target_topic:
            topics.append(history_topic)
        elif same_target:
            remaining = history_topic.cut_before(decision.offset or 0)
            topics.append(remaining if decision.target_end is None else remaining.cut_before_target(decision.target_end))
    return tuple(topics)


def act_on_decisions(record: LedgerRecord, decisions: Iterable[Decision], now: PartitionFacts) -> tuple[LedgerRecord, tuple[Decision, ...]]:
    """The record as the decisions in force make it, and those decisions; the same record and none if all are used up, and while the
    partition is moved: then nothing is done with it."""
    if record.moved is not None:
        return record, ()
    handed_back = record.is_handed_back
    applied: list[Decision] = []
    for decision in decisions:
        if is_applied(record, decision) or (handed_back and decision.decision != RESTART):
            continue
        changed = _ACTIONS[decision.decision](record, decision, now)
        if changed is not None:
            record = changed
            applied.append(decision)
    return with_decision_note(record, applied), tuple(applied)


def is_applied(record: LedgerRecord, decision: Decision) -> bool:
    """Whether the record was made by this decision or a newer one. One that is not noted and was planned with is not acted on yet, and the
    watermark is that of before."""
    return record.decided is not None and decision.when <= record.decided.when


def with_decision_note(record: LedgerRecord, applied: Iterable[Decision]) -> LedgerRecord:
    """Returns the record with a note of the newest decision that was applied."""
    newest = max(applied, key=lambda decision: decision.when, default=None)
    if newest is None or is_applied(record, newest):
        return record
    return replace(record, decided=Decided.of(newest))


def with_adopted_clusters(
    record: LedgerRecord, decisions: Decisions, source: tuple[str, str], target: tuple[str, str], installation: str
) -> LedgerRecord:
    """The record under the clusters (alias and id) and the installation that write now, as far as a person decided so."""
    applied = [
        adoption
        for (alias, cluster_id), recorded_id in ((source, record.source_cluster_id), (target, record.target_cluster_id))
        if recorded_id != cluster_id and (adoption := decisions.find_adoption(alias, cluster_id)) is not None
    ]
    if (ownership := decisions.find_ownership_after(record, installation)) is not None:
        applied.append(ownership)
    return replace(with_decision_note(record, applied), source_cluster_id=source[1], target_cluster_id=target[1])


def pass_over_offsets(record: LedgerRecord, end: int, reason: str, leader_epoch: int | None) -> LedgerRecord:
    """The record after source offsets up to `end` were passed over without being copied. No offset in front of `end` belongs to a newer
    leader epoch than the given one. What the target lost of those before stays noted."""
    skipped = Skipped(record.watermark, end, reason)
    moved = replace(record, watermark=end, leader_epoch=leader_epoch, skipped=(*record.skipped, skipped), blocked=loss_note(record))
    return caught_up(moved)


def _accept_gap(record: LedgerRecord, decision: Decision, now: PartitionFacts) -> LedgerRecord | None:
    if record.watermark != decision.watermark or not record.is_of(now.source_topic_id):
        return None
    if now.log_start is None or now.log_start <= record.watermark:
        return None
    return pass_over_offsets(record, now.log_start, decision.describe_as("gap accepted"), now.leader_epoch)


def _skip_record(record: LedgerRecord, decision: Decision, now: PartitionFacts) -> LedgerRecord | None:
    if record.watermark != decision.offset or record.blocked is None or record.blocked.offset != decision.offset:
        return None
    if not record.is_of(now.source_topic_id) or loss_note(record) is not None:
        return None
    what = f"record skipped ({record.blocked.code})"
    end = max(record.watermark + 1, record.blocked.end or 0)
    return pass_over_offsets(record, end, decision.describe_as(what), now.leader_epoch)


def _accept_records(record: LedgerRecord, decision: Decision, now: PartitionFacts) -> LedgerRecord | None:
    end = records_accepted_until((decision,), now)
    if end is None or record.target_topic_id != now.remote_id or end <= record.target_next:
        return None
    return replace(record, target_next=end)


def records_accepted_until(decisions: Iterable[Decision], now: PartitionFacts) -> int | None:
    """Up to which offset of the remote partition records may stay that the ledger does not know; None if that was not decided."""
    ends = [
        decision.target_end
        for decision in decisions
        if decision.decision == ACCEPT_RECORDS and (decision.target_topic, decision.target_topic_id) == (now.remote, now.remote_id)
    ]
    return max((end for end in ends if end is not None), default=None)


_ACTIONS: Mapping[str, Callable[[LedgerRecord, Decision, PartitionFacts], LedgerRecord | None]] = {
    RESTART: apply_restart,
    ACCEPT_GAP: _accept_gap,
    SKIP_RECORD: _skip_record,
    ACCEPT_RECORDS: _accept_records,
}
