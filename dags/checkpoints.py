"""`<flow>.checkpoints`: translates the offsets of consumer groups, and writes checkpoints."""

from airflow.sdk import Param

from mirror.airflow.flows import flow_dags
from mirror.airflow.group_operator import GroupOperator
from mirror.config import Flow

DOC = """
Translates what the source's consumer groups have committed into offsets of the remote topics, and writes it as checkpoints to
`<source>.checkpoints.internal` on the target, as MirrorMaker 2 does. Translation goes by the copy's ledger: it is exact, or early where the
ledger has forgotten details, and never late. A group that did not move costs nothing.

**When not to use it.** To have groups find their place by themselves on the target: that is `group-offsets`, which does not need
checkpoints. With `emit.checkpoints.enabled=false` this DAG does not exist.

**When it is red**, read its log: it names the groups and topics that failed; all others were written. A position without an answer is no
failure: the log says for which group and why, as `python -m mirror translate --group G` does.

`dry_run` in the trigger form writes nothing and says what would be written.
"""

DRY_RUN = {"dry_run": Param(False, type="boolean", title="Dry run", description="Only say what would be written; write nothing.")}


def tasks(flow: Flow) -> None:
    """One task."""
    GroupOperator(flow=flow.name, step="checkpoints")


globals().update(
    flow_dags("checkpoints", tasks, every="emit.checkpoints.interval.seconds", enabled="emit.checkpoints.enabled", doc=DOC, params=DRY_RUN)
)
