"""The DAGs whose runs are one step beside the copy: `<flow>.refresh-topics`, `<flow>.heartbeats`, `<flow>.checkpoints` and the others."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from airflow.sdk import Context, Param

from kafka_mirror.airflow.assets import alert_asset
from kafka_mirror.airflow.dags.factory import FlowDag
from kafka_mirror.airflow.flow_files import flow_name
from kafka_mirror.airflow.flow_operator import FlowOperator, SparkOperator, flow_task, task_id_of
from kafka_mirror.config import Configuration, Flow
from kafka_mirror.config.deadlines import seconds_between_beats, seconds_between_checkpoint_runs

BEATING_SECONDS = 300
"""By the triggerer, a run of heartbeats starts this often, and reads the configuration again."""


@flow_task()
def run_step(flow_name: str, step: str) -> dict[str, Any]:
    """Runs the step and returns what it did (`dry_run`: would do). It fails with what failed."""
    from kafka_mirror.airflow.work.steps import run_flow_step

    return run_flow_step(flow_name, step)


class GroupOperator(SparkOperator):
    """Runs `checkpoints` or `group-offsets` of a flow, with a Spark job where there are many groups, and fails with what failed."""

    template_fields: Sequence[str] = ()

    def __init__(self, *, flow: str, step: str, **options: Any) -> None:
        super().__init__(flow=flow, task_id=task_id_of(step), inlets=[alert_asset(flow_name(flow))], **options)
        self.step = step

    def execute(self, context: Context) -> Any:  # noqa: ARG002 — the base class's
        """The whole task."""
        from kafka_mirror.airflow.work.groups import run_groups

        return run_groups(self)


class HeartbeatOperator(FlowOperator):
    """Defers to a HeartbeatTrigger and returns what it did: the number of `beats`, and the times of the `first` and the `last`."""

    template_fields: Sequence[str] = ()

    def execute(self, context: Context) -> Any:  # noqa: ARG002 — the base class's
        """Reads the configuration and defers to the triggerer."""
        from kafka_mirror.airflow.work.steps import beat_in_triggerer

        return beat_in_triggerer(self.flow, BEATING_SECONDS)

    def execute_complete(self, _context: Context, event: Mapping[str, Any]) -> Mapping[str, Any]:
        """Returns what the trigger did. Raises the error that ended it."""
        from kafka_mirror.airflow.work.steps import end_beats

        return end_beats(self.flow, event)


def _dry_run(description: str) -> dict[str, Param]:
    return {"dry_run": Param(False, type="boolean", title="Dry run", description=description)}


def _step(name: str, tasks: Callable[[str, Flow], Any] | None = None, **options: Any) -> FlowDag:
    """A DAG whose one task is the step of this name."""
    return FlowDag(name, partial(tasks or _run_alone, name), **options)


def _run_alone(step: str, flow: Flow) -> None:
    run_step(flow.name, step, task_id=task_id_of(step), inlets=[alert_asset(flow)])


def _run_groups(step: str, flow: Flow) -> None:
    GroupOperator(flow=flow.name, step=step)


def _beat(step: str, flow: Flow) -> None:
    if is_beating_in_triggerer(flow):
        HeartbeatOperator(task_id=step, flow=flow.name, inlets=[alert_asset(flow)])
    else:
        _run_alone(step, flow)


def is_beating_in_triggerer(flow: Flow) -> bool:
    """Whether Airflow's triggerer beats; then runs only follow each other, and one begins while the one before still beats."""
    return bool(flow.value("mirror.heartbeats.trigger"))


REFRESH_TOPICS = """
Finds the source's topics that the flow mirrors, creates missing remote topics, and adds partitions where the source has more. It reports
topics that are gone from the source, and leaves them alone on the target.

**When not to use it.** To copy records: use `copy`, which does not wait for this DAG on a fresh flow. With `refresh.topics.enabled=false`
this DAG does not exist, and only topics that are mirrored already go on.

**When it is red**, read its log: it names each topic that failed, with the reason (most often a missing authorization, or a
`replication.factor` that the target's brokers cannot give). It refreshed all other topics; once the reason is gone, the next run does the
rest.

`dry_run` in the trigger form writes nothing and says what it would do.
"""

