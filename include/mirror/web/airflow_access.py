"""Everything that the web application asks of Airflow's api-server: logins, permissions, its database, its audit log.

The only module here that imports Airflow. What it imports belongs to no public interface of Airflow, so all of it stands in one place.
With `mirror.airflow` the configuration learns how to ask for Airflow's connections.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from airflow.api.common.airflow_health import get_airflow_health
from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import DagDetails
from airflow.api_fastapi.core_api.security import bearer_scheme, get_user
from airflow.configuration import conf
from airflow.models.dag import DagModel
from airflow.models.dagrun import DagRun
from airflow.models.log import Log
from airflow.models.pool import Pool
from airflow.models.xcom import XComModel
from airflow.utils.session import create_session
from fastapi import Request
from sqlalchemy import select
from sqlalchemy.orm import Session

from mirror.airflow.xcom import from_xcom
from mirror.config.names import FlowName
from mirror.report.pools import pools
from mirror.web.access import COPY, AirflowView, Dag, Person, Run
from mirror.web.kept import Kept

HISTORY = 240
"""So many runs of `freshness` are shown: four hours at one a minute."""

_RUNS = 50
"""Among how many runs at least the newest value of a task is looked for."""
_FRESH_SECONDS = 10.0
_COMPONENTS = ("scheduler", "dag_processor")
_GOOD, _RETURNED = "success", "return_value"


def base_path() -> str:
    """The path under which this Airflow is reached, without a slash at its end; empty if it has a host of its own."""
    return urlsplit(conf.get("api", "base_url", fallback="") or "").path.rstrip("/")


class AirflowAccess:
    """The Airflow of this process. What its database says is asked for at most every few seconds, however many look at the page."""

    def __init__(self) -> None:
        self._views: Kept[FlowName, AirflowView] = Kept(_asked, _FRESH_SECONDS)

    async def person(self, request: Request) -> Person:
        """Who sent the request, by Airflow's session cookie or a Bearer token. Raises HTTPException, as Airflow's own routes do."""
        user = await get_user(request, None, await bearer_scheme(request))
        return Person(user.get_name(), user)

    def may(self, person: Person, method: str, flow: FlowName) -> bool:
        """What the auth manager says about the flow's copy DAG."""
        dag_id = flow.dag_id(COPY)
        details = DagDetails(id=dag_id, team_name=DagModel.get_team_name(dag_id))
        return bool(get_auth_manager().is_authorized_dag(method=method, details=details, user=person.user))  # type: ignore[arg-type]

    def login_url(self, back_to: str) -> str:
        """The login page of the auth manager."""
        return get_auth_manager().get_url_login(next_url=back_to)

    def note(self, person: Person, event: str, flow: FlowName, facts: Mapping[str, Any]) -> None:
        """An entry of the audit log, about the flow's copy DAG."""
        with create_session() as session:
            extra = json.dumps(dict(facts), ensure_ascii=False)
            session.add(Log(event, owner=person.name, owner_display_name=person.name, extra=extra, dag_id=flow.dag_id(COPY)))

    def view(self, flow: FlowName) -> AirflowView:
        """What the database says about the flow."""
        return self._views.get(flow)


def _asked(flow: FlowName) -> AirflowView:
    with create_session(scoped=False) as session:
        return _view(session, flow)


def _view(session: Session, flow: FlowName) -> AirflowView:
    audit, audit_run = _newest_audit(session, flow)
    return AirflowView(
        dags=tuple(_dags(session, flow)),
        missing_pools=tuple(_missing_pools(session, flow)),
        silent=tuple(_silent()),
        freshness=tuple(reversed(_left(session, [flow.dag_id("freshness")], "freshness", HISTORY))),
        audit=audit,
        audit_run=audit_run,
    )


def _dags(session: Session, flow: FlowName) -> Iterator[Dag]:
    prefix = flow.dag_id("")
    found = session.execute(
        select(DagModel.dag_id, DagModel.is_paused)
        .where(DagModel.dag_id.startswith(prefix, autoescape=True), DagModel.is_stale.is_(False))
        .order_by(DagModel.dag_id)
    )
    for dag_id, paused in found:
        yield Dag(dag_id, dag_id.removeprefix(prefix), bool(paused), _run(session, dag_id), _run(session, dag_id, state=_GOOD))


def _run(session: Session, dag_id: str, **wanted: str) -> Run | None:
    """The newest run of a DAG, or the newest in this state."""
    newest = (
        select(DagRun.run_id, DagRun._state, DagRun.start_date, DagRun.end_date)
        .where(DagRun.dag_id == dag_id, *(DagRun._state == state for state in wanted.values()))
        .order_by(DagRun.run_after.desc(), DagRun.id.desc())
        .limit(1)
    )
    found = session.execute(newest).first()
    return None if found is None else Run(found[0], str(found[1]), found[2], found[3])


def _missing_pools(session: Session, flow: FlowName) -> list[str]:
    needed = pools([flow])
    there = set(session.scalars(select(Pool.pool).where(Pool.pool.in_(needed))))
    return [name for name in needed if name not in there]


def _silent() -> list[str]:
    health = get_airflow_health()
    return [name.replace("_", "-") for name in _COMPONENTS if health[name]["status"] == "unhealthy"]


def _newest_audit(session: Session, flow: FlowName) -> tuple[Mapping[str, Any] | None, tuple[str, str] | None]:
    """The newest document of an audit, whether it was an audit's own run or a backfill's, and the run that left it."""
    found = session.execute(_entries([flow.dag_id("audit"), flow.dag_id("backfill")], "audit", 1)).first()
    if found is None:
        return None, None
    entry = found[0]
    value = XComModel.deserialize_value(entry)
    return _audit_document(value) if isinstance(value, Mapping) else None, (entry.dag_id, entry.run_id)


def _audit_document(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """The whole document, or its totals where that was all that fitted."""
    document = from_xcom(value)
    return dict(value["totals"]) if document is None else document


def _left(session: Session, dag_ids: list[str], task_id: str, most: int) -> list[Mapping[str, Any]]:
    """What the newest runs of a task returned, the newest first."""
    values = [XComModel.deserialize_value(entry) for entry in session.scalars(_entries(dag_ids, task_id, most))]
    return [value for value in values if isinstance(value, Mapping)]


def _entries(dag_ids: list[str], task_id: str, most: int) -> Any:
    """By way of the newest runs: a DAG that runs every minute has left very many values, and the others need not be looked at."""
    runs = select(DagRun.id).where(DagRun.dag_id.in_(dag_ids)).order_by(DagRun.id.desc()).limit(max(most, _RUNS)).subquery()
    of_task = (XComModel.task_id == task_id, XComModel.key == _RETURNED)
    newest = select(XComModel).join(runs, XComModel.dag_run_id == runs.c.id).where(*of_task)
    return newest.order_by(XComModel.timestamp.desc()).limit(most)
