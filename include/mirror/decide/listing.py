"""Which decisions still count: those that the next run acts on, or that hold until they are taken back."""

from collections.abc import Mapping
from dataclasses import dataclass

from mirror.formats.control import (
    ACCEPT_GAP,
    ACCEPT_RECORDS,
    ADOPT_CLUSTER,
    BEGIN_LEDGER,
    LEDGER,
    PAUSE,
    RESTART,
    RESUME,
    SKIP_RECORD,
    THROTTLE,
    Decision,
)
from mirror.formats.ledger import LedgerRecord
from mirror.offsets.partition import TopicPartition
from mirror.plan.decisions import Decisions


@dataclass(frozen=True)
class Present:
    """What decisions are held against here: the ledger, its topic id, and the clusters that the aliases lead to."""

    records: Mapping[TopicPartition, LedgerRecord]
    ledger_id: str | None
    cluster_ids: Mapping[str, str]


def listed(decisions: Decisions, present: Present) -> list[tuple[Decision, bool]]:
    """Everything that was decided and not replaced since, oldest first, and whether it still counts."""
    in_order = sorted((each for each in decisions.all if each.decision != LEDGER), key=lambda each: each.when)
    return [(each, in_force(each, decisions, present)) for each in in_order]


def in_force(decision: Decision, decisions: Decisions, present: Present) -> bool:
    """Whether a decision still counts, as far as the ledger shows: a run looks at the clusters too."""
    if decision.decision in (PAUSE, RESUME):
        numbers = (decision.partition,) if decision.partition is not None else (-1,)
        return any(decisions.pause(TopicPartition(decision.topic or "", number)) == decision for number in numbers)
    if decision.decision == THROTTLE:
        return decisions.throttle == decision
    if decision.decision == ADOPT_CLUSTER:
        return present.cluster_ids.get(decision.alias or "") == decision.cluster_id
    if decision.decision == BEGIN_LEDGER:
        return decision.ledger_id == (decisions.ledger_id or decision.ledger_id) and decision.found_id == present.ledger_id
    if decision.topic is None or decision.partition is None:
        return True
    if decision not in decisions.of(TopicPartition(decision.topic, decision.partition)):
        return False
    record = present.records.get(TopicPartition(decision.topic, decision.partition))
    if record is None:
        return decision.decision == ACCEPT_RECORDS
    return (record.decided is None or record.decided.when < decision.when) and _waits(decision, record)


def _waits(decision: Decision, record: LedgerRecord) -> bool:
    if decision.decision in (ACCEPT_GAP, RESTART):
        return record.watermark == decision.watermark
    if decision.decision == SKIP_RECORD:
        return record.watermark == decision.offset
    return decision.target_end is not None and record.target_next < decision.target_end
