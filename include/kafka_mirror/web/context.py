"""What a request needs: the Airflow around the application, the snapshots and the decider; who sent it, and what that person may do.

It imports nothing of Airflow: `kafka_mirror.airflow.page` implements the interface to its logins and permissions.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Protocol
from urllib.parse import urlsplit

from fastapi import Depends, HTTPException, Request
from starlette.datastructures import Headers

from kafka_mirror.config.flow import FlowName
from kafka_mirror.status.airflow_view import COPY, AirflowView, CopyRun, Person
from kafka_mirror.status.lag_history import OwnPoints
from kafka_mirror.status.observation import CheckObservation
from kafka_mirror.status.snapshot import FlowSnapshot, Snapshots
from kafka_mirror.web.decisions import Decider


class Airflow(Protocol):
    """The Airflow that the application runs in."""

    async def identify(self, request: Request) -> Person:
        """Who sent the request. Raises HTTPException 401 if no person is logged in, 403 if the token is none of Airflow's."""

    def may(self, person: Person, method: str, flow: FlowName) -> bool:
        """Whether the person may read (`GET`) or edit (`PUT`) the flow's copy DAG."""

    def sees_all_teams(self, person: Person) -> bool:
        """Whether the person may read the DAGs of every team of this Airflow. For others files that cannot be
        read stay hidden: they may be another team's."""

    def read_view(self, person: Person, flow: FlowName) -> AirflowView:
        """What its database says of the flow, at most some seconds old; without what tasks returned whose XCom the person may not read."""

    def read_last_check(self, flow: str) -> CheckObservation | None:
        """What the newest run of the flow's `freshness` saw; None if its database does not have that."""

    def read_copy_run(self, person: Person, flow: FlowName, run_id: str) -> CopyRun | None:
        """A run of the flow's copy DAG; None if it has none of this id. Without what its tasks returned if the person may not read that."""

    def note(self, person: Person, event: str, flow: FlowName, facts: Mapping[str, Any]) -> None:
        """Writes an entry into its audit log."""

    def make_login_url(self, back_to: str) -> str:
        """Where a person logs in."""


class SnapshotsInBackground(Protocol):
    """The cache of snapshots: it asks the clusters in the background, and never for a request."""

    def get(self) -> Snapshots:
        """The newest snapshots, at once. Keeps the background thread looking."""

    def refresh(self, flow: str) -> None:
        """Asks for a new snapshot of a flow, soon."""


@dataclass(frozen=True)
class Site:
    """The parts of the application."""

    airflow: Airflow
    cache: SnapshotsInBackground
    decider: Decider
    points: OwnPoints = field(default_factory=OwnPoints)

    def snapshots(self) -> Snapshots:
        """The newest snapshot of each flow. Their lags are points of the charts."""
        snapshots = self.cache.get()
        for snapshot in snapshots.flows:
            self.points.add(snapshot)
        return snapshots


def site_of(request: Request) -> Site:
    """A dependency: the site of the application that answers."""
    site: Site = request.app.state.site
    return site


def name_of(snapshot: FlowSnapshot) -> FlowName:
    """The flow's name in its parts."""
    return FlowName(*snapshot.flow.split("->"))


def snapshot_by_id(snapshots: Snapshots, flow_id: str) -> FlowSnapshot:
    """The flow by its name in addresses, such as `east-to-west`. Raises 404."""
    snapshot = next((snapshot for snapshot in snapshots.flows if name_of(snapshot).airflow_name == flow_id), None)
    if snapshot is None:
        raise HTTPException(404, f"There is no flow {flow_id!r} in the configuration of this Airflow's api-server.")
    return snapshot


async def person(request: Request) -> Person:
    """A dependency: the person who is logged in, or 401."""
    return await site_of(request).airflow.identify(request)


Signed = Annotated[Person, Depends(person)]
"""The person who sent a request. Every route but the metrics' requires one."""


def require(airflow: Airflow, person: Person, method: str, flow: FlowName) -> None:
    """Raises 403 unless the person may read (`GET`) or edit (`PUT`) the flow's copy DAG."""
    if not airflow.may(person, method, flow):
        verb = "see" if method == "GET" else "decide about"
        needed = "read" if method == "GET" else "edit"
        raise HTTPException(403, f"To {verb} the flow {flow.name} you need the permission to {needed} the DAG {flow.dag_id(COPY)}.")


def same_origin(request: Request) -> None:
    """A dependency: refuses a change that a page of another site may have sent with the cookie of the person who is logged in.

    Airflow has no CSRF token, so the request must show where it comes from: an Authorization header, which no page can add to a foreign
    request, or the browser's own word (Sec-Fetch-Site, else Origin).
    """
    if request.method not in ("GET", "HEAD", "OPTIONS") and not _is_ours(request.headers):
        raise HTTPException(403, "A change is taken from a page of this Airflow alone, or with a Bearer token; this request shows neither.")


def _is_ours(headers: Headers) -> bool:
    if headers.get("authorization", "").lower().startswith("bearer "):
        return True
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin = headers.get("origin")
    return origin is not None and bool(headers.get("host")) and urlsplit(origin).netloc == headers["host"]
