"""The tasks of the `backfill` DAG: times to offsets, the two copies, and the summary.

A copy works in slices of one run's budget, and gives its slot in the pool back between two of them.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from airflow.sdk import TriggerRule, get_current_context
from airflow.sdk.exceptions import AirflowRescheduleException

from kafka_mirror.airflow.backfill_runs import SUMMARY, clear_number, list_unfinished_before, range_to_tell
from kafka_mirror.airflow.backfill_xcom import (
    history_is_requested,
    part_from_xcom,
    part_to_xcom,
    request,
    resolution_of,
    resolution_to_xcom,
)
from kafka_mirror.airflow.copy import CopyOperator
from kafka_mirror.airflow.flow_files import configured_flow
from kafka_mirror.airflow.flow_operator import flow_task, is_true, split_names
from kafka_mirror.airflow.lineage import lineage_of_copy
from kafka_mirror.airflow.state_stores import task_store
from kafka_mirror.airflow.tasks import is_dry_run, log_lines, pull, push_return_value, raise_errors, run_name, skip, task_body
from kafka_mirror.backfill.model import IN_TIME_ORDER, BackfillRequest, Resolution, TimeInterval, time_interval
from kafka_mirror.backfill.summary import DONE, RangeSummary, summary
from kafka_mirror.errors import AuditDifferent, ErrorReport, JobFailed
from kafka_mirror.errors.next_step import program
from kafka_mirror.status.alerts.channels import connections_of, send
from kafka_mirror.status.problems import Alert, key_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.sdk import Context

    from kafka_mirror.backfill.model import BackfillPart
    from kafka_mirror.config import Flow
    from kafka_mirror.copy.model import LaneResult


log = logging.getLogger(__name__)


_TASKS = ("live", "history", "audit", "announce")

PAUSE = timedelta(seconds=2)
"""Between two slices: long enough for a waiting copy to take the slot in the pool."""

_SLICES = "slices"
_HISTORY_NOT_REQUESTED = (
    "No history is written: this run was not asked for it. What lies below the copy's start stays there, and the audit leaves it out. "
    "To have it: Airflow's Backfill over the days (Trigger, Backfill), or a run by hand with the parameter history = true, or "
    "{} backfill --flow '{}' --from … --to …"
)


@flow_task(task_id="resolve")
def resolve_times(flow_name: str) -> dict[str, Any]:
    """Returns the offsets that the run's times come to. A partition without offsets does not fail this task: it is in the result, and fails
    the summary."""
    from kafka_mirror.backfill.resolve import resolve

    with task_body():
        flow = configured_flow(flow_name)
        resolution = resolve(flow, request(flow))
    for notice in resolution.notices:
        log.warning("%s", notice)
    for error in resolution.errors:
        log_lines(error.lines)
    log.info("%s", resolution)
    return resolution_to_xcom(resolution)


@flow_task(task_id="summary", trigger_rule=TriggerRule.ALL_DONE, retries=0)
def summarize(flow_name: str) -> str:
    """Fails with everything that failed or is left. The last run of one of Airflow's backfills sends the summary of the whole range."""
    with task_body():
        flow = configured_flow(flow_name)
        audit_value: Any = pull("audit")
        live, history = part_from_xcom(pull("live")), part_from_xcom(pull("history"))
        result = summary(_resolution(flow), live, history, _state(audit_value), _fail_without_result(flow_name))
        log.info("%s", result)
        for text in result.not_had:
            log.warning("Could not be had: %s", text)
        if is_dry_run():
            raise_errors(f"{flow_name}: this would fail", result.errors)
            summary_line = f"{flow_name}: {live.owed:,} live offsets and {history.owed:,} offsets of history would be copied."
            log.info("%s", summary_line)
            return summary_line
        run: Any = get_current_context()["dag_run"]
        get_current_context()["ti"].xcom_push(SUMMARY, {"cleared": clear_number(run), "summary": result.as_document()})
        range_summary = range_to_tell(result)
        if range_summary is not None:
            _notify(flow, range_summary)
        raise_errors(str(result), result.errors)
    return str(result)


def _resolution(flow: Flow) -> Resolution:
    try:
        return resolution_of(flow)
    except JobFailed as error:
        return Resolution(flow.name, request(flow).times, errors=(error.report(),))


