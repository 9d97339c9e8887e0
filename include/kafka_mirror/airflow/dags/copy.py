"""`<flow>.copy`: mirrors the records of a flow's topics, exactly once."""

from typing import Any

from airflow.sdk import Param

from kafka_mirror.airflow.assets import COPIES, alias_of, are_told
from kafka_mirror.airflow.dags.factory import FlowDag
from kafka_mirror.airflow.deadlines import copy_limit
from kafka_mirror.airflow.flow_operator import flow_task
from kafka_mirror.airflow.operators import MirrorCopyOperator
from kafka_mirror.config import Flow

DOC = """
Mirrors the records of the flow's topics from source to target, **exactly once**: what is there, and then what comes, until the next run has
taken over.

| task | does |
|---|---|
| `plan` | compares the ledger's watermarks with the source's offsets |
| `copy` | runs a Spark job, one Spark task per lane that has work; without work it starts no Spark. It is the run's colour |

However the job ended, `copy` reads from the ledger what was reached, and writes the offset syncs of what was copied. It is green if each
planned offset was reached, or lies in a later run's budget, and red with all errors. With `mirror.assets.topics` there is `announce`
after it: it tells the assets of the topics that got records, also in a red run.

**When not to use it.** To copy a past range again: use `backfill`. To stop one topic: add it to `topics.exclude`, or use `decide pause`.
A run that is missed or cleared loses nothing and doubles nothing: the copy goes by the ledger on the target, never by the run's date.

**When it is red**, read the log of `copy`: each error names topic-partition@offset, the state that is left, and the next step.
Partitions without an error were copied all the same. Airflow retries what is retriable (a broker is down, another attempt took a lane
over). The rest waits for a person: a gap, a topic that was created again, a refused record, a target with records that the ledger does not
explain.

It is no sign of trouble that a run takes the whole interval, that two runs go on at once for up to a minute, or that a run had nothing to
do: the tab Mirror of the run says so. With `mirror.follow.seconds=0` a run copies up to where the source was when it planned, and ends.

`dry_run` in the trigger form plans, writes nothing, and says what a copy would do.
"""

DRY_RUN = {"dry_run": Param(False, type="boolean", title="Dry run", description="Only say what would be copied; write nothing.")}


@flow_task(task_id="plan")
def plan(flow_name: str) -> dict[str, Any]:
    """Returns what there is to copy, as columns. A partition that cannot be copied does not fail this task but the copy."""
    from kafka_mirror.airflow.work import copy

    return copy.plan(flow_name)


@flow_task(task_id="announce")
def announce(flow_name: str) -> list[str]:
    """Adds an event to the asset of each listed topic that got records, and returns the topics. Airflow keeps a task's events only if it
    succeeds, so it is a task of its own: a copy that fails has copied all the same."""
    from kafka_mirror.airflow.work import copy

    return copy.announce(flow_name)


def tasks(flow: Flow) -> None:
    """plan → copy (→ announce). The run is as red as the copy: what is torn down after it does not count."""
    copy = MirrorCopyOperator(
        task_id="copy",
        flow=flow.name,
        plan_task="plan",
        plan_only="{{ params.dry_run }}",
        pool=flow.value("mirror.copy.pool"),
        priority_weight=3,  # before a backfill's slices
        max_active_tis_per_dag=runs_at_once(flow),
        execution_timeout=copy_limit(flow),
    )
    plan(flow.name) >> copy
    if are_told(flow, COPIES):
        copy >> announce(flow.name, outlets=[alias_of(flow)]).as_teardown()


def runs_at_once(flow: Flow) -> int:
    """Where runs follow, one begins while the one before still copies."""
    return 2 if flow.value("mirror.follow.seconds") else 1


KIND = FlowDag("copy", tasks, every="mirror.copy.interval.seconds", runs_at_once=runs_at_once, doc=DOC, params=DRY_RUN)
