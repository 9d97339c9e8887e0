"""The sensor for people's own DAGs: it waits for the mirror."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseSensorOperator, PokeReturnValue
from airflow.sdk.exceptions import TaskDeferred

from kafka_mirror.airflow.compat import is_deferrable_by_default
from kafka_mirror.airflow.flow_files import files_of
from kafka_mirror.airflow.flow_operator import FlowOperator, split_names
from kafka_mirror.airflow.tasks import task_body
from kafka_mirror.config.catalogue.values import milliseconds
from kafka_mirror.errors import ErrorReport, ReportedError, UsageError
from kafka_mirror.formats.documents import from_document

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from airflow.sdk import Context


class MirrorCompleteSensor(FlowOperator, BaseSensorOperator):
    """Waits until every record that the source stamped before `up_to` is on the target, by the source's offsets and the mirror's ledger.

    `topics` are source topics, in a list or between commas; without any, all of the flow's. A partition that is paused or that an error
    holds back keeps it waiting, and the log says so. With `deferrable` it waits in the triggerer and takes no slot of a worker; by default
    as Airflow's `[operators] default_deferrable` says. It returns `up_to` and how many partitions and offsets there were.
    """

    template_fields: Sequence[str] = ("flow", "topics", "up_to")

    def __init__(self, *, up_to: str | datetime, topics: str | Sequence[str] = (), deferrable: bool | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.topics = topics
        self.up_to = up_to
        self.deferrable = is_deferrable_by_default() if deferrable is None else deferrable

    def execute(self, context: Context) -> Any:
        """Looks once, and defers if it has to wait; without `deferrable` it looks again and again, as every sensor."""
        if not self.deferrable:
            return super().execute(context)
        answer = self.poke(context)
        if answer:
            return answer.xcom_value
        from kafka_mirror.airflow.complete_trigger import MirrorCompleteTrigger

        trigger = MirrorCompleteTrigger(self.flow, split_names(self.topics), self._milliseconds(), self.poke_interval, files_of(self.flow))
        raise TaskDeferred(trigger=trigger, method_name="execute_complete", timeout=timedelta(seconds=self.timeout))

    def execute_complete(self, _context: Context, event: Mapping[str, Any]) -> Mapping[str, Any]:
        """Returns the figures that the trigger gives, or raises its error."""
        with task_body():
            if "error" in event:
                raise ReportedError(from_document(ErrorReport, event["error"]))
        self.log.info("%s: everything up to %s is on the target.", self.flow, event["up_to"])
        return dict(event)

    def poke(self, context: Context) -> PokeReturnValue:  # noqa: ARG002 — the base class's
        """Asks the clusters and the ledger once. Raises what does not pass by itself: a topic that the flow does not mirror, a login."""
        from kafka_mirror.airflow.complete_trigger import look

        with task_body():
            arrival = look(self.flow, files_of(self.flow), split_names(self.topics), self._milliseconds())
        return PokeReturnValue(arrival is not None and arrival.is_complete, arrival and arrival.totals)

    def _milliseconds(self) -> int:
        try:
            return milliseconds(str(self.up_to))
        except ValueError as error:
            raise UsageError(f"up_to cannot be used: {error}.", next="Give a time, such as '{{ data_interval_end }}'.") from None
