"""`<flow>.topic-configs`: keeps the configs of a flow's remote topics as those of the source's topics."""

from airflow.sdk import Param

from mirror.airflow.flows import flow_dags
from mirror.airflow.step_task import step_task
from mirror.config import Flow

DOC = """
Gives each remote topic the configs of its source topic: what was set there is set here, and what stands at its default there goes back to
the target's default. `config.properties.exclude` lists what is left alone, `config.property.filter.class` may choose in another way, and
with `use.defaults.from=source` the source's defaults are carried too. Each change is listed, old value and new.

**When not to use it.** To keep configs of the target's own, such as a longer retention: list them in `config.properties.exclude`, together
with the list that stands there by default, or this DAG sets them back. With `sync.topic.configs.enabled=false` it does not exist, and
remote topics keep the configs that they were created with.

**When it is red**, read its log: each topic that failed is named with the reason (a config that the target does not take, a
`min.insync.replicas` above the number of its replicas, a missing authorization). The other topics were changed all the same; once the
reason is gone, the next run does the rest.

`dry_run` in the trigger form writes nothing and says what would be changed.
"""

DRY_RUN = {"dry_run": Param(False, type="boolean", title="Dry run", description="Only say what would be changed; write nothing.")}


def tasks(flow: Flow) -> None:
    """One task."""
    step_task(flow.name, "topic-configs")


globals().update(
    flow_dags(
        "topic-configs",
        tasks,
        every="sync.topic.configs.interval.seconds",
        enabled="sync.topic.configs.enabled",
        doc=DOC,
        params=DRY_RUN,
    )
)
