"""`<flow>.group-offsets`: lets idle groups of the target stand where their namesakes stand on the source."""

from airflow.sdk import Param

from mirror.airflow.flows import flow_dags
from mirror.airflow.group_operator import GroupOperator
from mirror.config import Flow

DOC = """
Translates what the source's consumer groups have committed and commits it for the groups of the same names on the target, so that their
consumers can be started there and go on. Only groups without members are touched, never backwards, and never to an offset that the remote
partition does not have.

**When not to use it.** Where consumers of the target use the same group names for work of their own: their groups would be moved forward
while they are idle. With `sync.group.offsets.enabled=false`, the default, this DAG does not exist.

**When it is red**, read its log: it names each group that failed; all others were done. A group that is active on the target, or further on
there, is left alone, which is no failure: the log says so for each.

`dry_run` in the trigger form commits nothing and says what would be committed.
"""

DRY_RUN = {"dry_run": Param(False, type="boolean", title="Dry run", description="Only say what would be committed; commit nothing.")}


def tasks(flow: Flow) -> None:
    """One task."""
    GroupOperator(flow=flow.name, step="group-offsets")


globals().update(
    flow_dags(
        "group-offsets", tasks, every="sync.group.offsets.interval.seconds", enabled="sync.group.offsets.enabled", doc=DOC, params=DRY_RUN
    )
)
