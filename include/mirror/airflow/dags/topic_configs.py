"""`<flow>.topic-configs`: keeps the configs of a flow's remote topics as those of the source's topics."""

from airflow.sdk import Param

from mirror.airflow.dags.factory import FlowDag
from mirror.airflow.tasks import step_task
from mirror.config import Flow

DOC = """
Gives each remote topic the configs of its source topic: it sets what is set there, and sets back to the target's default what is at its
default there. It leaves the configs of `config.properties.exclude` alone; `config.property.filter.class` may select in another way, and
with `use.defaults.from=source` it carries the source's defaults too. Its log lists each change with the old value and the new one.

**When not to use it.** To keep configs of the target's own, such as a longer retention: add them to `config.properties.exclude`, behind the
list that it has by default, or this DAG sets them back. With `sync.topic.configs.enabled=false` it does not exist, and remote topics keep
the configs that they were created with.

**When it is red**, read its log: it names each topic that failed, with the reason (a config that the target does not take, a
`min.insync.replicas` above the number of its replicas, a missing authorization). It changed all other topics; once the reason is gone, the
next run does the rest.

`dry_run` in the trigger form writes nothing and says what it would change.
"""

DRY_RUN = {"dry_run": Param(False, type="boolean", title="Dry run", description="Only say what would be changed; write nothing.")}


def tasks(flow: Flow) -> None:
    """One task."""
    step_task(flow.name, "topic-configs")


KIND = FlowDag(
    "topic-configs",
    tasks,
    every="sync.topic.configs.interval.seconds",
    enabled="sync.topic.configs.enabled",
    doc=DOC,
    params=DRY_RUN,
)
