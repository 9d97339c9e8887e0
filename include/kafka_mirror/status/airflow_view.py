"""What Airflow says of a flow, as values: its DAGs and their newest runs, what tasks returned, and who asks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from kafka_mirror.config.deadlines import DEFAULT_POOL
from kafka_mirror.copy.run_result import Verdict

COPY = "copy"
"""The DAG whose permissions count: a person who may read it sees the flow, one who may edit it decides about the flow."""


@dataclass(frozen=True)
class Person:
    """A person who is logged in: the name in Airflow, and the user object of its auth manager."""

    name: str
    user: Any = None


@dataclass(frozen=True)
class DagRun:
    """One run of a DAG."""

    run_id: str
    state: str
    started: datetime | None = None
    ended: datetime | None = None


@dataclass(frozen=True)
class CopyRun:
    """One run of a flow's copy DAG. `verdict` is None as long as there is none, and of a dry run, which has `said` what would be copied."""

    run: DagRun
    verdict: Verdict | None = None
    said: str = ""


@dataclass(frozen=True)
class Dag:
    """One of a flow's DAGs as Airflow has it. `what` is the part of its id after the flow's name, such as `copy`."""

    dag_id: str
    what: str
    paused: bool = False
    newest: DagRun | None = None
    last_good: DagRun | None = None


@dataclass(frozen=True)
class AirflowView:
    """What Airflow's database says of a flow.

    `freshness` is the newest document that the flow's freshness task returned; `audit` is the newest document of an audit, and
    `audit_run` the DAG and the run that returned it. `copied` is what came of the newest good copy that had something to do, in the words
    of its verdict, and `copied_by` its run. `pools` are Airflow's pools with their slots, -1 without a limit. `silent` are Airflow's own
    components without a heartbeat.
    """

    dags: tuple[Dag, ...] = ()
    pools: Mapping[str, int] = field(default_factory=lambda: {DEFAULT_POOL: 128})
    silent: tuple[str, ...] = ()
    freshness: Mapping[str, Any] | None = None
    audit: Mapping[str, Any] | None = None
    audit_run: tuple[str, str] | None = None
    copied: str = ""
    copied_by: str = ""

    def find_dag(self, what: str) -> Dag | None:
        """The flow's DAG of this kind, if Airflow has it."""
        return next((dag for dag in self.dags if dag.what == what), None)
