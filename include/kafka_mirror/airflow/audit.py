"""The tasks that audit a flow, or the interval of a backfill: they read little by themselves, and much by a Spark job."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from kafka_mirror.airflow.alert_store import remember_audit, store_of
from kafka_mirror.airflow.backfill_runs import previous_run
from kafka_mirror.airflow.backfill_xcom import resolution_of
from kafka_mirror.airflow.flow_files import configured_flow, flow_name
from kafka_mirror.airflow.flow_operator import FlowOperator, is_true, split_names
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
from kafka_mirror.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from airflow.sdk import Context

    from kafka_mirror.config import Flow
    from kafka_mirror.formats.offsets.intervals import Interval
    from kafka_mirror.formats.offsets.partition import TopicPartition


class MirrorAuditOperator(RunsOnSpark, ReportsLineage, FlowOperator):
    """Compares source and target record by record and returns the result. It fails with the first difference of each partition.

    `topics` are source topics, in a list or between commas; without any, all of the flow's. With `start` and `end` it compares what is
    stamped in `[start, end)`, without them everything that is copied. With `complete` it fails, too, while anything of it is not copied
    yet or could not be compared. Spark is started only for what is more than mirror.audit.spark.threshold.
    """

    template_fields: Sequence[str] = ("flow", "topics", "start", "end", "complete")

    def __init__(
        self,
        *,
        flow: str,
        topics: str | Sequence[str] = (),
        start: str | datetime | None = None,
        end: str | datetime | None = None,
        complete: bool | str = False,
        **options: Any,
    ) -> None:
        # Airflow knows an asset by the DAGs that name it: what an audit found is kept in this one's store.
        inlets = [*options.pop("inlets", ()), store_of(flow_name(flow))]
        super().__init__(flow=flow, inlets=inlets, **options)
        self.topics = topics
        self.start = start
        self.end = end
        self.complete = complete

    def execute(self, context: Context) -> Any:
        """Compares, and leaves the result to the alerts of the freshness DAG."""
        from kafka_mirror.audit.parallel import choose_by_size, compare_by_job
        from kafka_mirror.audit.report import errors_of, lines_of
        from kafka_mirror.audit.run import audit

        with task_body():
            flow = configured_flow(self.flow)
            scope = self.scope(flow, context)
            compare = choose_by_size(flow, compare_by_job(flow, partial(self.spark_runner, flow), self.audited_by()))
            result = audit(flow, **scope, compare=compare)
            self.lineage = lineage_of_audit(flow, result)
            for line in lines_of(result):
                self.log.info("%s", line)
            document = result.as_document()
            remember_audit(flow, f"{context['dag_run'].dag_id}/{context['dag_run'].run_id}", document)
            value = to_xcom(document, result.totals)
            errors = errors_of(result, scope.get("topics", ()), is_true(self.complete))
            if errors:
                push_return_value(value)
            raise_errors(f"{self.flow}: source and target are not proven to be the same", errors)
        return value

    def scope(self, flow: Flow, context: Context) -> dict[str, Any]:  # noqa: ARG002 — a subclass needs both
        """The topics and times to compare, as arguments of `audit`."""
        from kafka_mirror.audit.run import times

        start, end = (str(time or "") for time in (self.start, self.end))
        if start and start == end:
            raise UsageError(
                f"The audit's start and end are both {start}, so there is nothing to compare.",
                next="A DAG with schedule='@daily' has runs without a data interval in Airflow 3; with "
                "schedule=CronDataIntervalTimetable('@daily', timezone='UTC') each run has one.",
            )
        return {"topics": split_names(self.topics), "times": times(start, end)}

    def audited_by(self) -> str:
        """Who audits: this task in its run. What an earlier try of it still reads on a Spark that stays is interrupted."""
        return f"{run_name()} / {self.task_id}"


class IntervalAuditOperator(MirrorAuditOperator):
    """Compares the interval of a backfill's run on both sides, live part and history.

    It compares again what the previous run could only compare provisionally, because its interval reached the end of the source.
    """

    def scope(self, flow: Flow, context: Context) -> dict[str, Any]:
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
