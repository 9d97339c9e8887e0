"""What people decided, held against how things stand: which decisions are in force, and what they make of a ledger record.

A decision is bound to what the person saw. The plan and, after the fencing, each lane hold it against the ledger's record with the same
functions; a decision whose binding no longer matches, or that is not newer than the last one that was acted on, is used up. So one that is
read late, twice, or beside a running copy does no harm.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from mirror.errors import HandedBack
from mirror.formats.control import (
    ACCEPT_GAP,
    ACCEPT_RECORDS,
    ADOPT_CLUSTER,
    BEGIN_LEDGER,
    HANDED_BACK,
    LEDGER,
    PAUSE,
    RESTART,
    RESUME,
    SKIP_RECORD,
    TAKE_OWNERSHIP,
    THROTTLE,
    Decision,
)
from mirror.formats.fields import moment_text
from mirror.formats.history import HistoryTopic
from mirror.formats.ledger import Decided, LedgerRecord
from mirror.formats.skipped import Skipped
from mirror.offsets.intervals import before
from mirror.offsets.map import OffsetMap
from mirror.offsets.partition import TopicPartition


class Decisions:
    """The decisions of a flow, as its control topic has them."""

    def __init__(self, decisions: Iterable[Decision] = ()) -> None:
        self.all = tuple(decisions)
        self._by_key = {each.key: each for each in self.all}

    @property
    def ledger_id(self) -> str | None:
        """The topic id of the flow's ledger; None if no plan has named one yet."""
        known = self._by_key.get((LEDGER, None, None))
        return known.ledger_id if known else None

    def of(self, tp: TopicPartition) -> tuple[Decision, ...]:
        """What was decided about one partition's offsets, in the order in which it is acted on."""
        found = (self._by_key.get((word, tp.topic, tp.partition)) for word in _ACTIONS)
        return tuple(each for each in found if each is not None)

    def pause(self, tp: TopicPartition) -> Decision | None:
        """The decision by which a partition is paused. Of one about its topic and one about itself the newer counts."""
        found = [each for each in (self._by_key.get((PAUSE, tp.topic, number)) for number in (None, tp.partition)) if each is not None]
        newest = max(found, key=lambda each: each.when, default=None)
        return newest if newest is not None and newest.decision != RESUME else None

    def adopted(self, alias: str, cluster_id: str) -> Decision | None:
        """The decision by which records of another cluster are taken for those of this one."""
        found = self._by_key.get((ADOPT_CLUSTER, alias, None))
        return found if found is not None and found.cluster_id == cluster_id else None

    def ownership(self, installation: str) -> Decision | None:
        """The decision by which this installation may write where another one did."""
        found = self._by_key.get((TAKE_OWNERSHIP, None, None))
        return found if found is not None and found.installation == installation else None

    @property
    def throttle(self) -> Decision | None:
        """The decision about how fast the flow may copy; None if the properties say it."""
        found = self._by_key.get((THROTTLE, None, None))
        return found if found is not None and found.bytes_per_second is not None else None

    @property
    def handed_back(self) -> Decision | None:
        """The decision by which MirrorMaker 2 mirrors the flow again, unless it was taken over since."""
        found = self._by_key.get((HANDED_BACK, None, None))
        return found if found is not None and found.decision == HANDED_BACK else None

    def begins_ledger(self, found_id: str | None, gone_id: str | None = None) -> bool:
        """Whether the ledger that is gone (`gone_id`, else the flow's own) may be replaced by the one that stands there now, or by one to
        be created (None)."""
        found = self._by_key.get((BEGIN_LEDGER, None, None))
        return found is not None and (found.ledger_id, found.found_id) == (gone_id or self.ledger_id, found_id)


NO_DECISIONS = Decisions()


@dataclass(frozen=True)
class Standing:
    """How one partition stands on both clusters; None for what is not there or not known."""

    source_topic_id: str
    log_start: int | None
    remote: str
    remote_id: str | None
    leader_epoch: int | None = None
    """The source partition's leader epoch: no offset that a decision leads to belongs to a newer one."""


def acted_on(record: LedgerRecord, decisions: Iterable[Decision], now: Standing) -> tuple[LedgerRecord, tuple[Decision, ...]]:
    """The record as the decisions in force make it, and those decisions; the same record and none if all are used up."""
    last = record.decided.when if record.decided else None
    left = record.is_handed_back
    applied: list[Decision] = []
    for decision in decisions:
        if (last is not None and decision.when <= last) or (left and decision.decision != RESTART):
            continue
        changed = _ACTIONS[decision.decision](record, decision, now)
        if changed is not None:
            record = changed
            applied.append(decision)
    return noted(record, applied), tuple(applied)


