"""The task of the freshness DAG: it checks a flow, compares the result with the check before, and sends what is new.

The state of the check before is in Airflow's asset state store and not in XCom: there it survives runs that fail or are killed, retries,
and runs without a logical date. The task writes it before it sends anything, so that a killed task sends twice at worst.
"""

import logging
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from kafka_mirror.airflow.alert_store import audits_of, step_errors_of, store_of
from kafka_mirror.airflow.deadlines import find_late_runs
from kafka_mirror.airflow.flow_files import configured_flow
from kafka_mirror.airflow.flow_operator import flow_task
from kafka_mirror.airflow.gauges import emit_gauges
from kafka_mirror.airflow.state_stores import asset_store
from kafka_mirror.airflow.tasks import push_return_value, raise_errors, task_body
from kafka_mirror.config import Flow
from kafka_mirror.errors import ErrorReport
from kafka_mirror.status.alerts.tracker import AlertState, state_of
from kafka_mirror.status.lag_history import read_history

if TYPE_CHECKING:
    from kafka_mirror.status.alerts.check import FreshnessCheck

_KEY, _HISTORY = "freshness", "history"

_MAX_DURATION = timedelta(minutes=10)
"""Airflow ends a check that takes longer, so that the next one can run. Looking and sending have shorter timeouts of their own: a run that
is ended sends nothing."""

log = logging.getLogger(__name__)


def freshness_task(flow: Flow) -> Any:
    """The task that checks a flow and returns what it saw. It fails if an alert could not be sent, or if the flow could not be observed."""
    asset, name = store_of(flow), flow.name

    @flow_task(task_id="freshness", inlets=[asset], retries=0, execution_timeout=_MAX_DURATION)
    def run() -> dict[str, Any]:
        """Checks, stores the new state, sends the alerts, and stores which of them could not be sent."""
        from kafka_mirror.status.alerts.audits import add_step_errors
        from kafka_mirror.status.alerts.check import check, deliver_outbox, observe_for_alerts

        with task_body():
            store = asset_store(asset.name)
            flow = configured_flow(name)
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
            if errors:
                push_return_value(document)
            raise_errors(f"{name}: the check or its alerts failed", errors)
            return document

    return run()


def _read_state(flow: str, document: Any) -> AlertState:
    """The state of the last check. One that cannot be read is lost: then everything that is wrong is sent again."""
    if document is None:
        return AlertState()
    try:
        return state_of(document)
    except ValueError as error:
        log.warning("%s: what the last check remembered is lost, what is wrong is sent again: %s", flow, error)
        return AlertState()


def _log_alerts(flow: str, before: AlertState, checked: "FreshnessCheck") -> None:
    """Logs which alerts are new, still open, or over."""
    open_before = {key for key, tracked in before.tracking.items() if tracked.is_open}
    open_now = {tracked.key: tracked for tracked in checked.alerts}
    for alert in open_now.values():
        log.warning("%s: %s: %s\n%s", flow, "still open" if alert.key in open_before else "new", alert.summary, alert.detail)
    for key in sorted(open_before - open_now.keys()):
        log.info("%s: over: %s", flow, key)
    if not open_now:
        log.info("%s: nothing is over its limit", flow)
