"""The task that runs a step for the groups that `refresh-groups` found."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from kafka_mirror.airflow.alert_store import store_of
from kafka_mirror.airflow.flow_files import configured_flow
from kafka_mirror.airflow.flow_operator import FlowOperator
from kafka_mirror.airflow.tasks import (
    RunsOnSpark,
    from_xcom,
    is_dry_run,
    newest_xcom,
    push_return_value,
    raise_errors,
    report_to_freshness,
    run_name,
    task_body,
    to_xcom,
)
from kafka_mirror.config.flow import FlowName

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.sdk import Context

    from kafka_mirror.config import Flow
    from kafka_mirror.groups.find import KnownGroups
    from kafka_mirror.ledger.step import StepResult

REFRESH = "refresh-groups"
REFRESH_TASK = "refresh_groups"
_MAX_AGE_INTERVALS = 3
"""A list of groups that is older than this many intervals of refresh-groups is not used."""


class GroupOperator(RunsOnSpark, FlowOperator):
    """Runs `checkpoints` or `group-offsets` of a flow, and fails with what failed."""

    template_fields: Sequence[str] = ()

    def __init__(self, *, flow: str, step: str, **options: Any) -> None:
        super().__init__(flow=flow, task_id=step.replace("-", "_"), inlets=[store_of(FlowName(*flow.split("->")))], **options)
        self.step = step

    def execute(self, context: Context) -> Any:
        """The whole task."""
        from kafka_mirror.groups.undo import undo_step

        undo = context["params"].get("undo")
        with task_body(), report_to_freshness(self.flow, self.step, is_told=not (undo or is_dry_run())):
            flow = configured_flow(self.flow)
            result = undo_step(flow, undo, is_dry_run()) if undo else self._run(flow)
            for line in result.lines:
                self.log.info("%s", line)
            value = to_xcom(result.result, result.totals)
            if result.errors:
                push_return_value(value)
            raise_errors(f"{self.flow}: {self.step} failed in part", result.errors)
        return value

    def _run(self, flow: Flow) -> StepResult:
        from kafka_mirror.groups.job import run_group_step

        groups = self._fresh_groups(flow)
        if groups is None:
            self.log.info("There is no fresh list of groups from %s, so the source is asked.", flow.dag_id(REFRESH))
        runner = partial(self.spark_runner, flow)
        return run_group_step(self.step, flow, groups, is_dry_run(), runner, "its DAG", run=run_name())

    def _fresh_groups(self, flow: Flow) -> KnownGroups | None:
        """The newest list of groups; None if it is too old, or of another configuration."""
        from kafka_mirror.groups.find import recall_groups

        value = newest_xcom(flow.dag_id(REFRESH), REFRESH_TASK)
        document = from_xcom(value) if value is not None else None
        max_age_seconds = _MAX_AGE_INTERVALS * flow.value("refresh.groups.interval.seconds")
        return recall_groups(document, flow.config_hash, datetime.now(UTC), max_age_seconds) if document is not None else None
