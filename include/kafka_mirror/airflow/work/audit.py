"""What the tasks do that audit a flow, or the interval of a backfill: they read little by themselves, and much by a Spark job."""

import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow.sdk import Context

from kafka_mirror.airflow.flow_files import configured_flow
from kafka_mirror.airflow.tasks import (
    from_xcom,
    is_dry_run,
    is_true,
    log_lines,
    pull,
    return_or_raise,
    run_name,
    skip,
    split_names,
    task_body,
    to_xcom,
)
from kafka_mirror.airflow.work.backfill_run import previous_run, resolution_of
from kafka_mirror.airflow.work.lineage import lineage_of_audit
from kafka_mirror.airflow.work.state_stores import remember_audit
from kafka_mirror.audit.parallel import choose_by_size, compare_by_job
from kafka_mirror.audit.report import errors_of, lines_of
from kafka_mirror.audit.run import audit, times
from kafka_mirror.backfill.model import Resolution
from kafka_mirror.config import Flow
from kafka_mirror.errors import UsageError
from kafka_mirror.formats.offsets.intervals import Interval
from kafka_mirror.formats.offsets.partition import TopicPartition

if TYPE_CHECKING:
    from kafka_mirror.airflow.operators import MirrorAuditOperator


def run_audit(operator: "MirrorAuditOperator", context: Context) -> dict[str, Any]:
    """Compares the topics and times that the operator names."""
    start, end = (str(time or "") for time in (operator.start, operator.end))
    with task_body():
        if start and start == end:
            raise UsageError(
                f"The audit's start and end are both {start}, so there is nothing to compare.",
                next="A DAG with schedule='@daily' has runs without a data interval in Airflow 3; with "
                "schedule=CronDataIntervalTimetable('@daily', timezone='UTC') each run has one.",
            )
        return _compare(operator, configured_flow(operator.flow), context, topics=split_names(operator.topics), times=times(start, end))


def audit_interval(operator: "MirrorAuditOperator", context: Context) -> dict[str, Any]:
    """Compares the interval of a backfill's run on both sides, live part and history."""
    with task_body():
        if is_dry_run():
            skip("A dry run copies nothing, so there is nothing to compare.")
        if pull("resolve") is None:
            skip("The times have no offsets; the log of the task resolve says why.")
        flow = configured_flow(operator.flow)
        offsets = _offsets(resolution_of(flow), context)
        if not offsets:
            skip("The interval has no offsets in any partition, so there is nothing to compare.")
        return _compare(operator, flow, context, source_offsets=offsets)


def _compare(operator: "MirrorAuditOperator", flow: Flow, context: Context, **scope: Any) -> dict[str, Any]:
    """Compares, and leaves the result to the alerts of the freshness DAG."""
    compare = choose_by_size(flow, compare_by_job(flow, partial(operator.spark_runner, flow), name_auditor(operator)))
    result = audit(flow, **scope, compare=compare)
    operator.lineage = lineage_of_audit(flow, result)
    log_lines(lines_of(result), logging.INFO)
    document = result.as_document()
    run: Any = context["dag_run"]
    remember_audit(flow, f"{run.dag_id}/{run.run_id}", document)
    errors = errors_of(result, scope.get("topics", ()), is_true(operator.complete))
    summary = f"{flow.name}: source and target are not proven to be the same"
    value: dict[str, Any] = return_or_raise(to_xcom(document, result.totals), summary, errors)
    return value


def name_auditor(operator: "MirrorAuditOperator") -> str:
    """Who audits: the task in its run. What an earlier try of it still reads on a Spark that stays is interrupted."""
    return f"{run_name()} / {operator.task_id}"


def _offsets(resolution: Resolution, context: Context) -> dict[TopicPartition, Interval]:
    """The intervals to compare. What the previous run could only compare provisionally, because its interval reached the end of the source,
    is compared again: such an interval begins where it began there."""
    offsets = {interval.topic_partition: (interval.start, interval.end) for interval in resolution.intervals}
    for tp, start in _provisional_before(context).items():
        if tp in offsets:
            offsets[tp] = (min(start, offsets[tp][0]), offsets[tp][1])
    return {tp: (start, end) for tp, (start, end) in offsets.items() if start < end}


def _provisional_before(context: Context) -> dict[TopicPartition, int]:
    """The starts of the previous run's intervals that reached the end of the source."""
    run: Any = context["dag_run"]
    previous = previous_run(run)
    if previous is None:
        return {}
    value = context["ti"].xcom_pull(dag_id=run.dag_id, task_ids="resolve", run_id=previous.run_id)
    document = from_xcom(value) if value is not None else None
    if document is None:
        return {}
    return {
        interval.topic_partition: interval.start for interval in Resolution.from_document(document).intervals if interval.is_provisional
    }
