"""Remote topics as Airflow's assets (`mirror.assets.topics`): a copy tells that records came, and DAGs that read a topic start by it.

Which topics there are is known when a run has copied and not when a DAG file is read, so the events go by an asset alias of the flow, which
Airflow resolves to the asset of each topic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import Asset, AssetAlias

from kafka_mirror.airflow.lineage import namespace
from kafka_mirror.policy.java_regex import compile_java

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from airflow.sdk import Context

    from kafka_mirror.config import Flow
    from kafka_mirror.config.flow import FlowName
    from kafka_mirror.copy.model import Watermark

COPIES = "copies"
"""The word for events that tell that records came."""


def alias_of(flow: FlowName) -> AssetAlias:
    """What stands for all assets of a flow."""
    return AssetAlias(f"mirror-{flow.airflow_name}")


def are_told(flow: Flow, *events: str) -> bool:
    """Whether the assets of the flow get any of these events (words of `mirror.assets.events`)."""
    return bool(flow.value("mirror.assets.topics")) and not {*events}.isdisjoint(flow.value("mirror.assets.events"))


def outlets(flow: Flow) -> list[AssetAlias]:
    """The outlets of the task that tells that records came; none where no event is configured."""
    return [alias_of(flow)] if are_told(flow, COPIES) else []


def is_asset(flow: Flow) -> Callable[[str], bool]:
    """Tells of a source topic whether its remote topic is an asset."""
    return compile_java("|".join(flow.value("mirror.assets.topics"))).matches


def asset_of(flow: Flow, remote: str) -> Asset:
    """A remote topic: `kafka://host:port/topic`, by the first of the target's bootstrap servers."""
    return Asset(f"{namespace(flow, 'target')}/{remote}")


def tell_assets(flow: Flow, context: Context, watermarks: Iterable[Watermark]) -> list[str]:
    """Adds an event to the asset of each listed topic that got records; gives the topics. Airflow keeps the events when the task succeeds,
    and never before."""
    if not are_told(flow, COPIES):
        return []
    from kafka_mirror.config.policies import topic_selection

    is_listed, selection = is_asset(flow), topic_selection(flow)
    by_topic: dict[str, list[Watermark]] = {}
    for mark in watermarks:
        if mark.records and is_listed(mark.topic):
            by_topic.setdefault(mark.topic, []).append(mark)
    events: Any = context["outlet_events"][alias_of(flow)]
    for topic, marks in sorted(by_topic.items()):
        events.add(asset_of(flow, selection.remote(topic)), extra=_extra(flow, topic, marks))
    return sorted(by_topic)


def _extra(flow: Flow, topic: str, marks: Iterable[Watermark]) -> Mapping[str, Any]:
    """What an event says: how many records came, and in front of which offset each partition of both sides stands since."""
    partitions = sorted(marks, key=lambda mark: mark.partition)
    return {
        "flow": flow.name,
        "topic": topic,
        "records": sum(mark.records for mark in partitions),
        "watermarks": {str(mark.partition): {"source": mark.source_offset, "target": mark.target_offset} for mark in partitions},
    }
