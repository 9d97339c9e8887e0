"""From the configuration to DAGs: one per flow for each thing the mirror does."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pendulum
from airflow.sdk import DAG, DeltaDataIntervalTimetable, Param

from kafka_mirror.airflow.deadlines import deadlines, task_limit
from kafka_mirror.airflow.flow_operator import flow_task
from kafka_mirror.config import Configuration, Flow, InvalidFlow, join_errors
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

    def make_dag(self, flow: Flow | InvalidFlow) -> DAG | None:
        """The flow's DAG; None where it is switched off. A flow that is invalid keeps its DAG, which fails with the configuration error."""
        try:
            if isinstance(flow, InvalidFlow):
                raise flow.error
            if self.enabled and not flow.value(self.enabled):
                return None
            seconds = int(flow.value(self.every)) if isinstance(self.every, str) else self.every(flow)
            schedule, start = (self.timetable(flow), _START) if self.timetable else _windows(seconds)
            alerts = self.deadline(flow) if self.deadline else deadlines(flow, self.what)
            options = {"params": dict(self.params), "max_active_runs": self.runs_at_once(flow), "deadline": alerts or None}
            defaults = {"execution_timeout": task_limit(flow)}
            notices = "\n\n**Notices**\n" + "".join(f"\n- {notice}" for notice in flow.notices) if flow.notices else ""
            with _dag(flow.dag_id(self.what), schedule, start, flow.tags, self.doc + notices, defaults, **options) as dag:
                self.tasks(flow)
        except ConfigurationError as error:
            seconds = CATALOGUE[self.every].default if isinstance(self.every, str) else _SECONDS_IF_INVALID
            return failing_dag(flow.dag_id(self.what), error, flow.tags, seconds, self.doc)
        return dag


ALARM_DOC = """
A part of the configuration cannot be used, and this DAG is red until somebody corrects it. It writes nothing and asks no cluster. It exists
only as long as the fault does, runs each minute, and comes up unpaused, whatever `dags_are_paused_at_creation` says.

**When not to use it.** Never pause it: Airflow would remember that, the DAG would come back paused with the next fault, and no person would
notice. To silence it, correct what it names, or switch the flow off (`enabled = false`).

**When it is red**, the log of its task names each file, flow and property, and the values that are allowed. Correct flows go on meanwhile.
The DAGs of a file that cannot be read vanish, and come back as they were, paused or not, when it can be read again.
"""


def alarm(dag_id: str, wrong: Sequence[ConfigurationError]) -> DAG:
    """`mirror.configuration`: exists only while something of the configuration cannot be used, and fails in every run with the reason.

    Without it, a file that cannot be read would let the DAGs of its flows vanish, and what is not there raises no alarm. It comes up
    unpaused. A flow that is wrong keeps its DAGs, but where they are new they come up paused as any DAG does: corrected, they would begin
    to copy though no person unpaused them. The flows of other files live on.
    """
    return failing_dag(dag_id, join_errors(wrong), ("mirror",), 60, ALARM_DOC, is_paused_upon_creation=False)


def failing_dag(dag_id: str, error: ConfigurationError, tags: tuple[str, ...], seconds: int, doc: str, **options: Any) -> DAG:
    """A DAG that fails in every run with this error: a DAG that vanished could raise no alarm."""
    problems = "".join(f"\n- {problem}" for problem in error.problems)
    in_file = f" in {error.file}" if error.file else ""
    doc_md = f"**This cannot run: the configuration{in_file} is wrong.**\n{problems}\n\n{error.next}\n\n{doc}"
    with _dag(dag_id, *_windows(seconds), tags, doc_md, {}, **options) as dag:

        @flow_task(task_id="configuration", retries=0)
        def configuration(message: str) -> None:
            from kafka_mirror.airflow.tasks import fail

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
