"""The tasks that copy in a backfill: slices of a run's budget, between which the task gives its place in the pool back."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

from airflow.sdk.exceptions import AirflowRescheduleException

from mirror.airflow.backfill_runs import unfinished_before
from mirror.airflow.backfill_values import history_is_asked_for, part_from_xcom, part_to_xcom, request, resolution_of
from mirror.airflow.context import is_dry_run, leave, pull, run_name, skip
from mirror.airflow.copy_operator import CopyOperator
from mirror.airflow.errors import as_airflow_errors, raise_errors
from mirror.backfill.model import IN_TIME_ORDER
from mirror.backfill.tiling import TimeInterval
from mirror.config import load

if TYPE_CHECKING:
    from airflow.sdk import Context

    from mirror.backfill.model import Part, Request, Resolution
    from mirror.config import Flow

PAUSE = timedelta(seconds=2)
"""Between two slices: long enough for a copy that waits to take the place."""

_SLICES = "slices"
_UNASKED = (
    "No history is written: nobody asked this run for it. What lies below the copy's start stays where it is, and the audit leaves it out. "
    "To have it: Airflow's Backfill over the days (Trigger, Backfill), or a run by hand with the parameter history = true, or "
    "python -m mirror backfill --flow '{}' --from … --to …"
)


class FillOperator(CopyOperator):
    """Fills the live part of the run's interval, or its history, and returns what it did.

    Without anything to do it starts no Spark. What is left after a slice is the next one's, as long as one gets any further: what fails for
    one partition keeps none of the others waiting. Then an error ends it, and what is retriable is tried again from what the ledger says.
    """

    def __init__(self, *, part: Literal["live", "history"], **options: Any) -> None:
        super().__init__(**options)
        self.part = part

    def execute(self, context: Context) -> Any:
        """One slice. Raises AirflowRescheduleException if something is left that the next one may do."""
        if pull("resolve") is None:
            skip("The times have no offsets; the log of the task resolve says why.")
        if self.part == "history" and not history_is_asked_for():
            skip(_UNASKED.format(self.flow))
        with as_airflow_errors():
            flow = load().flow(self.flow)
            earlier, part = self._so_far(context), self._slice(flow, context)
            done, moved = earlier.plus(part), part.owed < earlier.owed if earlier.offsets else bool(part.records)
            for text in (*done.notices, *done.not_had):
                self.log.warning("%s", text)
            self.log.info("%d records copied, %d of %d offsets left.", done.records, done.owed, done.offsets)
            value = part_to_xcom(done)
            if not is_dry_run():
                self._keep(context, value)
                if done.owed and (moved or not done.errors):
                    for error in done.errors:
                        self.log.error("%s", error)
                    self.log.info("The next slice begins in %d s; the copy may have the place in the pool meanwhile.", PAUSE.seconds)
                    raise AirflowRescheduleException(datetime.now(UTC) + PAUSE)  # type: ignore[no-untyped-call]
            if done.errors:
                leave(value)
            raise_errors(f"{self.flow}: the {self.part} part could not be filled everywhere", done.errors)
        return value

    def _slice(self, flow: Flow, context: Context) -> Part:
        # Not while the DAG's file is parsed: they bring the Kafka clients.
        from mirror.backfill.history import history_slice
        from mirror.backfill.live import live_slice

        resolution, asked = resolution_of(flow), request(flow)

        def copy(plan: Any) -> Any:
            return self._run_job(flow, plan)

        if self.part == "live":
            return live_slice(flow, resolution, copy, is_dry_run(), run_name())
        return history_slice(flow, asked, _with_earlier(flow, asked, resolution, context), copy, is_dry_run())

    def _so_far(self, context: Context) -> Part:
        """What the slices before did, in this clearing of the run: the figures add up over slices and retries."""
        kept: Any = context["task_state_store"].get(_SLICES)
        return part_from_xcom(kept["part"] if kept and kept["cleared"] == _cleared(context) else None)

    def _keep(self, context: Context, value: dict[str, Any]) -> None:
        context["task_state_store"].set(_SLICES, {"cleared": _cleared(context), "part": value})


def _with_earlier(flow: Flow, asked: Request, resolution: Resolution, context: Context) -> Resolution:
    """The intervals from the earliest unfinished run of the same backfill on. Whichever of its runs comes first writes the history of those
    before it as well, so that it stands in time order whatever the order of the runs; those find nothing left to write."""
    run: Any = context["dag_run"]
    if run.run_type != "backfill" or (asked.order or flow.value("mirror.backfill.order")) != IN_TIME_ORDER:
        return resolution
    earlier = [each.data_interval_start for each in unfinished_before(run)]
    if not earlier:
        return resolution
    from mirror.backfill.resolve import resolve

    times = TimeInterval(round(min(earlier).timestamp() * 1000), asked.times.end)
    longer = resolve(flow, replace(asked, times=times)).by_partition()
    return replace(resolution, intervals=tuple(longer.get(each.topic_partition, each) for each in resolution.intervals))


def _cleared(context: Context) -> int:
    run: Any = context["dag_run"]
    return int(run.clear_number or 0)
