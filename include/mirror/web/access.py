"""What the web application asks of the Airflow that it runs in. It imports nothing of Airflow: `airflow_access` answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Protocol

from fastapi import Depends, HTTPException, Request

from mirror.config.names import FlowName

COPY = "copy"
"""The DAG whose permissions count: who may read it sees the flow, who may edit it decides about the flow."""


@dataclass(frozen=True)
class Person:
    """Who is logged in: the name that Airflow knows, and what its auth manager asks for."""

    name: str
    user: Any = None


@dataclass(frozen=True)
class Run:
    """One run of a DAG."""

    run_id: str
    state: str
    started: datetime | None = None
    ended: datetime | None = None


@dataclass(frozen=True)
class Dag:
    """One of a flow's DAGs as Airflow has it. `what` is the part of its id behind the flow's name, such as `copy`."""

    dag_id: str
    what: str
    paused: bool = False
    newest: Run | None = None
    last_good: Run | None = None


@dataclass(frozen=True)
class AirflowView:
    """What Airflow's database knows about a flow.

    `freshness` are the documents that the flow's freshness task left, oldest first; `audit` is the newest document of an audit, and
    `audit_run` the DAG and the run that left it. `silent` are Airflow's own components without a heartbeat.
    """

    dags: tuple[Dag, ...] = ()
    missing_pools: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    freshness: tuple[Mapping[str, Any], ...] = ()
    audit: Mapping[str, Any] | None = None
    audit_run: tuple[str, str] | None = None
    by_what: Mapping[str, Dag] = field(init=False, default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_what", {dag.what: dag for dag in self.dags})

    def dag(self, what: str) -> Dag | None:
        """The flow's DAG of this kind, if Airflow has it."""
        return self.by_what.get(what)


class Airflow(Protocol):
    """The Airflow that the application runs in."""

    async def person(self, request: Request) -> Person:
        """Who sent the request. Raises HTTPException 401 if nobody is logged in, 403 if the token is none of Airflow's."""

    def may(self, person: Person, method: str, flow: FlowName) -> bool:
        """Whether the person may read (`GET`) or edit (`PUT`) the flow's copy DAG."""

    def view(self, flow: FlowName) -> AirflowView:
        """What its database knows about the flow, at most some seconds old."""

    def note(self, person: Person, event: str, flow: FlowName, facts: Mapping[str, Any]) -> None:
        """Writes an entry into its audit log."""

    def login_url(self, back_to: str) -> str:
        """Where a person logs in."""


async def person(request: Request) -> Person:
    """A dependency: the person who is logged in, or 401."""
    airflow: Airflow = request.app.state.site.airflow
    return await airflow.person(request)


Signed = Annotated[Person, Depends(person)]
"""The person behind a request. Every route but the metrics' asks for one."""


def require(airflow: Airflow, person: Person, method: str, flow: FlowName) -> None:
    """Raises 403 unless the person may read (`GET`) or edit (`PUT`) the flow's copy DAG."""
    if not airflow.may(person, method, flow):
        verb = "see" if method == "GET" else "decide about"
        needed = "read" if method == "GET" else "edit"
        raise HTTPException(403, f"To {verb} the flow {flow.name} you need the permission to {needed} the DAG {flow.dag_id(COPY)}.")
