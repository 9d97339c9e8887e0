"""What the task of the freshness DAG does: it checks a flow, compares the result with the check before, and sends what is new.

The state of the check before is in Airflow's asset state store and not in XCom: there it survives runs that fail or are killed, retries,
and runs without a logical date. The task writes it before it sends anything, so that a killed task sends twice at worst.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from kafka_mirror.airflow.compat import newest_run, set_gauge
from kafka_mirror.airflow.deadlines import WATCHED
from kafka_mirror.airflow.flow_files import configured_flow
from kafka_mirror.airflow.tasks import return_or_raise, task_body
from kafka_mirror.airflow.work.state_stores import asset_store, audits_of, step_errors_of
from kafka_mirror.config import Flow
from kafka_mirror.config.deadlines import run_seconds
from kafka_mirror.config.flow import FlowName
from kafka_mirror.errors import ErrorReport
from kafka_mirror.status.alerts.audits import add_step_errors
from kafka_mirror.status.alerts.check import FreshnessCheck, check, deliver_outbox, observe_for_alerts
from kafka_mirror.status.alerts.tracker import AlertState, state_of
from kafka_mirror.status.lag_history import read_history
from kafka_mirror.status.problems import FlowProblem, report_late_run

_KEY, _HISTORY = "freshness", "history"
log = logging.getLogger(__name__)


def check_flow(name: str) -> dict[str, Any]:
    """Checks, stores the new state, sends the alerts, and stores which of them could not be sent; gives what it saw."""
    with task_body():
        flow = configured_flow(name)
        store = asset_store(flow)
        before = _read_state(name, store.get(_KEY, default=None))
        observation = add_step_errors(observe_for_alerts(flow), step_errors_of(flow))
        checked = check(flow, observation, before, audits_of(flow), find_late_runs(flow))
        store.set(_KEY, checked.state.as_document())
        _log_alerts(name, before, checked)
        state, failures = deliver_outbox(checked)
        if state != checked.state:
            store.set(_KEY, state.as_document())
        history = read_history(store.get(_HISTORY, default=None)).add(checked.observation).pack()
        store.set(_HISTORY, history)
        document = {**replace(checked, state=state).write_document(), "history": history}
        emit_gauges(flow, document)
        errors = [error.report() for error in failures.values()]
        if checked.observation.failure:
            errors.append(ErrorReport("CheckFailed", checked.observation.failure))
        return_or_raise(document, f"{name}: the check or its alerts failed", errors)
    return document


def _read_state(flow: str, document: Any) -> AlertState:
    """The state of the last check. One that cannot be read is lost: then everything that is wrong is sent again."""
    if document is None:
        return AlertState()
    try:
        return state_of(document)
    except ValueError as error:
        log.warning("%s: what the last check remembered is lost, what is wrong is sent again: %s", flow, error)
        return AlertState()


def _log_alerts(flow: str, before: AlertState, checked: FreshnessCheck) -> None:
    """Logs which alerts are new, still open, or over."""
    open_before = {key for key, tracked in before.tracking.items() if tracked.is_open}
    open_now = {tracked.key: tracked for tracked in checked.alerts}
    for alert in open_now.values():
        log.warning("%s: %s: %s\n%s", flow, "still open" if alert.key in open_before else "new", alert.summary, alert.detail)
    for key in sorted(open_before - open_now.keys()):
        log.info("%s: over: %s", flow, key)
    if not open_now:
        log.info("%s: nothing is over its limit", flow)


def find_late_runs(flow: Flow) -> list[FlowProblem]:
    """One problem for each DAG whose newest run is late and goes on. Runs without a logical date, triggered by hand, are not found."""
    problems = []
    for kind in WATCHED:
        seconds, dag_id = run_seconds(flow, kind), flow.dag_id(kind)
        run = newest_run(dag_id) if seconds is not None else None
        if seconds is not None and run is not None and is_late(run, timedelta(seconds=seconds), datetime.now(UTC)):
            problems.append(report_late_run(dag_id, run.run_id, seconds, str(run.state)))
    return problems


def is_late(run: Any, allowed: timedelta, now: datetime) -> bool:
    """Whether a run takes too long."""
    # When it was queued Airflow does not tell a task. A run that a person triggered was when it was to run, unless somebody cleared it
    # since. Any other run starts when it is queued, for its DAG has no other run then.
    queued = run.run_after if run.run_type == "manual" and not run.clear_number else run.start_date
    return queued is not None and run.end_date is None and bool(now - queued > allowed)


_FIGURES = {
    "lag_records": "behind_offsets",
    "lag_seconds": "oldest_seconds",
    "lag_bytes": "lag_bytes",
    "served_lag_records": "lag_records",
    "served_lag_seconds": "lag_seconds",
    "copied_records": "watermark_records",
}
"""The names of gauges, and of the fields of a document of `freshness`."""


def emit_gauges(flow: FlowName, document: Mapping[str, Any]) -> None:
    """Emits what a run of `freshness` found as metrics of Airflow's own (StatsD, OpenTelemetry), for an installation that nothing can
    scrape.

    They have the names that `/mirror/metrics` has, with a dot after `mirror`, and the flow at their end: plain StatsD has no tags. What the
    run could not find out has no value; `mirror.up` says whether it saw both clusters.
    """
    figures = {name: document[field] for name, field in _FIGURES.items()}
    figures |= {"up": int(document["lag_records"] is not None), "alerts": len(document["open"])}
    name_of_flow = flow.airflow_name.replace(".", "__")  # as in Airflow's own names
    for name, value in figures.items():
        if value is not None:
            set_gauge(f"mirror.{name}.{name_of_flow}", value, {"source": flow.source, "target": flow.target})
