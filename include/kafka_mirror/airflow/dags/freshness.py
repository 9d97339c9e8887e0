"""`<flow>.freshness`: tells people when the mirror is late, stuck or broken, and when that is over."""

from datetime import timedelta
from typing import Any

from kafka_mirror.airflow.assets import alert_asset
from kafka_mirror.airflow.dags.factory import FlowDag
from kafka_mirror.airflow.flow_operator import flow_task
from kafka_mirror.config import Flow

_MAX_DURATION = timedelta(minutes=10)
"""Airflow ends a check that takes longer, so that the next one can run. Looking and sending have shorter timeouts of their own: a run that
is ended sends nothing."""

DOC = """
Looks at the flow every `mirror.freshness.interval.seconds`, by the ledger and both clusters, whether or not any other DAG runs. It raises
an alert if the flow lags more than is allowed, if a partition or the whole copy stands still though there is work, if heartbeats stop,
if a cluster does not answer, if an audit found a difference, or if there is an error that only a person can mend (a gap, a missing
authorization …). It sends each alert **once** by the connections of `mirror.alert.connections`, and once more when it is over. The limits
are the properties `mirror.deadline.*`.

**When not to use it.** To look at a flow by hand: `python -m kafka_mirror freshness` judges in the same way and sends nothing. To be
silent while you repair something, pause the topic (`decide pause`), or this DAG: its first run after that judges everything that is wrong
then.

**When it is red**, it could not send an alert, or could not see how the flow stands; its log says why. An open alert does not make it red.
The next run sends what this one could not.

It does not replace a check of Airflow from outside: where Airflow runs no DAG any more, nothing here sends an alert.
"""


@flow_task(task_id="freshness", retries=0, execution_timeout=_MAX_DURATION)
def freshness(flow_name: str) -> dict[str, Any]:
    """Checks, stores the new state, sends the alerts, and stores which of them could not be sent. It fails if an alert could not be sent,
    or if the flow could not be observed."""
    from kafka_mirror.airflow.work.freshness import check_flow

    return check_flow(flow_name)


def tasks(flow: Flow) -> None:
    """One task."""
    freshness(flow.name, inlets=[alert_asset(flow)])


KIND = FlowDag("freshness", tasks, every="mirror.freshness.interval.seconds", doc=DOC)
