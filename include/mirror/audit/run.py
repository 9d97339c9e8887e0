"""Runs an audit of a flow: what there is to compare, both sides read, and the result."""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from mirror.audit.model import AuditResult
from mirror.audit.prepare import Prepared, prepare
from mirror.audit.scope import Scope
from mirror.audit.stretch import Stretch
from mirror.audit.stretch_audit import audit_stretches
from mirror.audit.summary import partition_audits
from mirror.audit.tails import with_foreign_tails
from mirror.audit.work import AuditWork, Outcome, audit_work
from mirror.config import Flow
from mirror.config.readable import check_readable
from mirror.errors import named_with
from mirror.kafka.cluster import Cluster
from mirror.kafka.connect import clusters, ledger_of
from mirror.offsets.intervals import Interval
from mirror.offsets.partition import TopicPartition

Compare = Callable[[AuditWork, Sequence[Stretch]], list[Outcome]]
"""Compares stretches: in this process, or by a Spark job."""

_ROUNDS = 3
_MOVED = "LogMoved"


def audit(
    flow: Flow,
    topics: Collection[str] = (),
    source_offsets: Mapping[TopicPartition, Interval] | None = None,
    times: tuple[datetime, datetime] | None = None,
    show_payload: bool = False,
    compare: Compare = audit_stretches,
) -> AuditResult:
    """Compares what the ledger says is copied with what stands on the target, and writes nothing.

    `topics`: only these source topics. `source_offsets`: only these intervals of source offsets, of these partitions alone. `times`: only
    records whose offsets lie between the first one stamped at or after the first time and that of the second. What was written as history
    is compared where it was written. A difference is in the result, and nothing is raised for it; what concerns a partition is in the
    result's errors. Raises what concerns the whole flow: ConfigurationError, ClusterUnreachable, LedgerDamaged …
    """
    check_readable(flow)
    began = time.monotonic()
    scope = Scope(tuple(topics), source_offsets, times)
    with named_with(flow.name), clusters(flow) as (source, target):
        work = audit_work(flow, show_payload)
        result = _compared(flow, source, target, scope, work, compare)
    return replace(result, seconds=time.monotonic() - began)


def what_to_compare(flow: Flow, scope: Scope) -> Prepared:
    """What an audit would read, without reading it. Raises as `audit`."""
    check_readable(flow)
    with named_with(flow.name), clusters(flow) as (source, target):
        return prepare(flow, source, target, scope)


def _compared(flow: Flow, source: Cluster, target: Cluster, scope: Scope, work: AuditWork, compare: Compare) -> AuditResult:
    """Compares, and once more what retention deleted meanwhile: it begins later then."""
    prepared = prepare(flow, source, target, scope)
    outcomes = compare(work, prepared.stretches) if prepared.stretches else []
    for _ in range(_ROUNDS - 1):
        moved = _moved(outcomes)
        if not moved:
            break
        again = prepare(flow, source, target, replace(scope, source_offsets=_offsets(scope, prepared, moved)))
        prepared = _with(prepared, again, moved)
        outcomes = [each for each in outcomes if each.stretch.source not in moved] + compare(work, again.stretches)
    outcomes = with_foreign_tails(ledger_of(flow, target), work, prepared, outcomes)
    partitions = partition_audits(prepared, outcomes)
    errors = dict.fromkeys((*prepared.errors, *(each.error for each in outcomes if each.error is not None)))
    isolation = "read_committed" if work.committed else "read_uncommitted"
    found = AuditResult(flow.name, prepared.time, partitions, tuple(errors), prepared.notices, isolation)
    return replace(found, errors=tuple(error.of_flow(flow.name) for error in found.errors))


def _moved(outcomes: Iterable[Outcome]) -> set[TopicPartition]:
    return {each.stretch.source for each in outcomes if each.error is not None and each.error.code == _MOVED}


def _offsets(scope: Scope, prepared: Prepared, moved: Iterable[TopicPartition]) -> dict[TopicPartition, Interval]:
    """What was asked for of these partitions; all of it up to where the copy was then."""
    asked = scope.source_offsets or {}
    return {tp: asked.get(tp, (0, prepared.records[tp].watermark)) for tp in moved}


def _with(prepared: Prepared, again: Prepared, moved: Collection[TopicPartition]) -> Prepared:
    left_out = {**prepared.left_out, **{tp: again.left_out.get(tp, ()) for tp in moved}}
    stretches = [each for each in prepared.stretches if each.source not in moved]
    errors = dict.fromkeys((*prepared.errors, *again.errors))
    return replace(prepared, stretches=(*stretches, *again.stretches), left_out=left_out, errors=tuple(errors))
