"""`<flow>.group-offsets`: lets idle groups of the target stand where their namesakes stand on the source."""

from airflow.sdk import Param

from mirror.airflow.dags.factory import FlowDag
from mirror.airflow.groups import GroupOperator
from mirror.config import Flow

DOC = """
Translates the offsets that the source's consumer groups have committed, and commits them for the groups of the same names on the target:
consumers can start there and go on. It changes only groups without members, never moves them backwards, and never commits an offset that
the remote partition does not have.

**When not to use it.** Where consumers of the target use the same group names for other work: it would move their groups forward while they
are idle. With `sync.group.offsets.enabled=false`, the default, this DAG does not exist.

**When it is red**, read its log: it names each group that failed. It did all others. It leaves a group alone that is active on the target,
or further on there; that is no failure, and the log says so for each.

`dry_run` in the trigger form commits nothing and says what it would commit.

`undo` in the trigger form takes back what a run committed: the groups get what they had on the target before it, where nobody else moved
them since. The last line of that run's log has its name. **Pause this DAG first:** its next run commits again.
"""

_UNDO_HELP = "Put back what the groups had on the target before this run, and commit nothing. The run's log has its name."
PARAMS = {
    "dry_run": Param(False, type="boolean", title="Dry run", description="Only say what would be committed; commit nothing."),
    "undo": Param(None, type=["null", "string"], title="Take back a run", description=_UNDO_HELP),
}


def tasks(flow: Flow) -> None:
    """One task."""
    GroupOperator(flow=flow.name, step="group-offsets")


KIND = FlowDag(
    "group-offsets", tasks, every="sync.group.offsets.interval.seconds", enabled="sync.group.offsets.enabled", doc=DOC, params=PARAMS
)
