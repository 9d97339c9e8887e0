"""The tasks of the `backfill` DAG around its two copies: times to offsets before them, audit and summary after them."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from airflow.sdk import TriggerRule, get_current_context, task

from mirror.airflow.backfill_runs import SUMMARY, range_to_tell
from mirror.airflow.backfill_values import part_from_xcom, request, resolution_of, resolution_to_xcom
from mirror.airflow.context import is_dry_run, pull
from mirror.airflow.errors import as_airflow_errors, raise_errors
from mirror.backfill.model import Resolution
from mirror.backfill.summary import DONE, RangeSummary, summary
from mirror.config import load
from mirror.errors import ErrorReport, JobFailed

if TYPE_CHECKING:
    from mirror.config import Flow

log = logging.getLogger(__name__)


@task(task_id="resolve", show_return_value_in_logs=False)
def resolve_times(flow_name: str) -> dict[str, Any]:
    """The offsets that the run's times come to. Partitions without are no failure of this task: they are in the answer, and the summary is
    red with them."""
    from mirror.backfill.resolve import resolve

    with as_airflow_errors():
        flow = load().flow(flow_name)
        found = resolve(flow, request(flow))
    for notice in found.notices:
        log.warning("%s", notice)
    for error in found.errors:
        log.error("%s", error)
    log.info("%s", found.totals)
    return resolution_to_xcom(found)


@task(task_id="summary", trigger_rule=TriggerRule.ALL_DONE, retries=0)
def summarize(flow_name: str) -> str:
    """The run's colour: red with all that failed, and with what is left. The last run of one of Airflow's backfills tells people what
    became of the whole range."""
    with as_airflow_errors():
        flow = load().flow(flow_name)
        audited: Any = pull("audit")
        live, history = part_from_xcom(pull("live")), part_from_xcom(pull("history"))
        done = summary(_resolution(flow), live, history, _state(audited), _unsaid(flow_name))
        log.info("%s", done)
        for text in done.not_had:
            log.warning("Could not be had: %s", text)
        if is_dry_run():
            raise_errors(f"{flow_name}: this would fail", done.errors)
            return f"{flow_name}: {live.owed} live offsets and {history.owed} offsets of history would be copied."
        run: Any = get_current_context()["dag_run"]
        get_current_context()["ti"].xcom_push(SUMMARY, {"cleared": run.clear_number or 0, "summary": done.as_document()})
        whole = range_to_tell(done)
        if whole is not None:
            _tell(flow, whole)
        raise_errors(str(done), done.errors)
    return str(done)


_TASKS = ("live", "history", "audit")


def _resolution(flow: Flow) -> Resolution:
    try:
        return resolution_of(flow)
    except JobFailed as error:
        return Resolution(flow.name, request(flow).times, errors=(error.report(),))


def _unsaid(flow_name: str) -> list[ErrorReport]:
    """Tasks that failed and left nothing that says why."""
    context: Any = get_current_context()
    run = context["dag_run"]
    states = context["ti"].get_task_states(dag_id=run.dag_id, task_ids=list(_TASKS), run_ids=[run.run_id]).get(run.run_id, {})
    failed = [name for name in _TASKS if states.get(name) in ("failed", "upstream_failed")]
    reports = []
    for name in failed:
        left: Any = pull(name)
        if name == "audit" and left is not None:
            reports.append(_different(f"audit: {_state(left)}"))
        elif left is None:
            message = f"{flow_name}: the task {name} failed without a result."
            reports.append(ErrorReport("JobFailed", message, retriable=True, next=f"The log of the task {name} says why."))
    return reports


def _state(audited: Any) -> str:
    if audited is None:
        return ""
    totals = audited.get("totals") or {"state": audited.get("total_state", "")}
    return str(totals["state"])


def _different(text: str) -> ErrorReport:
    return ErrorReport("AuditDifferent", text, next="The log of the task audit shows both records.")


def _tell(flow: Flow, whole: RangeSummary) -> None:
    """Sends the summary by the flow's connections, if it names any."""
    from mirror.alerts.model import Alert, key_of
    from mirror.alerts.notify import connections_of, send

    log.info("%s", whole)
    if not connections_of(flow):
        return
    good = whole.state == DONE
    send(
        flow,
        Alert(
            key=key_of(flow.name, "Backfill", f"{whole.times.start}-{whole.times.end}"),
            kind="Backfill",
            summary=whole.headline(),
            detail=whole.detail(),
            next=""
            if good
            else f"Look at the runs of {flow.dag_id('backfill')} that are red: the log of their task summary says what to do.",
            since=datetime.now(UTC),
            flow=flow.name,
            severity="info" if good else "error",
        ),
    )
