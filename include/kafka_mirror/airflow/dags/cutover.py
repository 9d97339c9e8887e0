"""`<flow>.cutover`: moves topics and consumer groups to the target, wave by wave."""

from typing import Any

from airflow.sdk import Param, TriggerRule, chain

from kafka_mirror.airflow.dags.factory import FlowDag
from kafka_mirror.airflow.deadlines import LONGEST_QUIET, step_limit
from kafka_mirror.airflow.flow_operator import flow_task, task_id_of
from kafka_mirror.airflow.operators import MirrorCutoverOperator
from kafka_mirror.config import Flow
from kafka_mirror.cutover.wave.step import BY_HAND, FENCES, MODES, PLANNED, STEPS

DOC = """
Moves a **wave**, which is a set of topics and consumer groups, from the flow's source to its target: nothing lost, nothing read twice.
It begins as a **dry run**, which changes nothing and says what each step would do. Untick *Dry run* to move.

| task | does |
|---|---|
| `preflight` | names everything that would stop the wave |
| `catch_up` | runs the copy until no partition is more than *Largest lag* records behind |
| `fence` | makes sure that no producer writes to the wave's source topics any more; names who still does |
| `last_copy` | copies to the exact end at the fence |
| `audit_gate` | compares both sides; any difference stops the wave |
| `move_groups` | commits the groups' exact positions on the target, once they have no members on the source |
| `open` | from here on the target is written: the flow copies these topics no more, the way back begins |
| `report` | who, when, how long writing and reading were not possible, and how to undo it |

Stop the consumers of the wave's groups when `fence` is green; start producers and consumers on the target when `open` is green.

The clusters and the control topic are the only state. A task that was killed, failed or waited too long is cleared, and goes on from what
it finds there. Until `open` is green, `python -m kafka_mirror cutover rollback` takes everything back.

**When not to use it.** For a test of applications on the target: they would share the groups' positions. To move back: a wave of the
flow in the other direction does that.

**When it is red**, the log of the red task names each thing that stops the wave with the next step; mend it and clear the task with those
after it. `report` is red whenever another task is, or the wave is not open.
"""

PARAMS = {
    "topics": Param(
        "", type="string", title="Topics", description="The wave's topics: Java patterns between commas, such as orders.*, payments"
    ),
    "groups": Param(
        "",
        type=["string", "null"],
        title="Groups",
        description="The same for consumer groups. Empty: all with a position in one of the topics.",
    ),
    "dry_run": Param(True, type="boolean", title="Dry run", description="Only say what each step would do; change nothing."),
    "by": Param(
        BY_HAND,
        type="string",
        enum=list(FENCES),
        title="Who keeps producers off",
        description="hand: people stop them, and the step waits. acl: the mirror denies writing. read-only-check: it only looks, once.",
    ),
    "wave": Param("", type=["string", "null"], title="Name of the wave", description="Empty: made of its topics.", section="More"),
    "mode": Param(
        PLANNED,
        type="string",
        enum=list(MODES),
        title="Mode",
        description="failover: the source is lost. No fence, no last copy; groups get the best position there is.",
        section="More",
    ),
    "reason": Param("", type=["string", "null"], title="Why", description="Kept with the wave. A failover needs it.", section="More"),
    "max_lag": Param(
        1000, type="integer", minimum=0, title="Largest lag", description="Records a partition may be behind.", section="More"
    ),
    "quiet_seconds": Param(
        5,
        type="number",
        minimum=1,
        maximum=LONGEST_QUIET.total_seconds(),
        title="Quiet seconds",
        description="How long no record may have come, after the fence.",
        section="More",
    ),
    "full_audit": Param(
        False, type="boolean", title="Audit everything", description="Instead of what came since the last good audit.", section="More"
    ),
    "wait_minutes": Param(
        60, type="number", minimum=1, title="Wait for people", description="Minutes until a waiting task is red.", section="More"
    ),
}


@flow_task(task_id="report", trigger_rule=TriggerRule.ALL_DONE, retries=0)
def report(flow_name: str) -> dict[str, Any]:
    """The wave's report in the log and in XCom, whatever became of the steps. It is red unless the wave is open."""
    from kafka_mirror.airflow.work import cutover

    return cutover.report(flow_name)


def tasks(flow: Flow) -> None:
    """A task a step, one after the other, and the report."""
    form = {name: f"{{{{ '' if params.{name} is none else params.{name} }}}}" for name in PARAMS if name != "dry_run"}
    steps = [
        MirrorCutoverOperator(
            task_id=task_id_of(step),
            flow=flow.name,
            step=step,
            plan_only="{{ params.dry_run }}",
            trigger_rule=TriggerRule.NONE_FAILED,
            execution_timeout=step_limit(flow, step),
            **form,
        )
        for step in STEPS  # a failover skips some
    ]
    chain(*steps, report(flow.name))


# People take their time, so a run has no deadline.
KIND = FlowDag("cutover", tasks, timetable=lambda _flow: None, deadline=lambda _flow: [], doc=DOC, params=PARAMS)
