"""Remote topics as Airflow's assets (`mirror.assets.topics`): a copy tells that records came, and DAGs that read a topic start by it.

Which topics there are is known when a run has copied and not when a DAG file is read, so the events go by an asset alias of the flow, which
Airflow resolves to the asset of each topic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import Asset, AssetAlias

from mirror.airflow.lineage import namespace

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from airflow.sdk import Context

    from mirror.config import Flow
    from mirror.config.flow import FlowName
    from mirror.copy.model import Watermark


def alias_of(flow: FlowName) -> AssetAlias:
    """What stands for all assets of a flow."""
    return AssetAlias(f"mirror-{flow.airflow_name}")


def outlets(flow: Flow) -> list[AssetAlias]:
    """The outlets of the task that tells; none where the flow names no topics."""
    return [alias_of(flow)] if flow.value("mirror.assets.topics") else []


def asset_of(flow: Flow, remote: str) -> Asset:
    """A remote topic: `kafka://host:port/topic`, by the first of the target's bootstrap servers."""
    return Asset(f"{namespace(flow, 'target')}/{remote}")


def tell_assets(flow: Flow, context: Context, watermarks: Iterable[Watermark]) -> list[str]:
    """Adds an event to the asset of each listed topic that got records; gives the topics. Airflow keeps the events when the task succeeds,
    and never before."""
    listed = flow.value("mirror.assets.topics")
    if not listed:
        return []
    from mirror.config.patterns import compile_pattern
    from mirror.config.policies import topic_selection

    pattern, selection = compile_pattern("|".join(listed)), topic_selection(flow)
    by_topic: dict[str, list[Watermark]] = {}
    for mark in watermarks:
        if mark.records and pattern.matches(mark.topic):
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
