"""`<flow>.heartbeats`: shows downstream that the flows from here work."""

from airflow.sdk import Param

from kafka_mirror.airflow.dags.factory import FlowDag
from kafka_mirror.airflow.heartbeats import RUN_SECONDS, HeartbeatOperator
from kafka_mirror.airflow.tasks import step_task
from kafka_mirror.config import Configuration, Flow
from kafka_mirror.config.deadlines import seconds_between_beats

DOC = """
Writes a heartbeat (source, target, now) to the topic `heartbeats` of the **target**. It does not look at the source. A heartbeat shows its
effect one cluster further on, where a flow from there mirrors the topic like any other. As in MirrorMaker 2 it beats for every pair of the
configuration's clusters, enabled flow or not: if `east.heartbeats` on west moves, `east->west` works, and the pair `west->east` is the one
that beats on east.

Each run beats once, every max(`emit.heartbeats.interval.seconds`, `mirror.copy.interval.seconds`).
With `mirror.heartbeats.trigger=true` a run defers to Airflow's triggerer, which beats at the exact interval until the next run takes over.

**When not to use it.** Where heartbeats are of no use, or where the mirror may not write to a source: with
`emit.heartbeats.enabled=false`, or `west->east.emit.heartbeats.enabled=false` for one pair, this DAG does not exist.

**When it is red**, read its log: most often the cluster is down, or does not let the mirror write or create `heartbeats`. A missing beat
loses nothing; the next run beats again.

`dry_run` in the trigger form writes nothing and says whether the topic exists.
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


KIND = FlowDag(
    "heartbeats",
    tasks,
    every=seconds_between_runs,
    runs_at_once=runs_at_once,
    flows=Configuration.for_heartbeats,
    doc=DOC,
    params=DRY_RUN,
)
