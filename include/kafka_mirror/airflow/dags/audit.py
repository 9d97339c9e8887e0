"""`<flow>.audit`: proves that the copy is complete, or names the first difference."""

from airflow.sdk import Param

from kafka_mirror.airflow.dags.factory import FlowDag
from kafka_mirror.airflow.deadlines import audit_limit
from kafka_mirror.airflow.operators import MirrorAuditOperator
from kafka_mirror.config import Flow

DOC = """
Compares source and target record by record and in order (key, value, headers, timestamp): everything that the ledger calls copied and that
both sides still have. It writes nothing, and the copy may go on: an audit ignores what is copied after it began.

**When not to use it.** Each minute: it reads all records again, on both clusters. Give it topics or a time interval where that is too much.
The daily `backfill` audits its own interval.

**When it is red**, read its log: it shows the first difference of each partition, with both records side by side, and names what it could
not compare, with the reason. XCom has the result. Airflow retries what is retriable (a broker is down); a difference is not.

In the trigger form, `topics` are names of source topics, separated by commas; `from` and `to` are times in ISO 8601, in UTC unless they
name another zone. The interval is `[from, to)`. With `complete` the task is red, too, while anything of it is not copied yet or could not
be compared: what is equal need not be complete.
"""

PARAMS = {
    "topics": Param("", type=["string", "null"], title="Topics", description="Only these source topics; empty: all of the flow."),
    "from": Param("", type=["string", "null"], title="From", description="ISO 8601, such as 2026-11-20; needs «To». Empty: everything."),
    "to": Param("", type=["string", "null"], title="To", description="The interval ends in front of it."),
    "complete": Param(
        False, type="boolean", title="Complete", description="Fail, too, while anything of it is not copied yet or could not be compared."
    ),
}


def tasks(flow: Flow) -> None:
    """One task."""
    MirrorAuditOperator(
        task_id="audit",
        flow=flow.name,
        topics="{{ params.topics or '' }}",
        start="{{ params['from'] or '' }}",
        end="{{ params.to or '' }}",
        complete="{{ params.complete }}",
        execution_timeout=audit_limit(flow),
    )


KIND = FlowDag("audit", tasks, timetable=lambda _flow: None, deadline=lambda _flow: [], doc=DOC, params=PARAMS)
