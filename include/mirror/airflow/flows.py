"""From the configuration to DAGs: one per flow for each thing the mirror does."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

import pendulum
from airflow.sdk import DAG, DeltaDataIntervalTimetable, Param, task
from airflow.sdk.exceptions import AirflowFailException

from mirror.config import Configuration, Flow, InvalidFlow, load
from mirror.config.catalogue import CATALOGUE
from mirror.errors import ConfigurationError

SHORTEST_SECONDS = 10
"""No DAG runs more often than this, whatever an interval says: a run costs seconds."""

RETRIES = {"retries": 3, "retry_delay": timedelta(seconds=10), "retry_exponential_backoff": 2.0, "max_retry_delay": timedelta(minutes=1)}

_START = pendulum.datetime(2025, 1, 1, tz="UTC")


def flow_dags(
    what: str,
    tasks: Callable[[Flow], Any],
    *,
    every: str | Callable[[Flow], int],
    doc: str,
    enabled: str = "",
    params: Mapping[str, Param] | None = None,
    flows: Callable[[Configuration], Configuration] = lambda configuration: configuration,
    runs_at_once: Callable[[Flow], int] = lambda _flow: 1,
) -> dict[str, DAG]:
    """The DAGs `<flow>.<what>` of all flows by their ids, for the module's globals.

    `tasks` fills the DAG of a flow; `every` names the property with its interval in seconds (or tells the seconds), `enabled` the one that
    says whether the DAG exists, `flows` which of them have it. A flow that is invalid keeps its DAG, which fails with the configuration
    error. A configuration that cannot be read at all gives none: the DAG `mirror.configuration` says why.
    """
    seconds = (lambda flow: flow.value(every)) if isinstance(every, str) else every
    of_invalid = CATALOGUE[every].default if isinstance(every, str) else 60
    dags = []
    for flow in configured_flows(flows):
        try:
            if isinstance(flow, InvalidFlow):
                raise flow.error
            if enabled and not flow.value(enabled):
                continue
            with _dag(flow.dag_id(what), seconds(flow), flow.tags, doc + _notices(flow), params, runs_at_once(flow)) as dag:
                tasks(flow)
        except ConfigurationError as error:
            dag = failing_dag(flow.dag_id(what), error, tags=flow.tags, seconds=of_invalid, doc=doc)
        dags.append(dag)
    return {dag.dag_id: dag for dag in dags}


def configured_flows(flows: Callable[[Configuration], Configuration]) -> Iterator[Flow | InvalidFlow]:
    """These of the configuration's flows, valid or not; none if it cannot be read."""
    try:
        configuration = flows(load())
    except ConfigurationError:
        return
    yield from configuration.flows
    yield from configuration.invalid


def failing_dag(dag_id: str, error: ConfigurationError, *, tags: tuple[str, ...], seconds: int, doc: str = "") -> DAG:
    """A DAG that fails in every run with this error: one that vanished could not raise an alarm."""
    problems = "".join(f"\n- {problem}" for problem in error.problems)
    with _dag(dag_id, seconds, tags, f"**This cannot run: the configuration is wrong.**\n{problems}\n\n{error.next}\n\n{doc}") as dag:

        @task(retries=0)
        def configuration(message: str) -> None:
            raise AirflowFailException(message)

        configuration(str(error))
    return dag


def aligned_start(seconds: int) -> datetime:
    """A start date at which a window of this length begins, as DeltaDataIntervalTimetable lays its windows out: from the epoch on."""
    return pendulum.from_timestamp(_START.int_timestamp - _START.int_timestamp % seconds)


def _dag(dag_id: str, seconds: int, tags: tuple[str, ...], doc: str, params: Mapping[str, Param] | None = None, runs: int = 1) -> DAG:
    seconds = max(seconds, SHORTEST_SECONDS)
    return DAG(
        dag_id,
        schedule=DeltaDataIntervalTimetable(timedelta(seconds=seconds)),
        start_date=aligned_start(seconds),
        catchup=False,
        max_active_runs=runs,
        default_args={"owner": "mirror", **RETRIES},
        params=dict(params or {}),
        tags=list(tags),
        doc_md=doc,
    )


def _notices(flow: Flow) -> str:
    return "\n\n**Notices**\n" + "".join(f"\n- {notice}" for notice in flow.notices) if flow.notices else ""