TOPIC_CONFIGS = """
Gives each remote topic the configs of its source topic: it sets what is set there, and sets back to the target's default what is at its
default there. It leaves the configs of `config.properties.exclude` alone; `config.property.filter.class` may select in another way, and
with `use.defaults.from=source` it carries the source's defaults too. Its log lists each change with the old value and the new one.

**When not to use it.** To keep configs of the target's own, such as a longer retention: add them to `config.properties.exclude`, after the
list that it has by default, or this DAG sets them back. With `sync.topic.configs.enabled=false` it does not exist, and remote topics keep
the configs that they were created with.

**When it is red**, read its log: it names each topic that failed, with the reason (a config that the target does not take, a
`min.insync.replicas` above the number of its replicas, a missing authorization). It changed all other topics; once the reason is gone, the
next run does the rest.

`dry_run` in the trigger form writes nothing and says what it would change.
"""

TOPIC_ACLS = """
Creates, for each ACL of a mirrored topic on the source, the same ACL on its remote topic: a principal that may read the one may read the
other. It does not carry the right to write: it leaves ALLOW WRITE out and makes ALLOW READ of ALLOW ALL, so that only the mirror writes.
As in MirrorMaker 2, it carries no ACLs of groups, and none with a prefix. It deletes no ACL: it reports what the source no longer has.

**When not to use it.** Where principals have other names on the target, or where prefixes or another system manage access: set
`sync.topic.acls.enabled=false`, and this DAG does not exist. On clusters without an authorizer it is green and says that it skipped them.

**When it is red**, read its log. Most often a right is missing: DESCRIBE on the source's cluster, to see the ACLs, or ALTER on the target's
cluster, to create them. Once somebody grants it, the next run does the rest.

`dry_run` in the trigger form writes nothing and says what it would create.
"""

REFRESH_GROUPS = """
Lists the source's consumer groups, of the classic and of the consumer protocol, and selects those that match `groups`, `groups.exclude` and
`group.filter.class` and have committed offsets for a mirrored topic. `checkpoints` and `group-offsets` use the list. It writes nothing.

**When not to use it.** To translate offsets: use `checkpoints`, which does not wait for this DAG on a fresh flow. With
`refresh.groups.enabled=false` this DAG does not exist, and those two list the groups themselves in every run.

**When it is red**, read its log: most often the right to DESCRIBE a group is missing. `checkpoints` and `group-offsets` do not use a list
that is too old: until this DAG is green again they list the groups themselves.
"""

CHECKPOINTS = """
Translates the offsets that the source's consumer groups have committed into offsets of the remote topics, and writes them as checkpoints
to `<source>.checkpoints.internal` on the target, as MirrorMaker 2 does. It translates by the copy's ledger: exactly, or too early where the
ledger has forgotten details, and never too late. A group that did not move costs nothing.

Where copies follow (`mirror.follow.seconds`), the task `copy` writes checkpoints too, every `emit.checkpoints.interval.seconds`; this DAG
then runs every ten minutes, and makes up for a copy that does not run.

**When not to use it.** To commit offsets on the target, so that consumers find their place by themselves: use `group-offsets`, which needs
no checkpoints. With `emit.checkpoints.enabled=false` this DAG does not exist.

**When it is red**, read its log: it names the groups and topics that failed. It wrote the checkpoints of all others. A position that it
cannot translate is no failure: the log names the group and the reason, as `python -m kafka_mirror translate --group G` does.

`dry_run` in the trigger form writes nothing and says what it would write.
"""

