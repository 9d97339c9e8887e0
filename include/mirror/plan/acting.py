"""What the decisions in force make of a ledger record.

A decision is bound to what the person saw. The plan and, after the fencing, each lane hold it against the ledger's record with the same
functions; a decision whose binding no longer matches, or that is not newer than the last one that was acted on, is used up. So one that is
read late, twice, or beside a running copy does no harm.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from mirror.formats.control import ACCEPT_GAP, ACCEPT_RECORDS, RESTART, SKIP_RECORD, Decision
from mirror.formats.ledger import Decided, LedgerRecord
from mirror.formats.skipped import Skipped
from mirror.plan.checks import noted_loss
from mirror.plan.decisions import Decisions
from mirror.plan.model import Standing
from mirror.plan.restart import caught_up, restarted


def acted_on(record: LedgerRecord, decisions: Iterable[Decision], now: Standing) -> tuple[LedgerRecord, tuple[Decision, ...]]:
    """The record as the decisions in force make it, and those decisions; the same record and none if all are used up."""
    left = record.is_handed_back
    applied: list[Decision] = []
    for decision in decisions:
        if is_noted(record, decision) or (left and decision.decision != RESTART):
            continue
        changed = _ACTIONS[decision.decision](record, decision, now)
        if changed is not None:
            record = changed
            applied.append(decision)
    return noted(record, applied), tuple(applied)


def is_noted(record: LedgerRecord, decision: Decision) -> bool:
    """Whether the record was made by this decision or a newer one. One that is not noted and was planned with is not acted on yet, and the
    watermark is that of before."""
    return record.decided is not None and decision.when <= record.decided.when


def noted(record: LedgerRecord, applied: Iterable[Decision]) -> LedgerRecord:
    """The record with a note of the newest of the decisions that were acted on."""
    newest = max(applied, key=lambda each: each.when, default=None)
    if newest is None or is_noted(record, newest):
        return record
    return replace(record, decided=Decided.of(newest))


def rehomed(
    record: LedgerRecord, decisions: Decisions, source: tuple[str, str], target: tuple[str, str], installation: str
) -> LedgerRecord:
    """The record under the clusters (alias and id) and the installation that write now, as far as a person decided so."""
    applied = [
        adoption
        for (alias, cluster_id), known in ((source, record.source_cluster_id), (target, record.target_cluster_id))
        if known != cluster_id and (adoption := decisions.adopted(alias, cluster_id)) is not None
    ]
    if (ownership := decisions.lets_in(record, installation)) is not None:
        applied.append(ownership)
    return replace(noted(record, applied), source_cluster_id=source[1], target_cluster_id=target[1])


def passed_over(record: LedgerRecord, end: int, reason: str, leader_epoch: int | None) -> LedgerRecord:
    """The record after source offsets up to `end` were passed over without being copied. No offset in front of `end` belongs to a newer
    leader epoch than the given one. What the target lost of those before stays noted."""
    skipped = Skipped(record.watermark, end, reason)
    moved = replace(record, watermark=end, leader_epoch=leader_epoch, skipped=(*record.skipped, skipped), blocked=noted_loss(record))
    return caught_up(moved)


def _accept_gap(record: LedgerRecord, decision: Decision, now: Standing) -> LedgerRecord | None:
    if record.watermark != decision.watermark or record.source_topic_id != now.source_topic_id:
        return None
    if now.log_start is None or now.log_start <= record.watermark:
        return None
    return passed_over(record, now.log_start, decision.told_as("gap accepted"), now.leader_epoch)


def _skip_record(record: LedgerRecord, decision: Decision, now: Standing) -> LedgerRecord | None:
    if record.watermark != decision.offset or record.blocked is None or record.blocked.offset != decision.offset:
        return None
    if record.source_topic_id != now.source_topic_id or noted_loss(record) is not None:
        return None
    what = f"record skipped ({record.blocked.code})"
    return passed_over(record, record.watermark + 1, decision.told_as(what), now.leader_epoch)


def _accept_records(record: LedgerRecord, decision: Decision, now: Standing) -> LedgerRecord | None:
    end = records_accepted_until((decision,), now)
    if end is None or record.target_topic_id != now.remote_id or end <= record.target_next:
        return None
    return replace(record, target_next=end)


def records_accepted_until(decisions: Iterable[Decision], now: Standing) -> int | None:
    """Up to which offset of the remote partition records may stay that the ledger does not know; None if nobody decided so."""
    ends = [
        each.target_end
        for each in decisions
        if each.decision == ACCEPT_RECORDS and (each.target_topic, each.target_topic_id) == (now.remote, now.remote_id)
    ]
    return max((end for end in ends if end is not None), default=None)


_ACTIONS: Mapping[str, Callable[[LedgerRecord, Decision, Standing], LedgerRecord | None]] = {
    RESTART: restarted,
    ACCEPT_GAP: _accept_gap,
    SKIP_RECORD: _skip_record,
    ACCEPT_RECORDS: _accept_records,
}
