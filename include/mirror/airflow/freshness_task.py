"""The task of the freshness DAG: one check, with what is remembered of the one before, and telling people what is new.

What is remembered stands in Airflow's asset state store, and not in XCom: it survives runs that fail or are killed, retries, and runs
without a logical date. It is written before anything is sent, so that a killed task sends twice at worst.
"""

import logging
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import get_current_context, task

from mirror.airflow.alert_store import audits_of, store_of
from mirror.airflow.context import leave
from mirror.airflow.errors import raise_errors
from mirror.airflow.late_runs import late_runs
from mirror.alerts.state import State, from_document
from mirror.config import Flow, load
from mirror.errors import ErrorReport

if TYPE_CHECKING:
    from mirror.alerts.check import Checked

_KEY = "freshness"

_AT_MOST = timedelta(minutes=10)
"""How long a check may take before it is ended: the next one shall look again, and not wait for it for ever. Looking and sending have
shorter times of their own, so that this is for what nobody foresaw: a run that is ended tells nobody."""

log = logging.getLogger(__name__)


def freshness_task(flow: Flow) -> Any:
    """A task that checks the flow and leaves what it saw in XCom; red when people could not be told, or nothing could be seen."""
    asset, name = store_of(flow), flow.name

    @task(task_id="freshness", inlets=[asset], retries=0, execution_timeout=_AT_MOST, show_return_value_in_logs=False)
    def run() -> dict[str, Any]:
        """Looks, keeps what it will have told before it tells anybody, tells, and keeps what could not be told."""
        from mirror.alerts.check import check, sent
        from mirror.alerts.look import look

        store = get_current_context()["asset_state_store"][asset]
        flow = load().flow(name)
        before = _remembered(name, store.get(_KEY, default=None))
        checked = check(flow, look(flow), before, audits_of(flow), late_runs(flow, before))
        store.set(_KEY, checked.state.as_document())
        _say(name, before, checked)
        state, failed = sent(checked)
        if state != checked.state:
            store.set(_KEY, state.as_document())
        document = replace(checked, state=state).document()
        errors = [error.report() for error in failed.values()]
        if checked.seen.failure:
            errors.append(ErrorReport("CheckFailed", checked.seen.failure))
        if errors:
            leave(document)
        raise_errors(f"{name}: the check or its alerts failed", errors)
        return document

    return run()


def _remembered(flow: str, document: Any) -> State:
    """What the last check left. What cannot be read counts as lost: then everything that is wrong is told anew."""
    if document is None:
        return State()
    try:
        return from_document(document)
    except ValueError as error:
        log.warning("%s: what the last check remembered is lost, what is wrong is told again: %s", flow, error)
        return State()


def _say(flow: str, before: State, checked: "Checked") -> None:
    """The log of a run: what is open, what is new and what is over."""
    were = {key for key, each in before.tracking.items() if each.is_open}
    are = {each.key: each for each in checked.alerts}
    for alert in are.values():
        log.warning("%s: %s: %s\n%s", flow, "still open" if alert.key in were else "new", alert.summary, alert.detail)
    for key in sorted(were - are.keys()):
        log.info("%s: over: %s", flow, key)
    if not are:
        log.info("%s: nothing is over its limit", flow)
