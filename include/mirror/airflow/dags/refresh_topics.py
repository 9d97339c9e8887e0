"""`<flow>.refresh-topics`: keeps the remote topics of a flow in step with the source's topics."""

from airflow.sdk import Param

from mirror.airflow.dags.factory import FlowDag
from mirror.airflow.tasks import step_task
from mirror.config import Flow

DOC = """
Finds the source's topics that the flow mirrors, creates missing remote topics, and adds partitions where the source has more. It reports
topics that are gone from the source, and leaves them alone on the target.

**When not to use it.** To copy records: use `copy`, which does not wait for this DAG on a fresh flow. With `refresh.topics.enabled=false`
this DAG does not exist, and only topics that are mirrored already go on.

**When it is red**, read its log: it names each topic that failed, with the reason (most often a missing authorization, or a
`replication.factor` that the target's brokers cannot give). It refreshed all other topics; once the reason is gone, the next run does the
rest.

`dry_run` in the trigger form writes nothing and says what it would do.
"""

DRY_RUN = {"dry_run": Param(False, type="boolean", title="Dry run", description="Only say what would be created; write nothing.")}


def tasks(flow: Flow) -> None:
    """One task."""
    step_task(flow.name, "refresh-topics")


KIND = FlowDag("refresh-topics", tasks, every="refresh.topics.interval.seconds", enabled="refresh.topics.enabled", doc=DOC, params=DRY_RUN)