def _fail_without_result(flow_name: str) -> list[ErrorReport]:
    """One error for each task that failed without an error in its result."""
    context: Any = get_current_context()
    run = context["dag_run"]
    states = context["ti"].get_task_states(dag_id=run.dag_id, task_ids=list(_TASKS), run_ids=[run.run_id]).get(run.run_id, {})
    failed = [name for name in _TASKS if states.get(name) in ("failed", "upstream_failed")]
    reports = []
    for name in failed:
        value: Any = pull(name)
        if name == "audit" and value is not None:
            reports.append(_audit_error(f"audit: {_state(value)}"))
        elif value is None:
            message = f"{flow_name}: the task {name} failed without a result."
            reports.append(JobFailed(message, next=f"The log of the task {name} says why.").report())
    return reports


def _state(audit_value: Any) -> str:
    if audit_value is None:
        return ""
    totals = audit_value.get("totals") or {"state": audit_value.get("total_state", "")}
    return str(totals["state"])


def _audit_error(text: str) -> ErrorReport:
    return ErrorReport(AuditDifferent.__name__, text, next="The log of the task audit shows both records.")


def _notify(flow: Flow, summary: RangeSummary) -> None:
    """Sends the summary of a range by the flow's alert connections, if it has any."""
    log.info("%s", summary)
    if not connections_of(flow):
        return
    good = summary.state == DONE
    send(
        flow,
        Alert(
            key=key_of(flow.name, "Backfill", f"{summary.times.start}-{summary.times.end}"),
            kind="Backfill",
            summary=summary.headline(),
            detail=summary.detail(),
            next=""
            if good
            else f"Look at the runs of {flow.dag_id('backfill')} that are red: the log of their task summary says what to do.",
            since=datetime.now(UTC),
            flow=flow.name,
            severity="info" if good else "error",
        ),
    )


