"""Runs an audit of a flow: prepares the ranges, has both sides compared, and reports.

Records after the copy are unexplained, unless a run that goes on has written them since the ledger was read. A run commits its records and
the ledger's together: when a record can be seen, the ledger record of its copy is in the ledger as well.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

from kafka_mirror.audit.compare_ranges import compare_audit_ranges
from kafka_mirror.audit.copied_ranges import AuditRange, Outcome
from kafka_mirror.audit.model import FOREIGN, OPEN, UNREAD, AuditResult, Difference, RecordText, text_of_record
from kafka_mirror.audit.prepare import PreparedAudit, prepare
from kafka_mirror.audit.reader import AuditContext, audit_context
from kafka_mirror.audit.report import partition_audits
from kafka_mirror.audit.scope import Scope
from kafka_mirror.config import Flow
from kafka_mirror.config.catalogue.values import milliseconds
from kafka_mirror.config.validate import check_readable
from kafka_mirror.errors import DeadlineExceeded, LedgerHidden, LogMoved, MirrorError, UsageError, name_flow_in_errors
from kafka_mirror.formats.batches.batch_records import ReadRecord
from kafka_mirror.formats.offsets.intervals import Interval
from kafka_mirror.formats.offsets.partition import TopicPartition, lane_of
from kafka_mirror.formats.record import UnreadableHeaders, record_of
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.reader import BoundedReader
from kafka_mirror.ledger.clusters import clusters, ledger_of
from kafka_mirror.ledger.record import LedgerRecord
from kafka_mirror.ledger.topic import Ledger

Compare = Callable[[AuditContext, Sequence[AuditRange]], list[Outcome]]
"""Compares stretches: in this process, or by a Spark job."""

_ROUNDS = 3


def audit(
    flow: Flow,
    topics: Collection[str] = (),
    source_offsets: Mapping[TopicPartition, Interval] | None = None,
    times: tuple[datetime, datetime] | None = None,
    show_payload: bool = False,
    compare: Compare = compare_audit_ranges,
    starts: Mapping[TopicPartition, int] | None = None,
) -> AuditResult:
    """Compares what the ledger says is copied with what stands on the target, and writes nothing.

    `topics`: only these source topics. `source_offsets`: only these intervals of source offsets, of these partitions alone. `times`: only
    records whose offsets lie between the first one stamped at or after the first time and that of the second. `starts`: of these partitions
    only from these source offsets on, up to where the copy is. What was written as history is compared where it was written. A difference
    is in the result, and nothing is raised for it; what concerns a partition is in the result's errors. Raises what concerns the whole
    flow: ConfigurationError, ClusterUnreachable, LedgerDamaged …
    """
    check_readable(flow)
    began = time.monotonic()
    scope = Scope(tuple(topics), source_offsets, times, starts)
    with name_flow_in_errors(flow.name), clusters(flow) as (source, target):
        context = audit_context(flow, show_payload)
        result = _compare(flow, source, target, scope, context, compare)
    return replace(result, seconds=time.monotonic() - began)


def prepare_comparison(flow: Flow, scope: Scope) -> PreparedAudit:
    """What an audit would read, without reading it. Raises as `audit`."""
    check_readable(flow)
    with name_flow_in_errors(flow.name), clusters(flow) as (source, target):
        return prepare(flow, source, target, scope)


def _compare(flow: Flow, source: Cluster, target: Cluster, scope: Scope, context: AuditContext, compare: Compare) -> AuditResult:
    """Compares, and once more what retention deleted meanwhile: it begins later then."""
    prepared = prepare(flow, source, target, scope)
    outcomes = compare(context, prepared.stretches) if prepared.stretches else []
    for _ in range(_ROUNDS - 1):
        moved = {outcome.stretch.source for outcome in outcomes if outcome.error is not None and outcome.error.kind is LogMoved}
        if not moved:
            break
        again = prepare(flow, source, target, replace(scope, source_offsets=_read_offsets(scope, prepared, moved), starts=None))
        prepared = _add(prepared, again, moved)
        outcomes = [outcome for outcome in outcomes if outcome.stretch.source not in moved] + compare(context, again.stretches)
    outcomes = find_foreign_tails(ledger_of(flow, target), context, prepared, outcomes)
    partitions = partition_audits(prepared, outcomes)
    of_outcomes = (outcome.error for outcome in outcomes if outcome.error is not None)
    errors = dict.fromkeys((*prepared.errors, *of_outcomes, *prepared.left_on_source))
    isolation = "read_committed" if context.read_committed else "read_uncommitted"
    reports = tuple(error.with_flow(flow.name) for error in errors)
    result = AuditResult(flow.name, prepared.time, partitions, reports, prepared.notices, isolation)
    return replace(result, backlog=prepared.backlog, not_begun=prepared.not_begun)


def _read_offsets(scope: Scope, prepared: PreparedAudit, moved: Iterable[TopicPartition]) -> dict[TopicPartition, Interval]:
    """What was asked for of these partitions; all of it up to where the copy was then."""
    requested = scope.source_offsets or {tp: (start, prepared.records[tp].watermark) for tp, start in (scope.starts or {}).items()}
    return {tp: requested.get(tp, (0, prepared.records[tp].watermark)) for tp in moved}


def _add(prepared: PreparedAudit, again: PreparedAudit, moved: Collection[TopicPartition]) -> PreparedAudit:
    left_out = {**prepared.left_out, **{tp: again.left_out.get(tp, ()) for tp in moved}}
    stretches = [audit_range for audit_range in prepared.stretches if audit_range.source not in moved]
    errors = dict.fromkeys((*prepared.errors, *again.errors))
    return replace(prepared, stretches=(*stretches, *again.stretches), left_out=left_out, errors=tuple(errors))


def times(start: str | None, end: str | None) -> tuple[datetime, datetime] | None:
    """The times `[start, end)`; None without them. Raises UsageError."""
    if not start and not end:
        return None
    if not start or not end:
        raise UsageError(
            "The audit's times cannot be used: --from needs --to, and --to needs --from (in Airflow, the parameters from and to).",
            next="Times are [from, to).",
        )
    try:
        first, last = (datetime.fromtimestamp(milliseconds(text) / 1000, UTC) for text in (start, end))
    except ValueError as error:
        raise UsageError(
            f"The audit's times cannot be used: {error}.", next="Times are ISO 8601, such as 2026-01-31 or 2026-01-31T12:00:00Z."
        ) from None
    if first >= last:
        raise UsageError(f"The audit's times cannot be used: {start} is not earlier than {end}.", next="Times are [from, to).")
    return first, last


def find_foreign_tails(ledger: Ledger, context: AuditContext, prepared: PreparedAudit, outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The outcomes; those that are equal, with the foreign record that stands after the copy, if there is one, or the error that keeps
    it from being read. Raises what keeps the target from being read."""
    wrong = {outcome.stretch.source for outcome in outcomes if outcome.difference is not None or outcome.error is not None}
    after = {TopicPartition(prepared.records[tp].target_topic, tp.partition): tp for tp in prepared.tails if tp not in wrong}
    if not after:
        return list(outcomes)
    reader = BoundedReader(context.target, context.clients.target_consumer)
    tails = {remote: prepared.tails[tp] for remote, tp in after.items()}
    visible, refused, late = _find_visible(reader, tails, context.seconds)
    now = _read_newer(ledger, after, visible)
    findings: dict[TopicPartition, Difference | MirrorError | str] = {}
    findings |= {remote: UNREAD for remote in tails if late and remote not in visible}
    findings |= {remote: refused[remote.topic] for remote in tails if remote.topic in refused}
    for remote, message in visible.items():
        tp, offset = after[remote], message.offset
        current = now.get(tp)
        if current is None:
            findings[remote] = OPEN
        elif current.target_next <= offset:
            text: RecordText | None = None
            with suppress(UnreadableHeaders):
                text = text_of_record(record_of(message), context.show_payload)
            findings[remote] = Difference(FOREIGN, *tp, remote.topic, None, offset, None, text)
    return _add_findings(outcomes, findings)


