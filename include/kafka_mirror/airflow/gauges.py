"""A flow's figures as metrics of Airflow's own (StatsD, OpenTelemetry), for an installation that nothing can scrape.

They have the names that `/mirror/metrics` has, with a dot after `mirror`, and the flow at their end: plain StatsD has no tags.
"""

from collections.abc import Mapping
from typing import Any

from kafka_mirror.airflow import compat
from kafka_mirror.config.flow import FlowName

_FIGURES = {
    "lag_records": "behind_offsets",
    "lag_seconds": "oldest_seconds",
    "lag_bytes": "lag_bytes",
    "served_lag_records": "lag_records",
    "served_lag_seconds": "lag_seconds",
    "copied_records": "watermark_records",
}
"""The names of gauges, and of the fields of a document of `freshness`."""


def emit_gauges(flow: FlowName, document: Mapping[str, Any]) -> None:
    """Emits what a run of `freshness` found. What it could not find out has no value; `mirror.up` says whether it saw both clusters."""
    figures = {name: document[field] for name, field in _FIGURES.items()}
    figures |= {"up": int(document["lag_records"] is not None), "alerts": len(document["open"])}
    name_of_flow = flow.airflow_name.replace(".", "__")  # as in Airflow's own names
    for name, value in figures.items():
        if value is not None:
            compat.set_gauge(f"mirror.{name}.{name_of_flow}", value, {"source": flow.source, "target": flow.target})
