"""`<flow>.topic-acls`: lets the readers of the source's topics read their remote topics."""

from airflow.sdk import Param

from mirror.airflow.dags.factory import FlowDag
from mirror.airflow.tasks import step_task
from mirror.config import Flow

DOC = """
Creates, for each ACL of a mirrored topic on the source, the same ACL on its remote topic: a principal that may read the one may read the
other. It does not carry the right to write: it leaves ALLOW WRITE out and makes ALLOW READ of ALLOW ALL, so that only the mirror writes.
As in MirrorMaker 2, it carries no ACLs of groups, and none with a prefix. It deletes no ACL: it reports what the source no longer has.

**When not to use it.** Where principals have other names on the target, or where prefixes or another system manage access: set
`sync.topic.acls.enabled=false`, and this DAG does not exist. On clusters without an authorizer it is green and says that it skipped them.

**When it is red**, read its log. Most often a right is missing: DESCRIBE on the source's cluster, to see the ACLs, or ALTER on the target's
cluster, to create them. Once somebody grants it, the next run does the rest.

`dry_run` in the trigger form writes nothing and says what it would create.
"""

DRY_RUN = {"dry_run": Param(False, type="boolean", title="Dry run", description="Only say what would be created; write nothing.")}


def tasks(flow: Flow) -> None:
    """One task."""
    step_task(flow.name, "topic-acls")


KIND = FlowDag("topic-acls", tasks, every="sync.topic.acls.interval.seconds", enabled="sync.topic.acls.enabled", doc=DOC, params=DRY_RUN)
