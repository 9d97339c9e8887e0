"""Airflow's private interfaces: all that the mirror uses of them, because the public ones cannot answer the question.

Checked on Airflow 3.3.2 with its Task SDK 1.3.2. Look here first when Airflow is upgraded: the public interface is `airflow.sdk`,
`airflow.sdk.exceptions`, `airflow.sdk.log`, `airflow.triggers.base`, `airflow.plugins_manager` and the providers' hooks and notifiers.
Imports stand in the functions: each task parses its DAG file, which imports this file, and the api-server's half brings Airflow's database.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from kafka_mirror.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime

    from sqlalchemy.orm import Session

_CANDIDATE_RUNS = 50
"""Among how many runs at least the newest value of a task is looked for."""


_OLDEST = (3, 3)


# While DAG files are read


def require_airflow() -> None:
    """Raises UsageError in an Airflow that the mirror was not made for: an older one lacks what its DAGs use, and says so late."""
    import airflow

    running = tuple(int(part) for part in airflow.__version__.split(".")[:2])
    if running < _OLDEST:
        raise UsageError(
            f"This is Airflow {airflow.__version__}, and the mirror needs Airflow {'.'.join(map(str, _OLDEST))} or newer.",
            next="Upgrade Airflow; until then the command line does everything, by hand or by cron.",
        )


def is_dags_test() -> bool:
    """Whether this process is `airflow dags test`, which in 3.3.2 cannot end the run of a DAG that has a deadline.

    Public: nothing says how a DAG file is read.
    """
    return sys.argv[1:3] == ["dags", "test"]


# In a task, a trigger or a callback


def has_supervisor() -> bool:
    """Whether Airflow's supervisor answers this process: it runs a task, a trigger, or the callback of a missed deadline.

    Public: `get_current_context`, which only tasks have.
    """
    return hasattr(sys.modules.get("airflow.sdk.execution_time.task_runner"), "SUPERVISOR_COMMS")


def run_before(dag_id: str, time: datetime) -> Any:
    """The run of a DAG with the latest logical date before this time; None if there is none. Runs triggered by hand may have no such date.

    Public: `ti.get_previous_dagrun`, of the task's own DAG and date alone. The execution API answers for any.
    """
    from airflow.sdk.execution_time.comms import GetPreviousDagRun

    return getattr(_ask_supervisor(GetPreviousDagRun(dag_id=dag_id, logical_date=time)), "dag_run", None)


def success_before(dag_id: str, task_id: str, time: datetime) -> str | None:
    """The id of the latest run before this time in which the task of a DAG succeeded; None if there is none.

    Public: `ti.get_previous_ti`, of the task itself alone.
    """
    from airflow.sdk import TaskInstanceState
    from airflow.sdk.execution_time.comms import GetPreviousTI

    query = GetPreviousTI(dag_id=dag_id, task_id=task_id, logical_date=time, state=TaskInstanceState.SUCCESS)
    instance = getattr(_ask_supervisor(query), "task_instance", None)
    return None if instance is None else str(instance.run_id)


def asset_state_store(asset_name: str) -> Any:
    """The state store of an asset. Public: `context["asset_state_store"]`, of the task's own inlets and outlets alone."""
    from airflow.sdk.execution_time.context import AssetStateStoreAccessor

    return AssetStateStoreAccessor(name=asset_name)


def asset_events(uri: str, after: datetime) -> list[Any]:
    """The events of an asset since a time, the oldest first; none if no DAG names the asset. They have `extra` and `partition_key`.

    Public: `context["inlet_events"]`, of the task's own inlets alone.
    """
    from airflow.sdk.exceptions import AirflowRuntimeError, ErrorType
    from airflow.sdk.execution_time.context import InletEventsAccessor

    try:
        return list(InletEventsAccessor(asset_uri=uri).after(after.isoformat()))
    except AirflowRuntimeError as error:
        if error.error.error == ErrorType.ASSET_NOT_FOUND:
            return []
        raise


