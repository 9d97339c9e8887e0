"""The Airflow that the web application runs in: logins, permissions, audit log, and what its database says of a flow.

It implements `kafka_mirror.web.context.Airflow`, and knows nothing of the application.
"""

import json
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import urlsplit

from kafka_mirror.airflow import api_server
from kafka_mirror.airflow.tasks import from_xcom
from kafka_mirror.airflow.work.copy import verdict_from_xcom
from kafka_mirror.config.flow import FlowName
from kafka_mirror.copy.run_result import DONE
from kafka_mirror.status.airflow_view import COPY, AirflowView, CopyRun, Dag, DagRun, Person
from kafka_mirror.status.observation import CheckObservation, read_check

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

MAX_STALE_SECONDS = 60.0
"""No reader gets an answer older than this, however long the next one takes."""

VERDICTS = 20
"""Among how many of the newest verdicts the page looks for one of a run that had something to copy."""

_FRESH_SECONDS = 10.0
_COMPONENTS = ("scheduler", "dag_processor")


class StaleWhileRevalidate(Generic[Key, Value]):
    """A cache of answers by key. An answer `seconds` old is asked for again, by one reader at a time; meanwhile the others get the old one.

    So a slow database is asked once, and not by each reader of a page at the same time.
    """

    def __init__(self, ask: Callable[[Key], Value], seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._ask = ask
        self._seconds = seconds
        self._clock = clock
        self._answers: dict[Key, tuple[float, Value]] = {}
        self._locks: dict[Key, Lock] = {}

    def get(self, key: Key) -> Value:
        """The answer. Raises what asking raises; then the next reader asks again."""
        cached = self._answers.get(key)
        if cached is not None and self._clock() - cached[0] < self._seconds:
            return cached[1]
        lock = self._locks.setdefault(key, Lock())
        if not lock.acquire(blocking=cached is None or self._clock() - cached[0] > MAX_STALE_SECONDS):
            assert cached is not None
            return cached[1]
        try:
            newer = self._answers.get(key)
            if newer is None or newer is cached:
                newer = self._answers[key] = (self._clock(), self._ask(key))
            return newer[1]
        finally:
            lock.release()


def base_path() -> str:
    """The path under which this Airflow is reached, without a slash at its end; empty if it has a host of its own."""
    return urlsplit(api_server.base_url()).path


class AirflowAccess:
    """The Airflow of this process. Its database is asked at most every few seconds, however many people look at the page."""

    def __init__(self) -> None:
        self._views: StaleWhileRevalidate[FlowName, AirflowView] = StaleWhileRevalidate(_read_view, _FRESH_SECONDS)

    async def identify(self, request: Any) -> Person:
        """Who sent the request, by Airflow's session cookie or a Bearer token. Raises HTTPException, as Airflow's own routes do."""
        user = await api_server.user_of(request)
        return Person(user.get_name(), user)

    def may(self, person: Person, method: str, flow: FlowName) -> bool:
        """What the auth manager says about the flow's copy DAG."""
        return api_server.is_authorized(person.user, method, flow.dag_id(COPY))

    def sees_all_teams(self, person: Person) -> bool:
        """What the auth manager says about the DAGs of every team."""
        return api_server.sees_all_teams(person.user)

    def make_login_url(self, back_to: str) -> str:
        """The login page of the auth manager."""
        return api_server.login_url(back_to)

    def note(self, person: Person, event: str, flow: FlowName, facts: Mapping[str, Any]) -> None:
        """Adds an entry about the flow's copy DAG to the audit log."""
        with api_server.database_session() as session:
            api_server.add_to_audit_log(session, event, person.name, json.dumps(dict(facts), ensure_ascii=False), flow.dag_id(COPY))

    def read_last_check(self, flow: str) -> CheckObservation | None:
        """What the newest run of the flow's `freshness` saw."""
        freshness = self._views.get(FlowName(*flow.split("->"))).freshness
        return read_check(freshness.get("seen")) if freshness else None

    def read_copy_run(self, person: Person, flow: FlowName, run_id: str) -> CopyRun | None:
        """A run of the flow's copy DAG, by what its tasks left in XCom; the run alone for a person who may not read that."""
        copied = read_copy_run(flow, run_id)
        return copied if copied is None or _may_read_returned(person, flow.dag_id(COPY)) else CopyRun(copied.run)

    def read_view(self, person: Person, flow: FlowName) -> AirflowView:
        """What the database says about the flow. What a DAG's tasks returned is for those alone who may read its XCom in Airflow."""
        view = self._views.get(flow)
        if view.audit_run is not None and not _may_read_returned(person, view.audit_run[0]):
            view = replace(view, audit=None, audit_run=None)
        if view.freshness and not _may_read_returned(person, flow.dag_id("freshness")):
            view = replace(view, freshness=None)
        if view.copied and not _may_read_returned(person, flow.dag_id(COPY)):
            view = replace(view, copied="", copied_by="")
        return view


def _may_read_returned(person: Person, dag_id: str) -> bool:
    return api_server.is_authorized(person.user, "GET", dag_id, returned=True)


def read_copy_run(flow: FlowName, run_id: str) -> CopyRun | None:
    """A run of the flow's copy DAG with what its tasks returned, for any reader."""
    dag_id = flow.dag_id(COPY)
    with api_server.database_session() as session:
        row = api_server.run_of_id(session, dag_id, run_id)
        values = api_server.values_of_run(session, dag_id, run_id)
    if row is None:
        return None
    copied = values.get("copy", "")
    return CopyRun(DagRun(*row), said=copied) if isinstance(copied, str) else CopyRun(DagRun(*row), verdict_from_xcom(copied))


def _read_view(flow: FlowName) -> AirflowView:
    with api_server.database_session() as session:
        audit, audit_run = _newest_audit(session, flow)
        copied, copied_by = _newest_copy(session, flow)
        status, prefix = api_server.component_status(), flow.dag_id("")
        checks = api_server.returned_values(session, [flow.dag_id("freshness")], "freshness", 1)
        return AirflowView(
            dags=tuple(
                Dag(dag_id, dag_id.removeprefix(prefix), paused, _newest_run(session, dag_id), _newest_run(session, dag_id, "success"))
                for dag_id, paused in api_server.dags_with_prefix(session, prefix)
            ),
            pools=api_server.pool_slots(session),
            silent=tuple(name.replace("_", "-") for name in _COMPONENTS if status[name] == "unhealthy"),
            freshness=next((value for _, _, value in checks if isinstance(value, Mapping)), None),
            audit=audit,
            audit_run=audit_run,
            copied=copied,
            copied_by=copied_by,
        )


def _newest_run(session: "Session", dag_id: str, state: str = "") -> DagRun | None:
    row = api_server.newest_run(session, dag_id, state)
    return None if row is None else DagRun(*row)


def _newest_audit(session: "Session", flow: FlowName) -> tuple[Mapping[str, Any] | None, tuple[str, str] | None]:
    """The newest document of an audit, whether it was an audit's own run or a backfill's, and the run that left it."""
    for dag_id, run_id, value in api_server.returned_values(session, [flow.dag_id("audit"), flow.dag_id("backfill")], "audit", 1):
        if not isinstance(value, Mapping):
            return None, (dag_id, run_id)
        document = from_xcom(value)
        return dict(value["totals"]) if document is None else document, (dag_id, run_id)
    return None, None


def _newest_copy(session: "Session", flow: FlowName) -> tuple[str, str]:
    """What the newest verdict of a run with work says, and the run; empty where none of the newest runs had any, or none was good."""
    for _, run_id, value in api_server.returned_values(session, [flow.dag_id(COPY)], COPY, VERDICTS):
        if isinstance(value, Mapping) and (judged := verdict_from_xcom(value)).state == DONE:
            return str(judged), run_id
    return "", ""
