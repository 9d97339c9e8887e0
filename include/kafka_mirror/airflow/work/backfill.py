"""What the tasks of the `backfill` DAG do, and the operator for one interval: times to offsets, the two copies, and the summary.

A copy works in slices of one run's budget, and gives its slot in the pool back between two of them.
"""

import logging
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow.sdk import Context, get_current_context
from airflow.sdk.exceptions import AirflowRescheduleException

from kafka_mirror.airflow.flow_files import configured_flow
from kafka_mirror.airflow.tasks import (
    clear_number,
    is_dry_run,
    is_true,
    log_lines,
    pull,
    raise_errors,
    return_or_raise,
    run_name,
    skip,
    split_names,
    task_body,
    to_xcom,
)
from kafka_mirror.airflow.work.backfill_run import (
    SUMMARY,
    history_is_requested,
    list_unfinished_before,
    part_from_xcom,
    part_to_xcom,
    range_to_tell,
    request,
    resolution_of,
)
from kafka_mirror.airflow.work.copy import copy_by_job
from kafka_mirror.airflow.work.lineage import lineage_of_copy
from kafka_mirror.airflow.work.state_stores import task_store
from kafka_mirror.backfill.history import history_slice
from kafka_mirror.backfill.live import live_slice
from kafka_mirror.backfill.model import (
    DONE,
    IN_TIME_ORDER,
    BackfillPart,
    BackfillRequest,
    RangeSummary,
    Resolution,
    TimeInterval,
    summarize,
    time_interval,
)
from kafka_mirror.backfill.resolve import resolve
from kafka_mirror.backfill.run import run_backfill
from kafka_mirror.config import Flow
from kafka_mirror.copy.model import LaneResult
from kafka_mirror.copy.plan.model import Plan
from kafka_mirror.errors import AuditDifferent, ErrorReport, JobFailed
from kafka_mirror.errors.next_step import program
from kafka_mirror.status.alerts.channels import connections_of, send
from kafka_mirror.status.problems import Alert, key_of

if TYPE_CHECKING:
    from kafka_mirror.airflow.dags.backfill import FillOperator
    from kafka_mirror.airflow.operators import MirrorBackfillOperator

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


def resolve_times(flow_name: str) -> dict[str, Any]:
    """The offsets that the run's times come to, for XCom."""
    with task_body():
        flow = configured_flow(flow_name)
        resolution = resolve(flow, request(flow))
    log_lines(resolution.notices, logging.WARNING)
    for error in resolution.errors:
        log_lines(error.lines)
    log.info("%s", resolution)
    return to_xcom(resolution.as_document(), resolution.totals)


def summarize_run(flow_name: str) -> str:
    """The run's summary in a line. Raises ReportedError with all that failed or is left."""
    with task_body():
        flow = configured_flow(flow_name)
        audit_value: Any = pull("audit")
        live, history = part_from_xcom(pull("live")), part_from_xcom(pull("history"))
        try:
            resolution = resolution_of(flow)
        except JobFailed as error:
            resolution = Resolution(flow.name, request(flow).times, errors=(error.report(),))
        result = summarize(resolution, live, history, _read_state(audit_value), _fail_without_result(flow_name))
        log.info("%s", result)
        log_lines((f"Could not be had: {text}" for text in result.not_had), logging.WARNING)
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


def _fail_without_result(flow_name: str) -> list[ErrorReport]:
    """One error for each task that failed without an error in its result."""
    context: Any = get_current_context()
    run = context["dag_run"]
    states = context["ti"].get_task_states(dag_id=run.dag_id, task_ids=list(_TASKS), run_ids=[run.run_id]).get(run.run_id, {})
    reports = []
    for name in (name for name in _TASKS if states.get(name) in ("failed", "upstream_failed")):
        value: Any = pull(name)
        if name == "audit" and value is not None:
            text = f"audit: {_read_state(value)}"
            reports.append(ErrorReport(AuditDifferent.__name__, text, next="The log of the task audit shows both records."))
        elif value is None:
            message = f"{flow_name}: the task {name} failed without a result."
            reports.append(JobFailed(message, next=f"The log of the task {name} says why.").report())
    return reports