def tell_partitions(context: Any, asset: Any, keys: Sequence[str], extra: Mapping[str, Any]) -> None:
    """Adds an event for each partition key of an asset that the task's DAG does not name. Airflow keeps them with the task's success, in
    one transaction, if any DAG names the asset.

    Public: the same of assets that are outlets in the DAG file. By an alias, which Airflow has for assets that are not known there, an
    event can have no partition key but its run's.
    """
    context["task"].outlets.append(asset)
    events = context["outlet_events"][asset]
    events.add_partitions(list(keys))
    events.extra = dict(extra)


def connection_outside_tasks(connection: str) -> Any:
    """A connection as `airflow connections get` finds it: in the secret backends, the environment and the database.

    Public: `BaseHook.get_connection`, which does not ask the database in a process of its own.
    """
    from airflow.models.connection import Connection

    return Connection.get_connection_from_secrets(connection)


def last_data_interval(cron: str, time: datetime) -> tuple[datetime, datetime]:
    """Start and end of the last data interval of a cron schedule (UTC) that has ended by this time. Public classes of timetables describe
    a schedule and compute nothing."""
    import pendulum
    from airflow.timetables.interval import CronDataIntervalTimetable

    interval = CronDataIntervalTimetable(cron, "UTC").infer_manual_data_interval(run_after=pendulum.instance(time))
    return interval.start, interval.end


def _ask_supervisor(message: Any) -> Any:
    from airflow.sdk.execution_time import task_runner

    return task_runner.SUPERVISOR_COMMS.send(message)


# In the api-server


async def user_of(request: Any) -> Any:
    """The user of a Starlette request, by Airflow's session cookie or a Bearer token. Raises HTTPException, as Airflow's own routes do."""
    from airflow.api_fastapi.core_api.security import bearer_scheme, get_user

    return await get_user(request, None, await bearer_scheme(request))


def is_authorized(user: Any, method: Any, dag_id: str, returned: bool = False) -> bool:
    """Whether the auth manager lets the user read (`GET`) or edit (`PUT`) a DAG; with `returned`, what its tasks returned (XCom).

    With `[core] multi_team` a DAG that Airflow does not have, of which it knows no team, is for those alone who see every team.
    """
    from airflow.api_fastapi.app import get_auth_manager
    from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
    from airflow.models.dag import DagModel

    team = DagModel.get_team_name(dag_id)
    if team is None and not sees_all_teams(user) and DagModel.get_dagmodel(dag_id) is None:
        return False
    details = DagDetails(id=dag_id, team_name=team)
    entity = DagAccessEntity.XCOM if returned else None
    return bool(get_auth_manager().is_authorized_dag(method=method, access_entity=entity, details=details, user=user))


def sees_all_teams(user: Any) -> bool:
    """Whether the auth manager lets the user read the DAGs of every team; always true without `[core] multi_team`."""
    from airflow.api_fastapi.app import get_auth_manager
    from airflow.api_fastapi.auth.managers.models.resource_details import DagDetails
    from airflow.configuration import conf
    from airflow.models.team import Team

    if not conf.getboolean("core", "multi_team"):
        return True
    manager = get_auth_manager()
    return all(manager.is_authorized_dag(method="GET", details=DagDetails(team_name=name), user=user) for name in Team.get_all_team_names())


def login_url(next_url: str) -> str:
    """The login page of the auth manager, which leads on to `next_url`."""
    from airflow.api_fastapi.app import get_auth_manager

    return get_auth_manager().get_url_login(next_url=next_url)


def base_url() -> str:
    """`[api] base_url`; empty if it is not set."""
    from airflow.configuration import conf

    return conf.get("api", "base_url", fallback="") or ""


def component_status() -> dict[str, str]:
    """`healthy` or `unhealthy` for each of Airflow's components; one that was never started has no status."""
    from airflow.api.common.airflow_health import get_airflow_health

    return {name: str(health["status"]) for name, health in get_airflow_health().items()}


