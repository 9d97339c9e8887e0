"""`<flow>.heartbeats`: shows downstream that the flows from here work."""

from airflow.sdk import Param

from mirror.airflow.flows import flow_dags
from mirror.airflow.heartbeat_operator import RUN_SECONDS, HeartbeatOperator
from mirror.airflow.step_task import step_task
from mirror.config import Configuration, Flow
from mirror.config.heartbeats import seconds_between_beats

DOC = """
Writes a heartbeat (source, target, now) to the topic `heartbeats` of the **target**. It does not look at the source: what it shows is
seen one cluster further on, where a flow from there mirrors the topic like any other. As in MirrorMaker 2 it beats for every pair of the
configuration's clusters, enabled flow or not: that `east.heartbeats` on west moves says that `east->west` works, and it is the pair
`west->east` that beats on east.

One beat comes with each run, every max(`emit.heartbeats.interval.seconds`, `mirror.copy.interval.seconds`): all that a mirror in batches
can show. With `mirror.heartbeats.trigger=true` a run hands over to Airflow's triggerer, which beats at the exact interval until the
next run goes on.

**When not to use it.** Where nobody looks at heartbeats, or where the mirror may not write to a source: with
`emit.heartbeats.enabled=false`, or `west->east.emit.heartbeats.enabled=false` for one pair, this DAG does not exist.

**When it is red**, read its log: most often the cluster is down, or does not let the mirror write or create `heartbeats`. Nothing is
lost by a missing beat; the next run beats again.

`dry_run` in the trigger form writes nothing and says whether the topic is there.
"""

DRY_RUN = {"dry_run": Param(False, type="boolean", title="Dry run", description="Only look whether the topic is there; write nothing.")}


def tasks(flow: Flow) -> None:
    """One task."""
    if flow.value("mirror.heartbeats.trigger"):
        HeartbeatOperator(task_id="heartbeats", flow=flow.name)
    else:
        step_task(flow.name, "heartbeats")


def seconds_between_runs(flow: Flow) -> int:
    """By the trigger, runs only follow each other."""
    return RUN_SECONDS if flow.value("mirror.heartbeats.trigger") else seconds_between_beats(flow)


def runs_at_once(flow: Flow) -> int:
    """By the trigger, a run begins while the one before still beats."""
    return 2 if flow.value("mirror.heartbeats.trigger") else 1


globals().update(
    flow_dags(
        "heartbeats",
        tasks,
        every=seconds_between_runs,
        runs_at_once=runs_at_once,
        flows=Configuration.for_heartbeats,
        doc=DOC,
        params=DRY_RUN,
    )
)
