"""Runs an audit of a flow: what there is to compare, both sides read, and the result.

What people ask an audit for, as they write it.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from kafka_mirror.audit.compare_ranges import compare_audit_ranges
from kafka_mirror.audit.context import AuditContext, audit_context
from kafka_mirror.audit.model import AuditResult
from kafka_mirror.audit.prepare import PreparedAudit, prepare
from kafka_mirror.audit.range import AuditRange, Outcome
from kafka_mirror.audit.report import partition_audits
from kafka_mirror.audit.scope import Scope
from kafka_mirror.audit.tail_check import with_foreign_tails
from kafka_mirror.config import Flow
from kafka_mirror.config.catalogue.per_topic import milliseconds
from kafka_mirror.config.validate import check_readable
from kafka_mirror.errors import LogMoved, UsageError, named_with
from kafka_mirror.formats.offsets.intervals import Interval
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.ledger.clusters import clusters, ledger_of

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
    with named_with(flow.name), clusters(flow) as (source, target):
        context = audit_context(flow, show_payload)
        result = _compare(flow, source, target, scope, context, compare)
    return replace(result, seconds=time.monotonic() - began)


def what_to_compare(flow: Flow, scope: Scope) -> PreparedAudit:
    """What an audit would read, without reading it. Raises as `audit`."""
    check_readable(flow)
    with named_with(flow.name), clusters(flow) as (source, target):
        return prepare(flow, source, target, scope)


def _compare(flow: Flow, source: Cluster, target: Cluster, scope: Scope, context: AuditContext, compare: Compare) -> AuditResult:
    """Compares, and once more what retention deleted meanwhile: it begins later then."""
    prepared = prepare(flow, source, target, scope)
    outcomes = compare(context, prepared.stretches) if prepared.stretches else []
    for _ in range(_ROUNDS - 1):
        moved = _find_moved(outcomes)
        if not moved:
            break
        again = prepare(flow, source, target, replace(scope, source_offsets=_read_offsets(scope, prepared, moved), starts=None))
        prepared = _add(prepared, again, moved)
        outcomes = [outcome for outcome in outcomes if outcome.stretch.source not in moved] + compare(context, again.stretches)
    outcomes = with_foreign_tails(ledger_of(flow, target), context, prepared, outcomes)
    partitions = partition_audits(prepared, outcomes)
    of_outcomes = (outcome.error for outcome in outcomes if outcome.error is not None)
    errors = dict.fromkeys((*prepared.errors, *of_outcomes, *prepared.left_on_source))
    isolation = "read_committed" if context.read_committed else "read_uncommitted"
    reports = tuple(error.of_flow(flow.name) for error in errors)
    result = AuditResult(flow.name, prepared.time, partitions, reports, prepared.notices, isolation)
    return replace(result, backlog=prepared.backlog, not_begun=prepared.not_begun)


def _find_moved(outcomes: Iterable[Outcome]) -> set[TopicPartition]:
    return {outcome.stretch.source for outcome in outcomes if outcome.error is not None and outcome.error.kind is LogMoved}


def _read_offsets(scope: Scope, prepared: PreparedAudit, moved: Iterable[TopicPartition]) -> dict[TopicPartition, Interval]:
    """What was asked for of these partitions; all of it up to where the copy was then."""
    requested = scope.source_offsets or {tp: (start, prepared.records[tp].watermark) for tp, start in (scope.starts or {}).items()}
    return {tp: requested.get(tp, (0, prepared.records[tp].watermark)) for tp in moved}


def _add(prepared: PreparedAudit, again: PreparedAudit, moved: Collection[TopicPartition]) -> PreparedAudit:
    left_out = {**prepared.left_out, **{tp: again.left_out.get(tp, ()) for tp in moved}}
    stretches = [audit_range for audit_range in prepared.stretches if audit_range.source not in moved]
    errors = dict.fromkeys((*prepared.errors, *again.errors))
    return replace(prepared, stretches=(*stretches, *again.stretches), left_out=left_out, errors=tuple(errors))


def names(text: str | None) -> tuple[str, ...]:
    """Topics that are separated by commas."""
    return tuple(filter(None, (name.strip() for name in (text or "").split(","))))


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
