"""The step `audit-gate`: the wave's topics are the same on both sides up to their exact ends, or the wave stops here.

It compares what came since the wave's last good audit, which the step's facts have, or everything. The flow's own audits are no evidence:
Airflow keeps of them what differed, and not up to where they were equal.
"""

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from kafka_mirror.audit.context import AuditContext
from kafka_mirror.audit.job import by_hand, by_size
from kafka_mirror.audit.model import AuditResult
from kafka_mirror.audit.range import AuditRange, Outcome
from kafka_mirror.audit.report import sentence
from kafka_mirror.audit.run import Compare, audit, what_to_compare
from kafka_mirror.audit.scope import Scope
from kafka_mirror.cutover.steps.audit_evidence import (
    AUDITED,
    PartitionEnds,
    audit_starts,
    evidence_as_fact,
    evidence_from_facts,
    evidence_of,
    is_current,
)
from kafka_mirror.cutover.steps.audit_findings import audit_findings, not_copied, not_whole, outdated
from kafka_mirror.cutover.steps.source_truth import copied_from_another_log, look_at_source
from kafka_mirror.cutover.wave.findings import STOP, Finding, in_order, stop
from kafka_mirror.cutover.wave.move import Move
from kafka_mirror.cutover.wave.step import AUDIT_GATE, RECORDS, StepOptions, StepOutcome, WaveNotes, ended
from kafka_mirror.errors import MirrorError
from kafka_mirror.errors.next_step import of_the_wave
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.translation import generation
from kafka_mirror.ledger.clusters import ledger_of


def step(move: Move, notes: WaveNotes, options: StepOptions) -> StepOutcome:
    """Audits the wave behind its fence. Raises what concerns a cluster as a whole."""
    partitions = move.source_partitions()
    ends, errors = _ends(move, partitions)
    findings = [*errors, *not_copied(ends, partitions, move.flow.source)]
    facts = dict(notes.of_step(AUDIT_GATE))
    if findings:
        return _ended(move, findings)
    if is_current(evidence_from_facts(facts), ends, options.full_audit):
        return _ended(move, [], ("Nothing came on either side since the wave's last good audit.",), facts)
    return _audited(move, notes, options, ends)


def audit_ahead(move: Move, notes: WaveNotes, options: StepOptions) -> StepOutcome:
    """Audits what is copied so far, and notes it: before the fence, so that the step behind it has little left to compare."""
    ends, errors = _ends(move, move.source_partitions())
    outcome = _audited(move, notes, options, ends) if not errors else _ended(move, errors)
    if outcome.facts and not options.dry_run:
        notes.keep(AUDIT_GATE, outcome.facts)
    return outcome


def holds(move: Move, notes: WaveNotes, options: StepOptions) -> tuple[Finding, ...]:
    """Why the audit does not speak for everything any more; empty as long as it does."""
    partitions = move.source_partitions()
    ends, errors = _ends(move, partitions)
    evidence = evidence_from_facts(notes.of_step(AUDIT_GATE))
    if not errors and is_current(evidence, ends, options.full_audit):
        return ()
    before = {tp: PartitionEnds(of.start, of.end, of.end, of.target_end, of.generation) for tp, of in evidence.items()}
    partial = [tp for tp, of in evidence.items() if options.full_audit and of.start]
    missing = [*errors, *not_copied(ends, partitions, move.flow.source), *(tuple(outdated(before, ends)) or not_whole(partial))]
    return in_order(missing, move.flow.name)


# ------------------------------------------------------------ asking


def _audited(move: Move, notes: WaveNotes, options: StepOptions, ends: Mapping[TopicPartition, PartitionEnds]) -> StepOutcome:
    began = time.monotonic()
    noted = evidence_from_facts(notes.of_step(AUDIT_GATE))
    starts = {} if options.full_audit else audit_starts(noted, ends)
    topics = sorted({tp.topic for tp, end in ends.items() if end.watermark is not None})
    if options.dry_run:
        offsets = what_to_compare(move.flow, Scope(topics, starts=starts)).offsets if topics else 0
        return _ended(move, [], (f"Up to {offsets:,} records would be compared.",))
    result = AuditResult(move.flow.name, datetime.now(UTC)) if not topics else _audit(move, options, topics, starts)
    now, errors = _ends(move, sorted(ends))
    findings = [*audit_findings(result, move.topics.names, of_the_wave("rollback", options.wave)), *errors]
    is_fenced = all(end.is_empty or end.watermark == end.source_end for end in ends.values())
    findings += outdated(ends, now) if is_fenced else ()
    if any(finding.kind == STOP for finding in findings):
        return _ended(move, findings, (sentence(result),))
    before = notes.of_step(AUDIT_GATE).get(RECORDS, 0) if starts else 0
    facts = {
        AUDITED: evidence_as_fact(evidence_of(noted, starts, ends)),
        RECORDS: before + result.totals["source_records"],
        "new_records": result.totals["source_records"],
        "seconds": round(time.monotonic() - began, 3),
    }
    return _ended(move, findings, (sentence(result),), facts)


def _audit(move: Move, options: StepOptions, topics: Sequence[str], starts: Mapping[TopicPartition, int]) -> AuditResult:
    """Compares in this process what is small, and on Spark what is large, as the command `audit` does."""
    flow = move.flow
    by_amount = by_size(flow, by_hand(flow, None, f"cutover {options.wave}"))

    def compare(context: AuditContext, stretches: Sequence[AuditRange]) -> list[Outcome]:
        offsets = sum(stretch.offsets for stretch in stretches)
        options.progress(f"Comparing up to {offsets:,} records of {len(stretches)} ranges with their copies.")
        return by_amount(context, stretches)

    comparer: Compare = compare
    return audit(flow, topics, compare=comparer, starts=starts)


def _ends(move: Move, partitions: Sequence[TopicPartition]) -> tuple[dict[TopicPartition, PartitionEnds], list[Finding]]:
    """Where the partitions begin and end on both sides, and what the ledger says; absent without a leader. And what nobody
    answered, or what cannot be believed."""
    refused: dict[str, MirrorError] = {}
    target = move.sides.target
    # The ledger last: it knows no less than the ends that it is held against.
    look = look_at_source(move)
    starts = {tp: log.start for tp, log in look.offsets.items() if log.start >= 0}
    ends = {tp: end for tp, log in look.offsets.items() if (end := log.stable if move.flow.reads_committed else log.end) >= 0}
    view = ledger_of(move.flow, target).read()
    records = {tp: view.records[tp] for tp in {*partitions, *look.logs} if tp in view.records}
    remotes = {tp: TopicPartition(record.target_topic, tp.partition) for tp, record in records.items()}
    target_ends = target.offsets(remotes.values(), "latest", errors=refused)
    there = {
        tp: PartitionEnds(
            starts[tp],
            ends[tp],
            records[tp].watermark if tp in records else None,
            target_ends.get(remotes[tp]) if tp in remotes else None,
            generation(records[tp]) if tp in records else "",
        )
        for tp in sorted(starts)
        if tp in ends and (tp not in remotes or remotes[tp] in target_ends)
    }
    errors = [stop(error) for error in (*refused.values(), *view.unreadable.values())]
    return there, [*look.stops, *errors, *copied_from_another_log(move, look.logs, records)]


def _ended(move: Move, findings: Sequence[Finding], lines: tuple[str, ...] = (), facts: Mapping[str, Any] | None = None) -> StepOutcome:
    return ended(AUDIT_GATE, in_order(findings, move.flow.name), lines, facts)