GROUP_OFFSETS = """
Translates the offsets that the source's consumer groups have committed, and commits them for the groups of the same names on the target:
consumers can start there and go on. It changes only groups without members, never moves them backwards, and never commits an offset that
the remote partition does not have.

**When not to use it.** Where consumers of the target use the same group names for other work: it would move their groups forward while they
are idle. With `sync.group.offsets.enabled=false`, the default, this DAG does not exist.

**When it is red**, read its log: it names each group that failed. It did all others. It leaves a group alone that is active on the target,
or further on there; that is no failure, and the log says so for each.

`dry_run` in the trigger form commits nothing and says what it would commit.

`undo` in the trigger form takes back what a run committed: the groups get what they had on the target before it, where nothing else moved
them since. The last line of that run's log has its name. **The next run commits again:** take the groups out of `groups` first. Airflow
starts no run of a paused DAG; while this one is paused, use `python -m kafka_mirror group-offsets --undo`.
"""

SCHEMAS = """
Registers on the target's schema registry what it lacks of the source's: subjects, versions and references, in the order in which they need
each other, **with the same ids**, for these stand in the records. Then each subject gets the source's compatibility and mode. It compares
both registries wholly each time, so a green run is an audit: both are equal.

It deletes nothing. What was deleted on the source, and what only the target has, is named in the log.

**When not to use it.** Where both clusters share one registry, or where Confluent's Schema Linking does it already.

**When it is red**, read its log. A conflict means that the target has another schema under an id or a version of the source's: give the
flow a context of its own (`mirror.schemas.contexts`). `IMPORT` in a message means that the registry, or this login, does not allow ids to
be kept.

`dry_run` in the trigger form writes nothing and says what is different.
"""

HEARTBEATS = """
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

_UNDO = "Put back what the groups had on the target before this run, and commit nothing. The run's log has its name."

STEPS: Mapping[str, FlowDag] = {
    kind.what: kind
    for kind in (
        _step(
            "refresh-topics",
            every="refresh.topics.interval.seconds",
            enabled="refresh.topics.enabled",
            doc=REFRESH_TOPICS,
            params=_dry_run("Only say what would be created; write nothing."),
        ),
        _step(
            "topic-configs",
            every="sync.topic.configs.interval.seconds",
            enabled="sync.topic.configs.enabled",
            doc=TOPIC_CONFIGS,
            params=_dry_run("Only say what would be changed; write nothing."),
        ),
        _step(
            "topic-acls",
            every="sync.topic.acls.interval.seconds",
            enabled="sync.topic.acls.enabled",
            doc=TOPIC_ACLS,
            params=_dry_run("Only say what would be created; write nothing."),
        ),
        _step("refresh-groups", every="refresh.groups.interval.seconds", enabled="refresh.groups.enabled", doc=REFRESH_GROUPS, params={}),
        _step(
            "checkpoints",
            _run_groups,
            every=seconds_between_checkpoint_runs,
            enabled="emit.checkpoints.enabled",
            doc=CHECKPOINTS,
            params=_dry_run("Only say what would be written; write nothing."),
        ),
        _step(
            "group-offsets",
            _run_groups,
            every="sync.group.offsets.interval.seconds",
            enabled="sync.group.offsets.enabled",
            doc=GROUP_OFFSETS,
            params=_dry_run("Only say what would be committed; commit nothing.")
            | {"undo": Param(None, type=["null", "string"], title="Take back a run", description=_UNDO)},
        ),
        _step(
            "heartbeats",
            _beat,
            every=lambda flow: BEATING_SECONDS if is_beating_in_triggerer(flow) else seconds_between_beats(flow),
            runs_at_once=lambda flow: 2 if is_beating_in_triggerer(flow) else 1,
            flows=Configuration.for_heartbeats,
            doc=HEARTBEATS,
            params=_dry_run("Only look whether the topic is there; write nothing."),
        ),
        _step(
            "schemas",
            every="mirror.schemas.interval.seconds",
            enabled="mirror.schemas.source.url",
            doc=SCHEMAS,
            params=_dry_run("Only compare both registries; write nothing."),
        ),
    )
}