def database_session() -> AbstractContextManager[Session]:
    """A session of Airflow's database, of this thread alone; committed at its end. Public: the REST API, with a login of its own."""
    from airflow.utils.session import create_session

    return create_session(scoped=False)


def add_to_audit_log(session: Session, event: str, owner: str, extra: str, dag_id: str) -> None:
    """Adds an entry about a DAG to Airflow's audit log."""
    from airflow.models.log import Log

    session.add(Log(event, owner=owner, owner_display_name=owner, extra=extra, dag_id=dag_id))


def dags_with_prefix(session: Session, prefix: str) -> list[tuple[str, bool]]:
    """The id of each DAG that begins so and is not stale, and whether it is paused; by id."""
    from airflow.models.dag import DagModel
    from sqlalchemy import select

    wanted = (DagModel.dag_id.startswith(prefix, autoescape=True), DagModel.is_stale.is_(False))
    query = select(DagModel.dag_id, DagModel.is_paused).where(*wanted).order_by(DagModel.dag_id)
    return [(dag_id, bool(is_paused)) for dag_id, is_paused in session.execute(query)]


RunRow = tuple[str, str, "datetime | None", "datetime | None"]
"""Run id, state, start and end of a DAG's run."""


def newest_run(session: Session, dag_id: str, state: str = "") -> RunRow | None:
    """A DAG's newest run, or its newest run in this state; None if there is none."""
    from airflow.models.dagrun import DagRun

    return _newest_of(session, DagRun.dag_id == dag_id, *([DagRun.state == state] if state else []))


def run_of_id(session: Session, dag_id: str, run_id: str) -> RunRow | None:
    """A DAG's run of this id; None if there is none."""
    from airflow.models.dagrun import DagRun

    return _newest_of(session, DagRun.dag_id == dag_id, DagRun.run_id == run_id)


def _newest_of(session: Session, *conditions: Any) -> RunRow | None:
    from airflow.models.dagrun import DagRun
    from sqlalchemy import select

    columns: Any = (DagRun.run_id, DagRun.state, DagRun.start_date, DagRun.end_date)
    row = session.execute(select(*columns).where(*conditions).order_by(DagRun.run_after.desc(), DagRun.id.desc()).limit(1)).first()
    return None if row is None else (row[0], str(row[1]), row[2], row[3])


def values_of_run(session: Session, dag_id: str, run_id: str) -> dict[str, Any]:
    """Task id to what the task returned in this run, of those that returned something."""
    from airflow.models.xcom import XComModel
    from sqlalchemy import select

    of_run = (XComModel.dag_id == dag_id, XComModel.run_id == run_id, XComModel.key == "return_value")
    return {entry.task_id: XComModel.deserialize_value(entry) for entry in session.scalars(select(XComModel).where(*of_run))}


def existing_pools(session: Session, names: Collection[str]) -> set[str]:
    """Those of the pools that Airflow has."""
    from airflow.models.pool import Pool
    from sqlalchemy import select

    return set(session.scalars(select(Pool.pool).where(Pool.pool.in_(names))))


def returned_values(session: Session, dag_ids: Collection[str], task_id: str, limit: int) -> Iterator[tuple[str, str, Any]]:
    """DAG id, run id and value of what a task of these DAGs returned, the newest first.

    By way of the newest runs: a DAG that runs each minute has left very many values, and the older ones need not be looked at.
    """
    from airflow.models.dagrun import DagRun
    from airflow.models.xcom import XComModel
    from sqlalchemy import select

    runs = select(DagRun.id).where(DagRun.dag_id.in_(dag_ids)).order_by(DagRun.id.desc()).limit(max(limit, _CANDIDATE_RUNS)).subquery()
    of_task = (XComModel.task_id == task_id, XComModel.key == "return_value")
    query = select(XComModel).join(runs, XComModel.dag_run_id == runs.c.id).where(*of_task).order_by(XComModel.timestamp.desc())
    for entry in session.scalars(query.limit(limit)):
        yield entry.dag_id, entry.run_id, XComModel.deserialize_value(entry)
