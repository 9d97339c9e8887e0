"""`<flow>.schemas`: brings the schemas of the source's registry to the target's, with the same ids."""

from airflow.sdk import Param

from mirror.airflow.dags.factory import FlowDag
from mirror.airflow.tasks import step_task
from mirror.config import Flow

DOC = """
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

DRY_RUN = {"dry_run": Param(False, type="boolean", title="Dry run", description="Only compare both registries; write nothing.")}


def tasks(flow: Flow) -> None:
    """One task."""
    step_task(flow.name, "schemas")


KIND = FlowDag("schemas", tasks, every="mirror.schemas.interval.seconds", enabled="mirror.schemas.source.url", doc=DOC, params=DRY_RUN)
