"""A flow's assets in Airflow: its remote topics (`mirror.assets.topics`), by which DAGs start that read them, and the store of its alerts.

Which topics there are is known when a run has copied and not when a DAG file is read, so the events go by an asset alias of the flow, which
Airflow resolves to the asset of each topic.
"""

from collections.abc import Callable

from airflow.sdk import Asset, AssetAlias

from kafka_mirror.config import Flow
from kafka_mirror.config.flow import FlowName, Side
from kafka_mirror.policy.java_regex import compile_java

COPIES, HOURS, DAYS = "copies", "hours", "days"
"""The words of `mirror.assets.events`: that records came, and that an hour or a day is complete."""


def alias_of(flow: FlowName) -> AssetAlias:
    """What stands for all assets of a flow."""
    return AssetAlias(f"mirror-{flow.airflow_name}")


def are_told(flow: Flow, *events: str) -> bool:
    """Whether the assets of the flow get any of these events."""
    return bool(flow.value("mirror.assets.topics")) and not {*events}.isdisjoint(flow.value("mirror.assets.events"))


def is_asset(flow: Flow) -> Callable[[str], bool]:
    """Tells of a source topic whether its remote topic is an asset."""
    return compile_java("|".join(flow.value("mirror.assets.topics"))).matches


def asset_of(flow: Flow, remote: str) -> Asset:
    """A remote topic: `kafka://host:port/topic`, by the first of the target's bootstrap servers."""
    return Asset(f"{namespace(flow, 'target')}/{remote}")


def namespace(flow: Flow, side: Side) -> str:
    """The cluster as assets and OpenLineage name it, by the first of its bootstrap servers."""
    return f"kafka://{flow.find_bootstrap(side).split(',')[0].strip()}"


def alert_asset(flow: FlowName) -> Asset:
    """The asset whose state store keeps a flow's alerts. It is an inlet of tasks, so that Airflow knows it; nothing ever updates it."""
    return Asset(name=f"mirror-alerts-{flow.airflow_name}", uri=f"mirror://alerts/{flow.airflow_name}")
