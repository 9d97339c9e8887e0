"""`<flow>.refresh-groups`: finds the consumer groups whose offsets are translated."""

from mirror.airflow.flows import flow_dags
from mirror.airflow.step_task import step_task
from mirror.config import Flow

DOC = """
Lists the source's consumer groups, of the classic and of the consumer protocol, and keeps those that `groups`, `groups.exclude` and
`group.filter.class` take and that have committed offsets for a mirrored topic. The list is what `checkpoints` and `group-offsets` go by.
Nothing is written.

**When not to use it.** To have offsets translated: that is `checkpoints`, which on a fresh flow does not wait for this DAG. With
`refresh.groups.enabled=false` this DAG does not exist, and those two list the groups themselves in every run.

**When it is red**, read its log: most often DESCRIBE on a group is missing. A list that is too old is not used any more: until this DAG is
green again, `checkpoints` and `group-offsets` list the groups themselves.
"""


def tasks(flow: Flow) -> None:
    """One task."""
    step_task(flow.name, "refresh-groups")


globals().update(flow_dags("refresh-groups", tasks, every="refresh.groups.interval.seconds", enabled="refresh.groups.enabled", doc=DOC))
