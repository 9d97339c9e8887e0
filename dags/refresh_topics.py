"""`<flow>.refresh-topics`: keeps the remote topics of a flow in step with the source's topics."""

from airflow.sdk import Param

from mirror.airflow.flows import flow_dags
from mirror.airflow.step_task import step_task
from mirror.config import Flow

DOC = """
Finds the source's topics that the flow mirrors, creates remote topics that are missing, and adds partitions where the source has more.
Topics that are gone from the source are reported and left alone on the target.

**When not to use it.** To copy records: that is `copy`, which on a fresh flow does not wait for this DAG. With
`refresh.topics.enabled=false` this DAG does not exist, and only topics that are mirrored already go on.

**When it is red**, read its log: each topic that failed is named with the reason (most often a missing authorization, or a
`replication.factor` that the target's brokers cannot give). The other topics were refreshed all the same; once the reason is gone, the
next run does the rest.

`dry_run` in the trigger form writes nothing and says what would be done.
"""

DRY_RUN = {"dry_run": Param(False, type="boolean", title="Dry run", description="Only say what would be created; write nothing.")}


def tasks(flow: Flow) -> None:
    """One task."""
    step_task(flow.name, "refresh-topics")


globals().update(
    flow_dags("refresh-topics", tasks, every="refresh.topics.interval.seconds", enabled="refresh.topics.enabled", doc=DOC, params=DRY_RUN)
)
