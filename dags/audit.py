"""`<flow>.audit`: proves that the copy is complete, or names the first difference."""

from airflow.sdk import Param

from mirror.airflow.audit_operator import AuditOperator
from mirror.airflow.flows import flow_dags
from mirror.config import Flow

DOC = """
Reads on both sides what the ledger says is copied, as far as both still hold it, and compares it record by record and in order: key, value,
headers, timestamp. It writes nothing and needs no pause of the copy: what is copied after it began is not looked at.

**When not to use it.** Every minute: it reads everything again, on both clusters. Give it topics or a time interval where that is too much.
The daily `backfill` audits its own interval.

**When it is red**, read its log: the first difference of each partition, with both records side by side, and what could not be compared
with the reason. The result stands in XCom. What is retriable (a broker down) is tried again by itself; a difference is not.

In the trigger form, `topics` are names of source topics, separated by commas; `from` and `to` are times in ISO 8601, UTC unless they say
otherwise, `[from, to)`.
"""

PARAMS = {
    "topics": Param("", type=["string", "null"], title="Topics", description="Only these source topics; empty: all of the flow."),
    "from": Param("", type=["string", "null"], title="From", description="ISO 8601, such as 2026-11-20; needs «To». Empty: everything."),
    "to": Param("", type=["string", "null"], title="To", description="The interval ends in front of it."),
}


def tasks(flow: Flow) -> None:
    """One task."""
    AuditOperator(flow=flow.name)


globals().update(flow_dags("audit", tasks, timetable=lambda _flow: None, deadline=lambda _flow: [], doc=DOC, params=PARAMS))