class MirrorBackfillOperator(CopyOperator):
    """Brings the time interval `[start, end)` to the target in one task, also from before the copy began, and returns the summary.

    A second run of it copies nothing. `topics` are source topics, in a list or between commas; without any, all of the flow's. `into`,
    `order`, `accept_wild_timestamps` and `history` are as in the trigger form of the backfill DAG; here history is written unless it is
    switched off. With `plan_only` it only says what it would copy. It audits nothing: MirrorAuditOperator does.
    """

    template_fields: Sequence[str] = (
        *("flow", "topics", "start", "end", "into", "order", "history", "accept_wild_timestamps", "plan_only"),
    )

    def __init__(
        self,
        *,
        start: str | datetime,
        end: str | datetime,
        topics: str | Sequence[str] = (),
        into: str | None = None,
        order: str | None = None,
        history: bool | str = True,
        accept_wild_timestamps: bool | str = False,
        plan_only: bool | str = False,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.start = start
        self.end = end
        self.topics = topics
        self.into = into
        self.order = order
        self.history = history
        self.accept_wild_timestamps = accept_wild_timestamps
        self.plan_only = plan_only

    def execute(self, context: Context) -> Any:  # noqa: ARG002 — the base class's
        """Runs slices until the interval is there. Raises ReportedError with all that failed."""
        from kafka_mirror.backfill.run import run_backfill

        with task_body():
            flow = configured_flow(self.flow)
            outcome = run_backfill(flow, self._request(), partial(self.copy_by_job, flow), is_true(self.plan_only), run_name())
            result = summary(outcome.resolution, outcome.live, outcome.history)
            for text in (*outcome.resolution.notices, *result.not_had):
                self.log.warning("%s", text)
            self.log.info("%s", result)
            value = result.as_document()
            if result.errors:
                push_return_value(value)
            raise_errors(str(result), result.errors)
        return value

    def _request(self) -> BackfillRequest:
        """What the arguments ask for. Raises UsageError."""
        return BackfillRequest(
            times=time_interval(str(self.start), str(self.end)),
            topics=split_names(self.topics),
            into=self.into or None,
            order=self.order or None,
            accept_wild=True if is_true(self.accept_wild_timestamps) else None,
            history=is_true(self.history),
        )


class FillOperator(CopyOperator):
    """Fills the live part of the run's interval, or its history, and returns what it did.

    Without work it starts no Spark. The next slice takes what a slice leaves, as long as a slice gets further: the error of one partition
    does not stop the others. A slice that gets no further fails with the errors; a retry begins at what the ledger says.
    """

    def __init__(self, *, part: Literal["live", "history"], **options: Any) -> None:
        super().__init__(**options)
        self.part = part

    def execute(self, context: Context) -> Any:
        """One slice. Raises AirflowRescheduleException if the next slice has work."""
        if pull("resolve") is None:
            skip("The times have no offsets; the log of the task resolve says why.")
        if self.part == "history" and not history_is_requested():
            skip(_HISTORY_NOT_REQUESTED.format(program(), self.flow))
        with task_body():
            flow = configured_flow(self.flow)
            previous, part = self._previous_part(context), self._slice(flow, context)
            total, progressed = previous.plus(part), part.owed < previous.owed if previous.offsets else bool(part.records)
            for text in (*total.notices, *total.not_had):
                self.log.warning("%s", text)
            offsets, owed = f"{total.offsets:,}", f"{total.owed:,}"
            self.log.info(
                "%s records copied; of the interval's %s %s offsets, %s are left.", f"{total.records:,}", offsets, self.part, owed
            )
            value = part_to_xcom(total)
            if not is_dry_run():
                self._store(context, value)
                if total.owed and (progressed or not total.errors):
                    for error in total.errors:
                        log_lines(error.lines)
                    self.log.info("The next slice begins in %d s; the copy may have the place in the pool meanwhile.", PAUSE.seconds)
                    raise AirflowRescheduleException(datetime.now(UTC) + PAUSE)  # type: ignore[no-untyped-call]
            if total.errors:
                push_return_value(value)
            raise_errors(f"{self.flow}: the {self.part} part could not be filled everywhere", total.errors)
            task_store(context).delete(_SLICES)
        return value

    def _slice(self, flow: Flow, context: Context) -> BackfillPart:
        # Not while the DAG's file is parsed: they bring the Kafka clients.
        from kafka_mirror.backfill.history import history_slice
        from kafka_mirror.backfill.live import live_slice

        resolution, backfill_request = resolution_of(flow), request(flow)
        copied: list[LaneResult] = []

        def copy(plan: Any) -> Any:
            results = self.copy_by_job(flow, plan)
            copied.extend(results)
            return results

        if self.part == "live":
            part = live_slice(flow, resolution, copy, is_dry_run(), run_name())
        else:
            intervals = _with_unfinished_runs(flow, backfill_request, resolution, context)
            part = history_slice(flow, backfill_request, intervals, copy, is_dry_run())
        lineage = lineage_of_copy(flow, copied)
        self.lineage = lineage and lineage.into(part.into)
        return part

    def _previous_part(self, context: Context) -> BackfillPart:
        """What earlier slices of this run did since somebody cleared it: figures add up over slices and retries."""
        stored: Any = task_store(context).get(_SLICES)
        return part_from_xcom(stored["part"] if stored and stored["cleared"] == clear_number(context["dag_run"]) else None)

    def _store(self, context: Context, value: dict[str, Any]) -> None:
        task_store(context).set(_SLICES, {"cleared": clear_number(context["dag_run"]), "part": value})


def _with_unfinished_runs(flow: Flow, backfill_request: BackfillRequest, resolution: Resolution, context: Context) -> Resolution:
    """The intervals, begun at the earliest unfinished run of the same backfill.

    Airflow starts the runs of a backfill in any order. The first one writes the history of the earlier ones too, so that history stands in
    time order; those find nothing left to write.
    """
    run: Any = context["dag_run"]
    if run.run_type != "backfill" or (backfill_request.order or flow.value("mirror.backfill.order")) != IN_TIME_ORDER:
        return resolution
    starts = [earlier_run.data_interval_start for earlier_run in list_unfinished_before(run)]
    if not starts:
        return resolution
    from kafka_mirror.backfill.resolve import resolve

    times = TimeInterval(round(min(starts).timestamp() * 1000), backfill_request.times.end)
    intervals = resolve(flow, replace(backfill_request, times=times)).by_partition()
    longer = (intervals.get(interval.topic_partition, interval) for interval in resolution.intervals)
    return replace(resolution, intervals=tuple(longer))
