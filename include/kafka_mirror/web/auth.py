"""Who may see and do what: the interface to Airflow's logins and permissions, the headers of every response, and the check of its origin.

It imports nothing of Airflow: `kafka_mirror.airflow.page` implements the interface.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Protocol
from urllib.parse import urlsplit

from fastapi import Depends, HTTPException, Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kafka_mirror.config.flow import FlowName
from kafka_mirror.status.airflow_view import COPY, AirflowView, CopyRun, Person
from kafka_mirror.status.observation import CheckObservation

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

# frame-ancestors: Airflow shows the page in a frame of its own origin.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "form-action 'self'; frame-ancestors 'self'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Airflow(Protocol):
    """The Airflow that the application runs in."""

    async def person(self, request: Request) -> Person:
        """Who sent the request. Raises HTTPException 401 if no person is logged in, 403 if the token is none of Airflow's."""

    def may(self, person: Person, method: str, flow: FlowName) -> bool:
        """Whether the person may read (`GET`) or edit (`PUT`) the flow's copy DAG."""

    def sees_all_teams(self, person: Person) -> bool:
        """Whether the person may read the DAGs of every team of this Airflow. For others files that cannot be
        read stay hidden: they may be another team's."""

    def view(self, person: Person, flow: FlowName) -> AirflowView:
        """What its database says of the flow, at most some seconds old; without what tasks returned whose XCom the person may not read."""

    def last_check(self, flow: str) -> CheckObservation | None:
        """What the newest run of the flow's `freshness` saw; None if its database does not have that."""

    def copy_run(self, person: Person, flow: FlowName, run_id: str) -> CopyRun | None:
        """A run of the flow's copy DAG; None if it has none of this id. Without what its tasks returned if the person may not read that."""

    def note(self, person: Person, event: str, flow: FlowName, facts: Mapping[str, Any]) -> None:
        """Writes an entry into its audit log."""

    def login_url(self, back_to: str) -> str:
        """Where a person logs in."""


async def person(request: Request) -> Person:
    """A dependency: the person who is logged in, or 401."""
    airflow: Airflow = request.app.state.site.airflow
    return await airflow.person(request)


Signed = Annotated[Person, Depends(person)]
"""The person who sent a request. Every route but the metrics' requires one."""


def require(airflow: Airflow, person: Person, method: str, flow: FlowName) -> None:
    """Raises 403 unless the person may read (`GET`) or edit (`PUT`) the flow's copy DAG."""
    if not airflow.may(person, method, flow):
        verb = "see" if method == "GET" else "decide about"
        needed = "read" if method == "GET" else "edit"
        raise HTTPException(403, f"To {verb} the flow {flow.name} you need the permission to {needed} the DAG {flow.dag_id(COPY)}.")


class SafeHeaders:
    """ASGI middleware: adds HEADERS to every response."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on."""

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await self._app(scope, receive, sending if scope["type"] == "http" else send)


def same_origin(request: Request) -> None:
    """A dependency: refuses a change that a page of another site may have sent with the cookie of the person who is logged in.

    Airflow has no CSRF token, so the request must show where it comes from: an Authorization header, which no page can add to a foreign
    request, or the browser's own word (Sec-Fetch-Site, else Origin).
    """
    if request.method not in SAFE_METHODS and not _is_ours(request.headers):
        raise HTTPException(403, "A change is taken from a page of this Airflow alone, or with a Bearer token; this request shows neither.")


def _is_ours(headers: Headers) -> bool:
    if headers.get("authorization", "").lower().startswith("bearer "):
        return True
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin = headers.get("origin")
    return origin is not None and bool(headers.get("host")) and urlsplit(origin).netloc == headers["host"]
