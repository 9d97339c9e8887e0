"""The store of a flow's alerts: the state store of an Airflow asset that is there for nothing else.

Unlike XCom, any run can read it, also one that somebody triggered by hand and that has no logical date.
"""

import logging
import time
import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow.sdk import Asset
from airflow.sdk.exceptions import AirflowRuntimeError

from kafka_mirror.airflow.state_stores import StateStore, asset_store
from kafka_mirror.config.flow import FlowName
from kafka_mirror.errors import ErrorReport
from kafka_mirror.formats.documents import from_document, pack, to_document, unpack

if TYPE_CHECKING:
    from kafka_mirror.config import Flow
    from kafka_mirror.status.alerts.audits import Audits, StepErrors

_AUDITS = "audits"
_STEP = "step {}"
_TRIES = 10

log = logging.getLogger(__name__)


def store_of(flow: FlowName) -> Asset:
    """The asset. It is an inlet of the freshness DAG, so that Airflow knows it; nothing ever updates it."""
    return Asset(name=f"mirror-alerts-{flow.airflow_name}", uri=f"mirror://alerts/{flow.airflow_name}")


def audits_of(flow: FlowName) -> "Audits":
    """What audits of the flow found and no later audit has seen mended."""
    from kafka_mirror.status.alerts.audits import Audits

    document = _store(flow).get(_AUDITS, default=None)
    if document is None:
        return Audits()
    try:
        return from_document(Audits, document)
    except ValueError as error:
        log.warning("%s: what audits found is not remembered any more (%s): audit again", flow.name, error)
        return Audits()


def remember_audit(flow: FlowName, run: str, document: Mapping[str, Any]) -> None:
    """Adds what an audit found, for the alerts of the freshness DAG.

    The store has no transactions, and audits of several days may end at once: an audit that finds its entry overwritten writes again.
    """
    try:
        for _ in range(_TRIES):
            _store(flow).set(_AUDITS, to_document(audits_of(flow).add_audit(run, document)))
            time.sleep(0.2 + zlib.crc32(run.encode()) % 300 / 1000)  # not in step with others
            if run in audits_of(flow).counted:
                return
    except AirflowRuntimeError as error:
        log.warning("%s: the freshness DAG does not learn of this audit: %s", flow.name, error)
        return
    log.warning("%s: the freshness DAG does not learn of this audit: others wrote over it each time", flow.name)


def remember_step(flow: FlowName, step: str, run: str, errors: Sequence[ErrorReport]) -> None:
    """Keeps what a run of a step ended with, for the alerts of the freshness DAG; a step has one run at a time."""
    try:
        before = _step(flow, step)
        if errors or before.errors:
            _store(flow).set(_STEP.format(step), {"packed": pack(before.record_run(run, errors))})
    except AirflowRuntimeError as error:
        log.warning("%s: the freshness DAG does not learn how this run of %s ended: %s", flow.name, step, error)


def step_errors_of(flow: "Flow") -> list[ErrorReport]:
    """The errors that stand since the newest run of each of the flow's steps."""
    from kafka_mirror.status.alerts.audits import is_enabled
    from kafka_mirror.status.steps import STEPS

    return [error for step in STEPS if is_enabled(flow, step) for error in _step(flow, step).standing]


def _step(flow: FlowName, step: str) -> "StepErrors":
    from kafka_mirror.status.alerts.audits import StepErrors

    document = _store(flow).get(_STEP.format(step), default=None)
    try:
        return StepErrors() if document is None else unpack(StepErrors, document["packed"])
    except (KeyError, TypeError, ValueError) as error:
        log.warning("%s: what the newest run of %s ended with is not remembered any more: %s", flow.name, step, error)
        return StepErrors()


def _store(flow: FlowName) -> StateStore:
    return asset_store(store_of(flow).name)
