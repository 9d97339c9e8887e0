"""Where alerts of a flow are remembered: the state store of an asset of Airflow's, which stands for nothing else.

Unlike XCom it can be found by any run, also from one that was triggered by hand and has no logical date.
"""

import logging
import time
import zlib
from collections.abc import Mapping
from typing import Any

from airflow.sdk import Asset

from mirror.alerts.audits import Audits
from mirror.config.names import FlowName

_AUDITS = "audits"
_TRIES = 10

log = logging.getLogger(__name__)


def store_of(flow: FlowName) -> Asset:
    """The asset. The freshness DAG has it as an inlet, so that Airflow knows it; no event ever comes of it."""
    return Asset(name=f"mirror-alerts-{flow.airflow_name}", uri=f"mirror://alerts/{flow.airflow_name}")


def audits_of(flow: FlowName) -> Audits:
    """What the audits of the flow found that stands."""
    found = _store(flow).get(_AUDITS, default=None)
    if found is None:
        return Audits()
    try:
        return Audits.from_document(found)
    except (KeyError, TypeError, AttributeError) as error:
        log.warning("%s: what audits found is not remembered any more (%s): audit again", flow.name, error)
        return Audits()


def remember_audit(flow: FlowName, run: str, document: Mapping[str, Any]) -> None:
    """Adds what an audit found, for the freshness DAG to tell.

    The store knows no transaction, and audits of several days may end at once: who finds after a moment that another one has written over
    it writes again.
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
    from airflow.sdk.execution_time.context import AssetStateStoreAccessor

    return AssetStateStoreAccessor(name=store_of(flow).name)
