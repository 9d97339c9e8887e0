"""`<flow>.freshness`: tells people when the mirror is late, stuck or broken, and when that is over."""

from mirror.airflow.flows import flow_dags
from mirror.airflow.freshness_task import freshness_task

DOC = """
Looks each minute how the flow stands, by the ledger and both clusters alone, whether or not any other DAG runs: is it further behind than
allowed, does a partition or the whole copy stand still though there is work, did heartbeats stop, does a cluster not answer, did an audit
find a difference, is there an error that nobody but a person can mend (a gap, a refused authorization …). What is new is sent **once** by
the connections of `mirror.alert.connections`, and once more when it is over. The limits are `mirror.deadline.*`.

**When not to use it.** To look at a flow by hand: `python -m mirror freshness` judges in the same way and sends nothing. To be silent while
something is repaired, pause the topic (`decide pause`), or this DAG: with the first run after it, everything that is wrong then is judged.

**When it is red**, somebody could not be told, or it could not be seen how the flow stands; its log says why. An alert that is open does
not make it red. What could not be sent is kept and sent by the next run.

It does not replace a look at Airflow from outside: where no run of any DAG comes any more, nothing here is sent.
"""

globals().update(flow_dags("freshness", freshness_task, every=lambda _flow: 60, doc=DOC))
