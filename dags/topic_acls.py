"""`<flow>.topic-acls`: lets the readers of the source's topics read their remote topics."""

from airflow.sdk import Param

from mirror.airflow.flows import flow_dags
from mirror.airflow.step_task import step_task
from mirror.config import Flow

DOC = """
Creates, for each ACL of a mirrored topic on the source, the same on its remote topic, so that whoever may read the one may read the other.
The right to write is not carried: ALLOW WRITE is left out and ALLOW ALL becomes ALLOW READ, so that only the mirror writes. ACLs of groups,
and those by a prefix, are not carried, as in MirrorMaker 2. Nothing is ever deleted: what the source no longer has is reported.

**When not to use it.** Where principals have other names on the target, or access is managed by prefixes or by another system: set
`sync.topic.acls.enabled=false`, and this DAG does not exist. On clusters without an authorizer it is green and says that it skipped them.

**When it is red**, read its log. Most often a right is missing: DESCRIBE on the source's cluster, to see the ACLs, or ALTER on the target's
cluster, to create them. Once it is granted the next run does the rest.

`dry_run` in the trigger form writes nothing and says what would be created.
"""

DRY_RUN = {"dry_run": Param(False, type="boolean", title="Dry run", description="Only say what would be created; write nothing.")}


def tasks(flow: Flow) -> None:
    """One task."""
    step_task(flow.name, "topic-acls")


globals().update(
    flow_dags("topic-acls", tasks, every="sync.topic.acls.interval.seconds", enabled="sync.topic.acls.enabled", doc=DOC, params=DRY_RUN)
)
