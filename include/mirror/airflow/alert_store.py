"""The store of a flow's alerts: the state store of an Airflow asset that is there for nothing else.

Unlike XCom, any run can read it, also one that somebody triggered by hand and that has no logical date.
"""

import logging
import time
import zlib
from collections.abc import Mapping
from typing import Any

from airflow.sdk import Asset

from mirror.airflow.compat import asset_state_store
from mirror.alerts.audits import Audits
from mirror.config.flow import FlowName

_AUDITS = "audits"
_TRIES = 10

log = logging.getLogger(__name__)


def store_of(flow: FlowName) -> Asset:
    """The asset. It is an inlet of the freshness DAG, so that Airflow knows it; nothing ever updates it."""
    return Asset(name=f"mirror-alerts-{flow.airflow_name}", uri=f"mirror://alerts/{flow.airflow_name}")


def audits_of(flow: FlowName) -> Audits:
    """What audits of the flow found and no later audit has seen mended."""
    document = _store(flow).get(_AUDITS, default=None)
    if document is None:
        return Audits()
    try:
        return Audits.from_document(document)
    except (KeyError, TypeError, AttributeError) as error:
        log.warning("%s: what audits found is not remembered any more (%s): audit again", flow.name, error)
        return Audits()


def remember_audit(flow: FlowName, run: str, document: Mapping[str, Any]) -> None:
    """Adds what an audit found, for the alerts of the freshness DAG.

    The store has no transactions, and audits of several days may end at once: an audit that finds its entry overwritten writes again.
    """
    from airflow.sdk.exceptions import AirflowRuntimeError

    try:
        for _ in range(_TRIES):
            _store(flow).set(_AUDITS, audits_of(flow).plus(run, document).as_document())
            time.sleep(0.2 + zlib.crc32(run.encode()) % 300 / 1000)  # not in step with others
            if run in audits_of(flow).counted:
                return
    except AirflowRuntimeError as error:
        log.warning("%s: the freshness DAG is not told of this audit: %s", flow.name, error)
        return
    log.warning("%s: the freshness DAG is not told of this audit: others wrote over it each time", flow.name)


def _store(flow: FlowName) -> Any:
    return asset_state_store(store_of(flow).name)
