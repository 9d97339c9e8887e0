"""The tasks that audit a flow, or the interval of a backfill: they read little by themselves, and much by a Spark job."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from kafka_mirror.airflow.alert_store import remember_audit, store_of
from kafka_mirror.airflow.backfill_runs import previous_run
from kafka_mirror.airflow.backfill_xcom import resolution_of
from kafka_mirror.airflow.flow_files import configured_flow
from kafka_mirror.airflow.lineage import ReportsLineage, lineage_of_audit
from kafka_mirror.airflow.tasks import (
    RunsOnSpark,
    from_xcom,
    is_dry_run,
    pull,
    push_return_value,
    raise_errors,
    run_name,
    skip,
    task_body,
    to_xcom,
)
from kafka_mirror.backfill.model import Resolution
from kafka_mirror.config.flow import FlowName

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.sdk import Context

    from kafka_mirror.config import Flow
    from kafka_mirror.formats.offsets.intervals import Interval
    from kafka_mirror.formats.offsets.partition import TopicPartition


class AuditOperator(RunsOnSpark, ReportsLineage, BaseOperator):
    """Audits what the run's params ask for, and returns the result. It fails with the first difference of each partition."""

    template_fields: Sequence[str] = ()

    def __init__(self, *, flow: str, **options: Any) -> None:
        # Airflow knows an asset by the DAGs that name it: what an audit found is kept in this one's store.
        super().__init__(task_id="audit", inlets=[store_of(FlowName(*flow.split("->")))], **options)
        self.flow = flow

    def execute(self, context: Context) -> Any:
        """The whole task. Spark is started only for what is more than mirror.audit.spark.threshold."""
        from kafka_mirror.audit.job import by_size, on_spark
        from kafka_mirror.audit.report import errors_of, lines_of
        from kafka_mirror.audit.run import audit

        with task_body():
            flow = configured_flow(self.flow)
            arguments = self.audit_arguments(flow, context)
            compare = by_size(flow, on_spark(flow, partial(self.spark_runner, flow), self.audited_by()))
            result = audit(flow, **arguments, compare=compare)
            self.lineage = lineage_of_audit(flow, result)
            for line in lines_of(result):
                self.log.info("%s", line)
            document = result.as_document()
            remember_audit(flow, f"{context['dag_run'].dag_id}/{context['dag_run'].run_id}", document)
            value, errors = (
                to_xcom(document, result.totals),
                errors_of(result, arguments.get("topics", ()), bool(context["params"].get("complete"))),
            )
            if errors:
                push_return_value(value)
            raise_errors(f"{self.flow}: source and target are not proven to be the same", errors)
        return value

    def audit_arguments(self, flow: Flow, context: Context) -> dict[str, Any]:  # noqa: ARG002 — subclasses need the flow
        """The topics and times that the run's params name, as arguments of `audit`."""
        from kafka_mirror.audit.run import names, times

        params = context["params"]
        return {"topics": names(params.get("topics")), "times": times(params.get("from"), params.get("to"))}

    def audited_by(self) -> str:
        """Who audits: what an earlier audit by the same still reads on a Spark that stays is interrupted. The DAG has one run at a time."""
        return run_name().partition(" / ")[0]


class IntervalAuditOperator(AuditOperator):
    """Compares the run's interval on both sides, live part and history.

    It compares again what the previous run could only compare provisionally, because its interval reached the end of the source.
    """

    def audit_arguments(self, flow: Flow, context: Context) -> dict[str, Any]:
        """The intervals of the run's partitions."""
        if is_dry_run():
            skip("A dry run copies nothing, so there is nothing to compare.")
        if pull("resolve") is None:
            skip("The times have no offsets; the log of the task resolve says why.")
        offsets = _offsets(resolution_of(flow), context)
        if not offsets:
            skip("The interval has no offsets in any partition, so there is nothing to compare.")
        return {"source_offsets": offsets}

    def audited_by(self) -> str:
        """The run: several runs of a backfill may audit at once, and only the next try of one is its successor."""
        return run_name()


def _offsets(resolution: Resolution, context: Context) -> dict[TopicPartition, Interval]:
    """The intervals to compare; an interval that was provisional in the previous run begins where it began there."""
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
