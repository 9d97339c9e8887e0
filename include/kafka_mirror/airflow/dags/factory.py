"""From the configuration to DAGs: one per flow for each thing the mirror does."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pendulum
from airflow.sdk import DAG, DeltaDataIntervalTimetable, Param

from kafka_mirror.airflow.deadlines import deadlines
from kafka_mirror.airflow.flow_operator import flow_task
from kafka_mirror.airflow.tasks import fail
from kafka_mirror.airflow.time_limits import task_limit
from kafka_mirror.config import Configuration, Flow, InvalidFlow
from kafka_mirror.config.catalogue import CATALOGUE
from kafka_mirror.errors import ConfigurationError

SHORTEST_SECONDS = 10
"""No DAG runs more often than this, whatever its interval: a run costs seconds."""

RETRIES = {"retries": 3, "retry_delay": timedelta(seconds=10), "retry_exponential_backoff": 2.0, "max_retry_delay": timedelta(minutes=1)}

_SECONDS_IF_INVALID = 60
_START = pendulum.datetime(2025, 1, 1, tz="UTC")


Every = str | Callable[[Flow], int]
"""The property with an interval in seconds, or what tells the seconds."""


@dataclass(frozen=True)
class FlowDag:
    """One kind of DAG: each flow has `<flow>.<what>`.

    `tasks` fills the DAG of a flow; `every` names the property with its interval in seconds (or tells the seconds), `timetable` gives
    another schedule instead (None: only by hand), `deadline` the alerts on runs that take too long (by default those of
    `mirror.deadline.run.seconds`), `enabled` the property that says whether the DAG exists, `flows` which of them have it.
    """

    what: str
    tasks: Callable[[Flow], Any]
    every: Every = lambda _flow: _SECONDS_IF_INVALID
    timetable: Callable[[Flow], Any] | None = None
    deadline: Callable[[Flow], list[Any]] | None = None
    doc: str = ""
    enabled: str = ""
    params: Mapping[str, Param] = field(default_factory=dict)
    flows: Callable[[Configuration], Configuration] = lambda configuration: configuration
    runs_at_once: Callable[[Flow], int] = lambda _flow: 1

    def of(self, flow: Flow | InvalidFlow) -> DAG | None:
        """The flow's DAG; None where it is switched off. A flow that is invalid keeps its DAG, which fails with the configuration error."""
        try:
            if isinstance(flow, InvalidFlow):
                raise flow.error
            if self.enabled and not flow.value(self.enabled):
                return None
            schedule, start = (self.timetable(flow), _START) if self.timetable else _windows(self._seconds(flow))
            alerts = self.deadline(flow) if self.deadline else deadlines(flow, self.what)
            options = {"params": dict(self.params), "max_active_runs": self.runs_at_once(flow), "deadline": alerts or None}
            defaults = {"execution_timeout": task_limit(flow)}
            with _dag(flow.dag_id(self.what), schedule, start, flow.tags, self.doc + _notices(flow), defaults, **options) as dag:
                self.tasks(flow)
        except ConfigurationError as error:
            seconds = CATALOGUE[self.every].default if isinstance(self.every, str) else _SECONDS_IF_INVALID
            return failing_dag(flow.dag_id(self.what), error, tags=flow.tags, seconds=seconds, doc=self.doc)
        return dag

    def _seconds(self, flow: Flow) -> int:
        return int(flow.value(self.every)) if isinstance(self.every, str) else self.every(flow)


def failing_dag(
    dag_id: str, error: ConfigurationError, *, tags: tuple[str, ...], seconds: int, doc: str = "", never_paused: bool = False
) -> DAG:
    """A DAG that fails in every run with this error: a DAG that vanished could raise no alarm.

    `never_paused` is for a DAG that is an alarm and nothing else. The DAG of a flow comes up as Airflow's settings say: Airflow keeps its
    state when somebody corrects the flow, and it would start to copy though no person unpaused it.
    """
    problems = "".join(f"\n- {problem}" for problem in error.problems)
    in_file = f" in {error.file}" if error.file else ""
    doc_md = f"**This cannot run: the configuration{in_file} is wrong.**\n{problems}\n\n{error.next}\n\n{doc}"
    options: dict[str, Any] = {"is_paused_upon_creation": False} if never_paused else {}
    with _dag(dag_id, *_windows(seconds), tags, doc_md, {}, **options) as dag:

        @flow_task(task_id="configuration", retries=0)
        def configuration(message: str) -> None:
            fail(message)

        configuration(str(error))
    return dag


def aligned_start(seconds: int) -> datetime:
    """A start date at which a window of this length begins: DeltaDataIntervalTimetable counts its windows from the epoch on."""
    return pendulum.from_timestamp(_START.int_timestamp - _START.int_timestamp % seconds)


def _windows(seconds: int) -> tuple[DeltaDataIntervalTimetable, datetime]:
    """Aligned windows of this length, at least SHORTEST_SECONDS, and their start date."""
    seconds = max(seconds, SHORTEST_SECONDS)
    return DeltaDataIntervalTimetable(timedelta(seconds=seconds)), aligned_start(seconds)


def _dag(dag_id: str, schedule: Any, start: datetime, tags: tuple[str, ...], doc: str, defaults: Mapping[str, Any], **options: Any) -> DAG:
    return DAG(
        dag_id,
        schedule=schedule,
        start_date=start,
        catchup=False,
        default_args={"owner": "mirror", **RETRIES, **defaults},
        tags=list(tags),
        doc_md=doc,
        **{"max_active_runs": 1, **options},
    )


def _notices(flow: Flow) -> str:
    return "\n\n**Notices**\n" + "".join(f"\n- {notice}" for notice in flow.notices) if flow.notices else ""
