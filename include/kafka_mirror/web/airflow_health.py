"""What only Airflow knows of a flow: what keeps it from being copied or watched there, and which alerts are open."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kafka_mirror.errors import NextStep
from kafka_mirror.errors.base import CLASSES
from kafka_mirror.errors.next_step import Command, program
from kafka_mirror.errors.words import count_text
from kafka_mirror.formats.documents import from_document
from kafka_mirror.status.airflow_view import COPY, AirflowView, Dag
from kafka_mirror.status.problems import Alert
from kafka_mirror.status.snapshot import FlowSnapshot
from kafka_mirror.status.snapshot_cache import CHECK_OLD_SECONDS
from kafka_mirror.web.formatting import seconds

_WATCHED = {"freshness": "no alert is sent when the flow is late or stuck", "refresh-topics": "new topics and partitions are not found"}
"""DAGs of which the page says that they are paused, and what that means. Many installations run without some of the others."""


@dataclass(frozen=True)
class AirflowIssue:
    """Something about Airflow that keeps the flow from being copied, or from being watched. `dag_id` is what a link leads to."""

    what: str
    next: NextStep
    dag_id: str = ""
    stops: bool = True
    """Whether nothing is copied because of it."""


def airflow_issues(snapshot: FlowSnapshot, view: AirflowView, now: datetime) -> list[AirflowIssue]:
    """All issues of a flow, those that stop the copy first."""
    return sorted((*_find_scheduling_issues(snapshot, view), *_find_alerting_issues(view, now)), key=lambda issue: not issue.stops)


def _find_scheduling_issues(snapshot: FlowSnapshot, view: AirflowView) -> Iterator[AirflowIssue]:
    copy = view.find_dag(COPY)
    if copy is None:
        yield AirflowIssue(
            f"Airflow has no DAG that copies {snapshot.flow}.",
            NextStep("Look for import errors (Airflow's home page), and whether the dag-processor has this configuration (MIRROR_CONFIG)."),
        )
    elif copy.paused:
        yield AirflowIssue(f"the DAG {copy.dag_id} is paused.", NextStep("Unpause it."), copy.dag_id)
    if snapshot.pool not in view.pools:
        yield AirflowIssue(
            f"there is no pool {snapshot.pool} (mirror.copy.pool), so its tasks never start.",
            NextStep.of("Create it: ", Command(f"{program()} pools | airflow pools import /dev/stdin")),
        )
    for component in view.silent:
        yield AirflowIssue(
            f"Airflow's {component} gives no sign of life.",
            NextStep.of("Start it: ", Command(f"airflow {component}")),
            stops=component == "scheduler",
        )
    for kind, consequence in _WATCHED.items():
        dag = view.find_dag(kind)
        if dag is not None and dag.paused:
            yield AirflowIssue(
                f"the DAG {dag.dag_id} is paused: {consequence}.", NextStep("Unpause it, unless that is meant."), dag.dag_id, stops=False
            )


def _find_alerting_issues(view: AirflowView, now: datetime) -> Iterator[AirflowIssue]:
    """Why alerts are not sent although `freshness` is not paused."""
    dag, newest = view.find_dag("freshness"), view.freshness
    if dag is None or dag.paused:
        return
    if newest is None or (age := _age(newest, now)) is None:
        if dag.newest is not None and dag.newest.state == "failed":
            yield _freshness_issue(dag, "has not looked yet: its newest run failed")
    elif age > CHECK_OLD_SECONDS:
        yield _freshness_issue(dag, f"has not looked for {seconds(age)}")
    elif isinstance(unsent := newest.get("unsent"), int) and unsent > 0:
        yield AirflowIssue(
            f"{count_text(unsent, 'message')} to people on call could not be delivered.",
            NextStep("Look at the log of the newest run: it names the connection and what is wrong with it."),
            dag.dag_id,
            stops=False,
        )


def _freshness_issue(dag: Dag, state: str) -> AirflowIssue:
    what = f"the DAG {dag.dag_id} {state}; {_WATCHED['freshness']}."
    return AirflowIssue(what, NextStep("Look at its newest run and the log of that."), dag.dag_id, stops=False)


def alerts_of(view: AirflowView, now: datetime) -> list[Alert]:
    """The alerts that were open at the last run of `freshness`, the oldest first; none if that run is too old.

    Alerts about errors are left out, for the snapshot has those errors, and says sooner that they are over; but for errors that only a step
    could see.
    """
    document_of_run = view.freshness
    age = None if document_of_run is None else _age(document_of_run, now)
    if document_of_run is None or age is None or age > CHECK_OLD_SECONDS:
        return []
    documents, of_steps = document_of_run.get("open"), document_of_run.get("of_steps") or ()
    alerts = []
    for document in documents if isinstance(documents, list) else []:
        try:
            alerts.append(from_document(Alert, document))
        except ValueError:
            continue  # it is damaged; the next run of `freshness` leaves a new one
    return sorted((alert for alert in alerts if alert.kind not in CLASSES or alert.kind in of_steps), key=lambda alert: alert.since)


def _age(document: Mapping[str, Any], now: datetime) -> float | None:
    try:
        return (now - datetime.fromisoformat(document["time"])).total_seconds()
    except (KeyError, TypeError, ValueError):
        return None
