"""From the configuration to DAGs: one per flow for each thing the mirror does."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

import pendulum
from airflow.sdk import DAG, DeltaDataIntervalTimetable, Param, task
from airflow.sdk.exceptions import AirflowFailException

from mirror.airflow.deadlines import deadlines
from mirror.config import Configuration, Flow, InvalidFlow, load
from mirror.config.catalogue import CATALOGUE
from mirror.errors import ConfigurationError

SHORTEST_SECONDS = 10
"""No DAG runs more often than this, whatever an interval says: a run costs seconds."""

RETRIES = {"retries": 3, "retry_delay": timedelta(seconds=10), "retry_exponential_backoff": 2.0, "max_retry_delay": timedelta(minutes=1)}

_OF_INVALID_SECONDS = 60
_START = pendulum.datetime(2025, 1, 1, tz="UTC")


def flow_dags(
    what: str,
    tasks: Callable[[Flow], Any],
    *,
    every: str | Callable[[Flow], int] = lambda _flow: _OF_INVALID_SECONDS,
    timetable: Callable[[Flow], Any] | None = None,
    deadline: Callable[[Flow], list[Any]] | None = None,
    doc: str,
    enabled: str = "",
    params: Mapping[str, Param] | None = None,
    flows: Callable[[Configuration], Configuration] = lambda configuration: configuration,
    runs_at_once: Callable[[Flow], int] = lambda _flow: 1,
) -> dict[str, DAG]:
    """The DAGs `<flow>.<what>` of all flows by their ids, for the module's globals.

    `tasks` fills the DAG of a flow; `every` names the property with its interval in seconds (or tells the seconds), `timetable` gives
    another schedule instead (None: only by hand), `deadline` the alerts on runs that take too long (by default those of
    `mirror.deadline.run.seconds`), `enabled` the property that says whether the DAG exists, `flows` which of them have it. A flow that is
    invalid keeps its DAG, which fails with the configuration error. A configuration that cannot be read at all gives none: the DAG
    `mirror.configuration` says why.
    """
    seconds = (lambda flow: flow.value(every)) if isinstance(every, str) else every
    of_invalid = CATALOGUE[every].default if isinstance(every, str) else _OF_INVALID_SECONDS
    dags = []
    for flow in configured_flows(flows):
        try:
            if isinstance(flow, InvalidFlow):
                raise flow.error
            if enabled and not flow.value(enabled):
                continue
            schedule, start = (timetable(flow), _START) if timetable else _windows(seconds(flow))
            alerts = deadline(flow) if deadline else deadlines(flow, what)
            options = {"params": dict(params or {}), "max_active_runs": runs_at_once(flow), "deadline": alerts or None}
            with _dag(flow.dag_id(what), schedule, start, flow.tags, doc + _notices(flow), **options) as dag:
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


def failing_dag(
    dag_id: str, error: ConfigurationError, *, tags: tuple[str, ...], seconds: int, doc: str = "", never_paused: bool = False
) -> DAG:
    """A DAG that fails in every run with this error: one that vanished could not raise an alarm.

    `never_paused` is for an alarm that is nothing else. The DAG of a flow comes up as Airflow says: Airflow keeps the state when the flow
    is corrected, and it would begin to work though nobody unpaused it.
    """
    problems = "".join(f"\n- {problem}" for problem in error.problems)
    where = f" in {error.file}" if error.file else ""
    said = f"**This cannot run: the configuration{where} is wrong.**\n{problems}\n\n{error.next}\n\n{doc}"
    options: dict[str, Any] = {"is_paused_upon_creation": False} if never_paused else {}
    with _dag(dag_id, *_windows(seconds), tags, said, **options) as dag:

        @task(retries=0)
        def configuration(message: str) -> None:
            raise AirflowFailException(message)

        configuration(str(error))
    return dag


def aligned_start(seconds: int) -> datetime:
    """A start date at which a window of this length begins, as DeltaDataIntervalTimetable lays its windows out: from the epoch on."""
    return pendulum.from_timestamp(_START.int_timestamp - _START.int_timestamp % seconds)


def _windows(seconds: int) -> tuple[DeltaDataIntervalTimetable, datetime]:
    """Aligned windows of this length, none too short, and the date from which they are counted."""
    seconds = max(seconds, SHORTEST_SECONDS)
    return DeltaDataIntervalTimetable(timedelta(seconds=seconds)), aligned_start(seconds)


def _dag(dag_id: str, schedule: Any, start: datetime, tags: tuple[str, ...], doc: str, **options: Any) -> DAG:
    return DAG(
        dag_id,
        schedule=schedule,
        start_date=start,
        catchup=False,
        default_args={"owner": "mirror", **RETRIES},
        tags=list(tags),
        doc_md=doc,
        **{"max_active_runs": 1, **options},
    )


def _notices(flow: Flow) -> str:
    return "\n\n**Notices**\n" + "".join(f"\n- {notice}" for notice in flow.notices) if flow.notices else ""
