"""`<flow>.refresh-groups`: finds the consumer groups whose offsets are translated."""

from mirror.airflow.dags.factory import FlowDag
from mirror.airflow.tasks import step_task
from mirror.config import Flow

DOC = """
Lists the source's consumer groups, of the classic and of the consumer protocol, and selects those that match `groups`, `groups.exclude` and
`group.filter.class` and have committed offsets for a mirrored topic. `checkpoints` and `group-offsets` use the list. It writes nothing.

**When not to use it.** To translate offsets: use `checkpoints`, which does not wait for this DAG on a fresh flow. With
`refresh.groups.enabled=false` this DAG does not exist, and those two list the groups themselves in every run.

**When it is red**, read its log: most often the right to DESCRIBE a group is missing. `checkpoints` and `group-offsets` do not use a list
that is too old: until this DAG is green again they list the groups themselves.
"""


def tasks(flow: Flow) -> None:
    """One task."""
    step_task(flow.name, "refresh-groups")


KIND = FlowDag("refresh-groups", tasks, every="refresh.groups.interval.seconds", enabled="refresh.groups.enabled", doc=DOC)
