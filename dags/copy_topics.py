"""`<flow>.copy`: mirrors the records of a flow's topics, exactly once."""

from datetime import timedelta

from airflow.sdk import Param, chain

from mirror.airflow.copy_operator import CopyOperator
from mirror.airflow.copy_tasks import plan, publish, verdict
from mirror.airflow.flows import flow_dags
from mirror.config import Flow

DOC = """
Mirrors the records of the flow's topics from source to target, **exactly once**, up to where the source was when the run planned.

| task | does |
|---|---|
| `plan` | compares the ledger's watermarks with the source's offsets |
| `copy` | a Spark job, one task per lane that has work; skipped, without starting Spark, when there is none |
| `publish` | reads from the ledger what was reached, whatever became of the job; writes the offset syncs of what was copied |
| `verdict` | the run's colour: green if every planned offset was reached or lies in a later run's budget, red with all that failed |

**When not to use it.** To copy a past range again (that is a backfill), or to get one topic out of the way: exclude it by `topics.exclude`.
A run that is missed or cleared loses nothing and doubles nothing: work goes by the ledger on the target, never by the run's date.

**When it is red**, read the log of `verdict`: each error names topic-partition@offset, what state was left, and the next step.
Partitions without an error were copied all the same. What is retriable (a broker down, a lane that another attempt took over) is tried
again by itself; the rest waits for you: a gap, a recreated topic, a refused record, a target that holds records nobody knows of.

`dry_run` in the trigger form plans, writes nothing, and says what would be copied.
"""

DRY_RUN = {"dry_run": Param(False, type="boolean", title="Dry run", description="Only say what would be copied; write nothing.")}

SAFETY = timedelta(minutes=10)
"""Beyond its budget, how long a run may take before it is ended: nothing may hold the flow for ever."""


def tasks(flow: Flow) -> None:
    """plan → copy → publish → verdict."""
    copy = CopyOperator(
        task_id="copy",
        flow=flow.name,
        pool=flow.pool,
        max_active_tis_per_dag=1,
        execution_timeout=timedelta(seconds=flow.value("mirror.run.max.seconds")) + SAFETY,
    )
    chain(plan(flow.name), copy, publish(flow.name), verdict(flow.name))


globals().update(flow_dags("copy", tasks, every="mirror.copy.interval.seconds", doc=DOC, params=DRY_RUN))
