"""What tasks remember beyond their try or their run: Airflow's state stores, or its Variables in Airflow 3.2, which has none; and what the
freshness DAG learns there of audits and steps.

XCom does not serve for it: Airflow clears a task's XCom before each try, and runs that somebody triggers have no order there.
"""

import logging
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from airflow.sdk import Variable
from airflow.sdk.exceptions import AirflowException, AirflowRuntimeError

from kafka_mirror.airflow.assets import alert_asset
from kafka_mirror.airflow.flow_files import flow_name as flow_of
from kafka_mirror.airflow.tasks import run_name
from kafka_mirror.config import Flow
from kafka_mirror.config.flow import FlowName
from kafka_mirror.errors import ErrorReport, MirrorError, ReportedError
from kafka_mirror.errors.base import report_unexpected
from kafka_mirror.formats.documents import from_document, pack, to_document, unpack
from kafka_mirror.status.alerts.audits import Audits, StepErrors, is_enabled
from kafka_mirror.status.steps import STEPS

try:
    from airflow.sdk.execution_time.context import AssetStateStoreAccessor
except ImportError:  # Airflow 3.2
    AssetStateStoreAccessor = None  # type: ignore[assignment, misc]

_AUDITS = "audits"
_STEP = "step {}"
_TRIES = 10

log = logging.getLogger(__name__)


class StateStore(Protocol):
    """JSON values by key."""

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key."""

    def set(self, key: str, value: Any) -> None:
        """Writes the value of a key."""

    def delete(self, key: str) -> None:
        """Removes a key; nothing happens if there is none."""


def task_store(context: Any) -> StateStore:
    """The store of a task in its run. It outlives tries, pauses and clears."""
    if "task_state_store" in context:
        return context["task_state_store"]  # type: ignore[no-any-return]
    instance = context["ti"]
    # A Variable's name has at most 250 characters, and the id of a run alone may have as many.
    return _Variables(f"mirror-{instance.dag_id}-{instance.task_id}-{zlib.crc32(instance.run_id.encode()):08x}")


def asset_store(flow: FlowName) -> StateStore:
    """The store of a flow's alerts: that of an asset which is there for nothing else. It outlives runs, and any DAG's tasks read it, also
    in a run that somebody triggered by hand and that has no logical date.

    Public: `context["asset_state_store"]`, of the task's own inlets and outlets alone.
    """
    name = alert_asset(flow).name
    return _Variables(name) if AssetStateStoreAccessor is None else AssetStateStoreAccessor(name=name)


@dataclass(frozen=True)
class _Variables:
    """Airflow Variables whose names begin with a prefix."""

    prefix: str

    def get(self, key: str, default: Any = None) -> Any:
        return Variable.get(self._name(key), default=default, deserialize_json=True)

    def set(self, key: str, value: Any) -> None:
        Variable.set(self._name(key), value, description="Kafka mirror: what a task remembers.", serialize_json=True)

    def delete(self, key: str) -> None:
        Variable.delete(self._name(key))

    def _name(self, key: str) -> str:
        return f"{self.prefix}-{key.replace(' ', '-')}"


# ---------------------------------------------------------------- what freshness learns


def audits_of(flow: FlowName) -> Audits:
    """What audits of the flow found and no later audit has seen mended."""
    document = asset_store(flow).get(_AUDITS, default=None)
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
            asset_store(flow).set(_AUDITS, to_document(audits_of(flow).add_audit(run, document)))
            time.sleep(0.2 + zlib.crc32(run.encode()) % 300 / 1000)  # not in step with others
            if run in audits_of(flow).counted:
                return
    except AirflowRuntimeError as error:
        log.warning("%s: the freshness DAG does not learn of this audit: %s", flow.name, error)
        return
    log.warning("%s: the freshness DAG does not learn of this audit: others wrote over it each time", flow.name)


@contextmanager
def report_to_freshness(flow_name: str, step: str, *, is_told: bool = True) -> Iterator[None]:
    """Keeps the errors with which a run of a step ends, or that it ended without any: they are alerts of the flow for as long."""

    def tell(errors: Sequence[ErrorReport]) -> None:
        if is_told:
            remember_step(flow_of(flow_name), step, run_name(), errors)

    try:
        yield
    except MirrorError as error:
        tell(error.parts if isinstance(error, ReportedError) else (error.report(),))
        raise
    except AirflowException:
        raise
    except Exception as failure:
        tell([replace(report_unexpected(f"{step} of {flow_name}", failure, "Look at the log of its newest run."), retriable=True)])
        raise
    tell(())


def remember_step(flow: FlowName, step: str, run: str, errors: Sequence[ErrorReport]) -> None:
    """Keeps what a run of a step ended with, for the alerts of the freshness DAG; a step has one run at a time."""
    try:
        before = _step(flow, step)
        if errors or before.errors:
            asset_store(flow).set(_STEP.format(step), {"packed": pack(before.record_run(run, errors))})
    except AirflowRuntimeError as error:
        log.warning("%s: the freshness DAG does not learn how this run of %s ended: %s", flow.name, step, error)


def step_errors_of(flow: Flow) -> list[ErrorReport]:
    """The errors that stand since the newest run of each of the flow's steps."""
    return [error for step in STEPS if is_enabled(flow, step) for error in _step(flow, step).standing]


def _step(flow: FlowName, step: str) -> StepErrors:
    document = asset_store(flow).get(_STEP.format(step), default=None)
    try:
        return StepErrors() if document is None else unpack(StepErrors, document["packed"])
    except (KeyError, TypeError, ValueError) as error:
        log.warning("%s: what the newest run of %s ended with is not remembered any more: %s", flow.name, step, error)
        return StepErrors()
