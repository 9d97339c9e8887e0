"""Airflow's private interfaces in the api-server: logins, permissions, and what its database says. Only there is this file imported.

Checked on Airflow 3.3.2. Public: the REST API, which wants a login of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.api.common.airflow_health import get_airflow_health
from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
from airflow.api_fastapi.core_api.security import bearer_scheme, get_user
from airflow.configuration import conf
from airflow.models.dag import DagModel
from airflow.models.dagrun import DagRun
from airflow.models.log import Log
from airflow.models.pool import Pool
from airflow.models.team import Team
from airflow.models.xcom import XComModel
from airflow.utils.session import create_session
from sqlalchemy import select

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from contextlib import AbstractContextManager
    from datetime import datetime

    from airflow.models.taskinstancekey import TaskInstanceKey
    from sqlalchemy.orm import Session

_CANDIDATE_RUNS = 50
"""Among how many runs at least the newest value of a task is looked for."""


async def user_of(request: Any) -> Any:
    """The user of a Starlette request, by Airflow's session cookie or a Bearer token. Raises HTTPException, as Airflow's own routes do."""
    return await get_user(request, None, await bearer_scheme(request))


def is_authorized(user: Any, method: Any, dag_id: str, returned: bool = False) -> bool:
    """Whether the auth manager lets the user read (`GET`) or edit (`PUT`) a DAG; with `returned`, what its tasks returned (XCom).

    With `[core] multi_team` a DAG that Airflow does not have, of which it knows no team, is for those alone who see every team.
    """
    team = DagModel.get_team_name(dag_id)
    if team is None and not sees_all_teams(user) and DagModel.get_dagmodel(dag_id) is None:
        return False
    details = DagDetails(id=dag_id, team_name=team)
    entity = DagAccessEntity.XCOM if returned else None
    return bool(get_auth_manager().is_authorized_dag(method=method, access_entity=entity, details=details, user=user))


def sees_all_teams(user: Any) -> bool:
    """Whether the auth manager lets the user read the DAGs of every team; always true without `[core] multi_team`."""
    if not conf.getboolean("core", "multi_team"):
        return True
    manager = get_auth_manager()
    return all(manager.is_authorized_dag(method="GET", details=DagDetails(team_name=name), user=user) for name in Team.get_all_team_names())


def login_url(next_url: str) -> str:
    """The login page of the auth manager, which leads on to `next_url`."""
    return get_auth_manager().get_url_login(next_url=next_url)


def base_url() -> str:
    """`[api] base_url` without a slash at its end; empty if it is not set."""
    return str(conf.get("api", "base_url", fallback="") or "").rstrip("/")


def component_status() -> dict[str, str]:
    """`healthy` or `unhealthy` for each of Airflow's components; one that was never started has no status."""
    return {name: str(health["status"]) for name, health in get_airflow_health().items()}


def database_session() -> AbstractContextManager[Session]:
    """A session of Airflow's database, of this thread alone; committed at its end. Public: the REST API, with a login of its own."""
    return create_session(scoped=False)


def add_to_audit_log(session: Session, event: str, owner: str, extra: str, dag_id: str) -> None:
    """Adds an entry about a DAG to Airflow's audit log."""
    session.add(Log(event, owner=owner, owner_display_name=owner, extra=extra, dag_id=dag_id))


def dags_with_prefix(session: Session, prefix: str) -> list[tuple[str, bool]]:
    """The id of each DAG that begins so and is not stale, and whether it is paused; by id."""
    wanted = (DagModel.dag_id.startswith(prefix, autoescape=True), DagModel.is_stale.is_(False))
    query = select(DagModel.dag_id, DagModel.is_paused).where(*wanted).order_by(DagModel.dag_id)
    return [(dag_id, bool(is_paused)) for dag_id, is_paused in session.execute(query)]


RunRow = tuple[str, str, "datetime | None", "datetime | None"]
"""Run id, state, start and end of a DAG's run."""


def newest_run(session: Session, dag_id: str, state: str = "") -> RunRow | None:
    """A DAG's newest run, or its newest run in this state; None if there is none."""
    return _newest_of(session, DagRun.dag_id == dag_id, *([DagRun.state == state] if state else []))


def run_of_id(session: Session, dag_id: str, run_id: str) -> RunRow | None:
    """A DAG's run of this id; None if there is none."""
    return _newest_of(session, DagRun.dag_id == dag_id, DagRun.run_id == run_id)


def _newest_of(session: Session, *conditions: Any) -> RunRow | None:
    columns: Any = (DagRun.run_id, DagRun.state, DagRun.start_date, DagRun.end_date)
    row = session.execute(select(*columns).where(*conditions).order_by(DagRun.run_after.desc(), DagRun.id.desc()).limit(1)).first()
    return None if row is None else (row[0], str(row[1]), row[2], row[3])


def values_of_run(session: Session, dag_id: str, run_id: str) -> dict[str, Any]:
    """Task id to what the task returned in this run, of those that returned something."""
    of_run = (XComModel.dag_id == dag_id, XComModel.run_id == run_id, XComModel.key == "return_value")
    return {entry.task_id: XComModel.deserialize_value(entry) for entry in session.scalars(select(XComModel).where(*of_run))}


def read_pushed(task: TaskInstanceKey, key: str) -> Any:
    """What the task pushed into XCom under this key in its newest try; None if it pushed nothing."""
    of_run = (XComModel.dag_id == task.dag_id, XComModel.run_id == task.run_id, XComModel.key == key)
    of_task = (XComModel.task_id == task.task_id, XComModel.map_index == task.map_index)
    with database_session() as session:
        entry = session.scalar(select(XComModel).where(*of_run, *of_task))
        return None if entry is None else XComModel.deserialize_value(entry)


def pool_slots(session: Session) -> dict[str, int]:
    """The slots of each of Airflow's pools; -1: no limit."""
    return {str(name): slots for name, slots in session.execute(select(Pool.pool, Pool.slots))}


def returned_values(session: Session, dag_ids: Collection[str], task_id: str, limit: int) -> Iterator[tuple[str, str, Any]]:
    """DAG id, run id and value of what a task of these DAGs returned, the newest first.

    By way of the newest runs: a DAG that runs each minute has left very many values, and the older ones need not be looked at. One value
    comes at a time: of a flow with many partitions it may be large, and the first is mostly the one that is looked for.
    """
    runs = select(DagRun.id).where(DagRun.dag_id.in_(dag_ids)).order_by(DagRun.id.desc()).limit(max(limit, _CANDIDATE_RUNS)).subquery()
    of_task = (XComModel.task_id == task_id, XComModel.key == "return_value")
    query = select(XComModel).join(runs, XComModel.dag_run_id == runs.c.id).where(*of_task).order_by(XComModel.timestamp.desc())
    for entry in session.scalars(query.limit(limit).execution_options(yield_per=1)):
        yield entry.dag_id, entry.run_id, XComModel.deserialize_value(entry)