def _find_visible(
    reader: BoundedReader, tails: Mapping[TopicPartition, Interval], seconds: float
) -> tuple[dict[TopicPartition, ReadRecord], dict[str, MirrorError], bool]:
    """The first record of each tail that has one, the topics that may not be read, and whether there was no time for all."""
    visible: dict[TopicPartition, ReadRecord] = {}
    refused: dict[str, MirrorError] = {}

    def note(message: ReadRecord) -> bool:
        visible.setdefault(message.partition, message)
        return True

    try:
        reader.first_visible(tails, seconds, refused, accept=note)
    except DeadlineExceeded:
        return visible, refused, True
    return visible, refused, False


def _read_newer(
    ledger: Ledger, after: Mapping[TopicPartition, TopicPartition], visible: Iterable[TopicPartition]
) -> dict[TopicPartition, LedgerRecord]:
    """What the ledger says of these partitions after their records were seen; nothing of a lane that is being written."""
    lanes = {lane_of(*after[remote], ledger.lanes) for remote in visible}
    records: dict[TopicPartition, LedgerRecord] = {}
    for lane in sorted(lanes):
        try:
            records |= ledger.read_fenced(lane).records
        except LedgerHidden:
            continue  # a copy is at work: what it wrote is for the next audit, and is no finding
    return records


def _add_findings(outcomes: Sequence[Outcome], findings: Mapping[TopicPartition, Difference | MirrorError | str]) -> list[Outcome]:
    last = {outcome_of.stretch.remote: number for number, outcome_of in enumerate(outcomes)}
    amended = list(outcomes)
    for remote, what in findings.items():
        if remote in last:
            outcome = amended[last[remote]]
            if isinstance(what, str):
                outcome = replace(outcome, notes=(*outcome.notes, what))
            elif isinstance(what, MirrorError):
                outcome = replace(outcome, error=replace(what.report(), topic=outcome.stretch.source.topic))
            else:
                outcome = replace(outcome, difference=what)
            amended[last[remote]] = outcome
    return amended
