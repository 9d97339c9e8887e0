"""`<flow>.freshness`: tells people when the mirror is late, stuck or broken, and when that is over."""

from kafka_mirror.airflow.dags.factory import FlowDag
from kafka_mirror.airflow.freshness import freshness_task

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

KIND = FlowDag("freshness", freshness_task, every="mirror.freshness.interval.seconds", doc=DOC)