def _read_state(audit_value: Any) -> str:
    """The state of an audit; empty without one."""
    if audit_value is None:
        return ""
    totals = audit_value.get("totals") or {"state": audit_value.get("total_state", "")}
    return str(totals["state"])


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
            summary=summary.headline,
            detail=summary.detail,
            next=""
            if good
            else f"Look at the runs of {flow.dag_id('backfill')} that are red: the log of their task summary says what to do.",
            since=datetime.now(UTC),
            flow=flow.name,
            severity="info" if good else "error",
        ),
    )


def run_interval(operator: "MirrorBackfillOperator") -> dict[str, Any]:
    """Runs slices until the interval is there, and gives the summary. Raises ReportedError with all that failed."""
    with task_body():
        flow = configured_flow(operator.flow)
        backfill_request = BackfillRequest(
            times=time_interval(str(operator.start), str(operator.end)),
            topics=split_names(operator.topics),
            into=operator.into or None,
            order=operator.order or None,
            accept_wild=True if is_true(operator.accept_wild_timestamps) else None,
            history=is_true(operator.history),
        )
        outcome = run_backfill(flow, backfill_request, partial(copy_by_job, operator, flow), is_true(operator.plan_only), run_name())
        result = summarize(outcome.resolution, outcome.live, outcome.history)
        log_lines((*outcome.resolution.notices, *result.not_had), logging.WARNING)
        log.info("%s", result)
        document: dict[str, Any] = return_or_raise(result.as_document(), str(result), result.errors)
    return document


def fill(operator: "FillOperator", context: Context) -> dict[str, Any]:
    """One slice of a part of the run's interval; gives what all of them did. Raises AirflowRescheduleException if the next slice has work.

    The next slice takes what a slice leaves, as long as a slice gets further: the error of one partition does not stop the others. A slice
    that gets no further fails with the errors; a retry begins at what the ledger says.
    """
    if pull("resolve") is None:
        skip("The times have no offsets; the log of the task resolve says why.")
    if operator.part == "history" and not history_is_requested():
        skip(_HISTORY_NOT_REQUESTED.format(program(), operator.flow))
    with task_body():
        store, cleared = task_store(context), clear_number(context["dag_run"])
        stored = store.get(_SLICES)  # figures add up over slices and retries, since somebody cleared the run
        previous = part_from_xcom(stored["part"] if stored and stored["cleared"] == cleared else None)
        part = _copy_slice(operator, configured_flow(operator.flow), context)
        total, progressed = previous.add(part), part.owed < previous.owed if previous.offsets else bool(part.records)
        log_lines((*total.notices, *total.not_had), logging.WARNING)
        offsets, owed = f"{total.offsets:,}", f"{total.owed:,}"
        log.info("%s records copied; of the interval's %s %s offsets, %s are left.", f"{total.records:,}", offsets, operator.part, owed)
        value = part_to_xcom(total)
        if not is_dry_run():
            store.set(_SLICES, {"cleared": cleared, "part": value})
            if total.owed and (progressed or not total.errors):
                for error in total.errors:
                    log_lines(error.lines)
                log.info("The next slice begins in %d s; the copy may have the place in the pool meanwhile.", PAUSE.seconds)
                raise AirflowRescheduleException(datetime.now(UTC) + PAUSE)  # type: ignore[no-untyped-call]
        return_or_raise(value, f"{operator.flow}: the {operator.part} part could not be filled everywhere", total.errors)
        store.delete(_SLICES)
    return value


def _copy_slice(operator: "FillOperator", flow: Flow, context: Context) -> BackfillPart:
    resolution, backfill_request = resolution_of(flow), request(flow)
    copied: list[LaneResult] = []

    def copy(planned: Plan) -> list[LaneResult]:
        results = copy_by_job(operator, flow, planned)
        copied.extend(results)
        return results

    if operator.part == "live":
        part = live_slice(flow, resolution, copy, is_dry_run(), run_name())
    else:
        part = history_slice(flow, backfill_request, _with_unfinished_runs(flow, backfill_request, resolution, context), copy, is_dry_run())
    lineage = lineage_of_copy(flow, copied)
    operator.lineage = lineage and lineage.redirect(part.into)
    return part


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
    times = TimeInterval(round(min(starts).timestamp() * 1000), backfill_request.times.end)
    intervals = resolve(flow, replace(backfill_request, times=times)).by_partition
    longer = (intervals.get(interval.topic_partition, interval) for interval in resolution.intervals)
    return replace(resolution, intervals=tuple(longer))
