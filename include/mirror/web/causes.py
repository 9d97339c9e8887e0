"""What Airflow's database knows of a flow and no cluster does: what keeps it from being copied or watched, and which alerts are open."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mirror import errors
from mirror.alerts.model import Alert
from mirror.web.access import COPY, AirflowView, Dag
from mirror.web.words import plural, seconds

_WATCHED = {"freshness": "nobody is told when the flow is late or stuck", "refresh-topics": "new topics and partitions are not found"}
"""DAGs whose pause somebody has to know of, and why; many run the mirror without some of the others."""

FRESHNESS_OLD_SECONDS = 900.0
"""What `freshness`, which looks each minute, left longer ago than this says nothing about now."""


@dataclass(frozen=True)
class Cause:
    """Something about Airflow that keeps the flow from being copied, or from being watched. `dag_id` is what a link leads to."""

    what: str
    next: str
    dag_id: str = ""
    stops: bool = True
    """Whether nothing is copied because of it."""


def causes(flow: str, view: AirflowView, now: datetime) -> list[Cause]:
    """What Airflow's database knows and no cluster does, that which stops the copy first."""
    return sorted((*_causes(flow, view), *_untold(view, now)), key=lambda cause: not cause.stops)


def _causes(flow: str, view: AirflowView) -> Iterator[Cause]:
    copy = view.dag(COPY)
    if copy is None:
        yield Cause(
            f"Airflow has no DAG that copies {flow}.",
            "Look for import errors (Airflow's home page), and whether the dag-processor has this configuration (MIRROR_CONFIG).",
        )
    elif copy.paused:
        yield Cause(f"the DAG {copy.dag_id} is paused.", "Unpause it.", copy.dag_id)
    for pool in view.missing_pools:
        stops = pool.startswith("mirror_copy_")
        yield Cause(
            f"there is no pool {pool}, so its tasks never start.",
            "Create it: python -m mirror pools > pools.json && airflow pools import pools.json",
            stops=stops,
        )
    for component in view.silent:
        yield Cause(f"Airflow's {component} gives no sign of life.", f"Start it: airflow {component}", stops=component == "scheduler")
    for what, without in _WATCHED.items():
        dag = view.dag(what)
        if dag is not None and dag.paused:
            yield Cause(f"the DAG {dag.dag_id} is paused: {without}.", "Unpause it, unless that is meant.", dag.dag_id, stops=False)


def _untold(view: AirflowView, now: datetime) -> Iterator[Cause]:
    """Why people are not told though `freshness` is not paused."""
    dag, newest = view.dag("freshness"), _newest(view)
    if dag is None or dag.paused:
        return
    if newest is None or (age := _age(newest, now)) is None:
        if dag.newest is not None and dag.newest.state == "failed":
            yield _blind(dag, "has not looked yet: its newest run failed")
    elif age > FRESHNESS_OLD_SECONDS:
        yield _blind(dag, f"has not looked for {seconds(age)}")
    elif isinstance(unsent := newest.get("unsent"), int) and unsent > 0:
        yield Cause(
            f"{plural(unsent, 'message')} to people on call could not be delivered.",
            "Look at the log of the newest run: it names the connection and what is wrong with it.",
            dag.dag_id,
            stops=False,
        )


def _blind(dag: Dag, why: str) -> Cause:
    what = f"the DAG {dag.dag_id} {why}; {_WATCHED['freshness']}."
    return Cause(what, "Look at its newest run and the log of that.", dag.dag_id, stops=False)


def alerts_of(view: AirflowView, now: datetime) -> list[Alert]:
    """The alerts that the last run of `freshness` had open, the oldest first; none if that is too long ago to be true. Those about errors
    are left out, for the snapshot tells them too, and sooner that they are over; so is what cannot be read."""
    newest = _newest(view)
    age = None if newest is None else _age(newest, now)
    if newest is None or age is None or age > FRESHNESS_OLD_SECONDS:
        return []
    documents = newest.get("open")
    found = []
    for document in documents if isinstance(documents, list) else []:
        try:
            found.append(Alert.from_document(document))
        except (KeyError, TypeError, ValueError, AttributeError):
            continue  # of another version of the mirror; the next run of `freshness` leaves it anew
    return sorted((alert for alert in found if alert.kind not in errors.__all__), key=lambda alert: alert.since)


def _newest(view: AirflowView) -> Mapping[str, Any] | None:
    return view.freshness[-1] if view.freshness else None


def _age(document: Mapping[str, Any], now: datetime) -> float | None:
    try:
        return (now - datetime.fromisoformat(document["time"])).total_seconds()
    except (KeyError, TypeError, ValueError):
        return None
