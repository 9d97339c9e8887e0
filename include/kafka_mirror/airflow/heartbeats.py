"""The task that lets Airflow's triggerer beat."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk.exceptions import TaskDeferred

from kafka_mirror.airflow.alert_store import store_of
from kafka_mirror.airflow.flow_files import configuration_of, files_of
from kafka_mirror.airflow.flow_operator import FlowOperator
from kafka_mirror.airflow.tasks import report_to_freshness, task_body
from kafka_mirror.config.flow import FlowName
from kafka_mirror.errors import ErrorReport, ReportedError
from kafka_mirror.formats.documents import from_document

if TYPE_CHECKING:
    from airflow.sdk import Context

RUN_SECONDS = 300
"""A run starts this often, and reads the configuration again."""

OVERLAP_SECONDS = 60
"""A run beats so much longer if the next one is late. It ends when the next one starts, so that no beat is missing between them."""

LATE_SECONDS = 60
"""How long the triggerer may take to say that a run has ended before its task fails."""


class HeartbeatOperator(FlowOperator):
    """Defers to a HeartbeatTrigger and returns what it did: the number of `beats`, and the times of the `first` and the `last`."""

    template_fields: Sequence[str] = ()

    def __init__(self, *, flow: str, **options: Any) -> None:
        super().__init__(flow=flow, inlets=[store_of(FlowName(*flow.split("->")))], **options)

    def execute(self, context: Context) -> Any:
        """Reads the configuration and defers to the triggerer."""
        from kafka_mirror.airflow.heartbeat_trigger import HeartbeatTrigger
        from kafka_mirror.topics.heartbeats import step

        with task_body():
            flow = configuration_of(self.flow).for_heartbeats().flow(self.flow)
            if context["params"].get("dry_run"):
                return step(flow, dry_run=True).result
        now = time.time()
        until = (now // RUN_SECONDS + 1) * RUN_SECONDS + OVERLAP_SECONDS
        self.log.info("%s: the triggerer beats until %s.", flow.name, datetime.fromtimestamp(until, UTC).isoformat(timespec="seconds"))
        timeout = timedelta(seconds=until - now + LATE_SECONDS)
        raise TaskDeferred(trigger=HeartbeatTrigger(self.flow, until, files_of(self.flow)), method_name="ended", timeout=timeout)

    def ended(self, _context: Context, event: Mapping[str, Any]) -> Mapping[str, Any]:
        """Returns what the trigger did. Raises the error that ended it; a retry beats on after a pause."""
        with task_body(), report_to_freshness(self.flow, "heartbeats"):
            if "error" in event:
                raise ReportedError(from_document(ErrorReport, event["error"]))
        self.log.info("%s: %d beats.", self.flow, event["beats"])
        return dict(event)
