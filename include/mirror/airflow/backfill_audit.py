"""The task that audits the interval of a backfill."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mirror.airflow.audit_operator import AuditOperator
from mirror.airflow.backfill_runs import before
from mirror.airflow.backfill_values import resolution_of
from mirror.airflow.context import is_dry_run, pull, skip
from mirror.airflow.xcom import from_xcom
from mirror.backfill.model import Resolution

if TYPE_CHECKING:
    from airflow.sdk import Context

    from mirror.config import Flow
    from mirror.offsets.intervals import Interval
    from mirror.offsets.partition import TopicPartition


class IntervalAuditOperator(AuditOperator):
    """Compares the interval of the run on both sides, live part and history. What reached the end in the run before, and was provisional
    there, is compared again."""

    def asked(self, flow: Flow, context: Context) -> dict[str, Any]:
        """The intervals of the run's partitions."""
        if is_dry_run():
            skip("A dry run copies nothing, so there is nothing to compare.")
        if pull("resolve") is None:
            skip("The times have no offsets; the log of the task resolve says why.")
        offsets = _offsets(resolution_of(flow), context)
        if not offsets:
            skip("The interval has no offsets in any partition, so there is nothing to compare.")
        return {"source_offsets": offsets}


def _offsets(resolution: Resolution, context: Context) -> dict[TopicPartition, Interval]:
    """The intervals, each from the start of the run before on where that one was provisional."""
    offsets = {each.topic_partition: (each.start, each.end) for each in resolution.intervals}
    for tp, start in _provisional_before(context).items():
        if tp in offsets:
            offsets[tp] = (min(start, offsets[tp][0]), offsets[tp][1])
    return {tp: (start, end) for tp, (start, end) in offsets.items() if start < end}


def _provisional_before(context: Context) -> dict[TopicPartition, int]:
    """Where the intervals began that reached the end in the run in front of this one."""
    run: Any = context["dag_run"]
    earlier = before(run)
    if earlier is None:
        return {}
    left = context["ti"].xcom_pull(dag_id=run.dag_id, task_ids="resolve", run_id=earlier.run_id)
    document = from_xcom(left) if left is not None else None
    if document is None:
        return {}
    return {each.topic_partition: each.start for each in Resolution.from_document(document).intervals if each.is_provisional}