def handed_back(tp: TopicPartition, record: LedgerRecord) -> HandedBack | None:
    """Why a lane leaves a partition alone that MirrorMaker 2 mirrors again. The ledger says so itself: an old plan may be copied late."""
    decided = record.decided
    if decided is None or not record.is_handed_back:
        return None
    return HandedBack(decided.who, moment_text(decided.when), topic=tp.topic, partition=tp.partition)


def noted(record: LedgerRecord, applied: Iterable[Decision]) -> LedgerRecord:
    """The record with a note of the newest of the decisions that were acted on."""
    newest = max(applied, key=lambda each: each.when, default=None)
    if newest is None or (record.decided is not None and record.decided.when >= newest.when):
        return record
    return replace(record, decided=Decided(newest.decision, newest.who, newest.when, newest.why))


def passed_over(record: LedgerRecord, end: int, reason: str, leader_epoch: int | None) -> LedgerRecord:
    """The record after source offsets up to `end` were passed over without being copied. No offset in front of `end` belongs to a newer
    leader epoch than the given one."""
    skipped = Skipped(record.watermark, end, reason)
    return replace(record, watermark=end, leader_epoch=leader_epoch, skipped=(*record.skipped, skipped), blocked=None)


def _accept_gap(record: LedgerRecord, decision: Decision, now: Standing) -> LedgerRecord | None:
    if record.watermark != decision.watermark or record.source_topic_id != now.source_topic_id:
        return None
    if now.log_start is None or now.log_start <= record.watermark:
        return None
    return passed_over(record, now.log_start, _reason("gap accepted", decision), now.leader_epoch)


def _skip_record(record: LedgerRecord, decision: Decision, now: Standing) -> LedgerRecord | None:
    if record.watermark != decision.offset or record.blocked is None or record.blocked.offset != decision.offset:
        return None
    if record.source_topic_id != now.source_topic_id:
        return None
    what = f"record skipped ({record.blocked.code})"
    return passed_over(record, record.watermark + 1, _reason(what, decision), now.leader_epoch)


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


def _restart(record: LedgerRecord, decision: Decision, now: Standing) -> LedgerRecord | None:
    if record.watermark != decision.watermark or decision.offset is None:
        return None
    if (now.source_topic_id, now.remote) != (decision.source_topic_id, decision.target_topic) or now.remote_id is None:
        return None
    # Where no remote topic was when it was decided, any that was created since will do: what stands in it is still looked at.
    if now.remote_id != (decision.target_topic_id or now.remote_id):
        return None
    return _restarted(record, decision, now, now.remote_id)


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
    copied = min(start, record.watermark) if same else 0
    reason = _reason("restart", decision)
    left_out = [(record.watermark, start)] if same_source else []
    left_out += [(start, watermark)]
    skipped = (each.before(copied) for each in record.skipped if each.start < copied)
    return replace(
        record,
        watermark=watermark,
        leader_epoch=now.leader_epoch,
        source_topic_id=now.source_topic_id,
        target_topic=now.remote,
        target_topic_id=remote_id,
        target_next=target_next,
        offset_map=offsets,
        covered=before(record.covered, copied),
        start=min(record.live_start, start) if same else watermark,
        history=before(record.history, copied),
        history_topics=_history_kept(record, decision, same_target) if same_source else (),
        skipped=(*skipped, *(Skipped(first, end, reason) for first, end in left_out if first < end)),
        blocked=None,
    )


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


def _reason(what: str, decision: Decision) -> str:
    return f"{what} by {decision.who} at {moment_text(decision.when)}: {decision.why}"


_ACTIONS: Mapping[str, Callable[[LedgerRecord, Decision, Standing], LedgerRecord | None]] = {
    RESTART: _restart,
    ACCEPT_GAP: _accept_gap,
    SKIP_RECORD: _skip_record,
    ACCEPT_RECORDS: _accept_records,
}
"""In the order in which decisions about one partition are acted on: a restart decides what the others are held against."""


def rehomed(
    record: LedgerRecord, decisions: Decisions, source: tuple[str, str], target: tuple[str, str], installation: str
) -> LedgerRecord:
    """The record under the clusters (alias and id) and the installation that write now, as far as a person decided so."""
    applied = [
        adoption
        for (alias, cluster_id), known in ((source, record.source_cluster_id), (target, record.target_cluster_id))
        if known != cluster_id and (adoption := decisions.adopted(alias, cluster_id)) is not None
    ]
    ownership = decisions.ownership(installation)
    if ownership is not None and taken(record, ownership):
        applied.append(ownership)
    return replace(noted(record, applied), source_cluster_id=source[1], target_cluster_id=target[1])


def taken(record: LedgerRecord, ownership: Decision) -> bool:
    """Whether a record by another installation was written before our installation was let in."""
    foreign = record.writer.installation not in ("", ownership.installation)
    return foreign and ownership.until is not None and record.writer.time <= ownership.until
