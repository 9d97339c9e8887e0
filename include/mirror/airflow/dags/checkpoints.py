"""`<flow>.checkpoints`: translates the offsets of consumer groups, and writes checkpoints."""

from airflow.sdk import Param

from mirror.airflow.dags.factory import FlowDag
from mirror.airflow.groups import GroupOperator
from mirror.config import Flow

DOC = """
Translates the offsets that the source's consumer groups have committed into offsets of the remote topics, and writes them as checkpoints
to `<source>.checkpoints.internal` on the target, as MirrorMaker 2 does. It translates by the copy's ledger: exactly, or too early where the
ledger has forgotten details, and never too late. A group that did not move costs nothing.

**When not to use it.** To commit offsets on the target, so that consumers find their place by themselves: use `group-offsets`, which needs
no checkpoints. With `emit.checkpoints.enabled=false` this DAG does not exist.

**When it is red**, read its log: it names the groups and topics that failed. It wrote the checkpoints of all others. A position that it
cannot translate is no failure: the log names the group and the reason, as `python -m mirror translate --group G` does.

`dry_run` in the trigger form writes nothing and says what it would write.
"""

DRY_RUN = {"dry_run": Param(False, type="boolean", title="Dry run", description="Only say what would be written; write nothing.")}


def tasks(flow: Flow) -> None:
    """One task."""
    GroupOperator(flow=flow.name, step="checkpoints")


KIND = FlowDag("checkpoints", tasks, every="emit.checkpoints.interval.seconds", enabled="emit.checkpoints.enabled", doc=DOC, params=DRY_RUN)
