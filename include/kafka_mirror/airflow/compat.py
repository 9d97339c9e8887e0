"""Airflow's private interfaces: all that the mirror uses of them, because the public ones cannot answer the question.

Checked on Airflow 3.3.2 with its Task SDK 1.3.2. Look here first when Airflow is upgraded: the public interface is `airflow.sdk`,
`airflow.sdk.exceptions`, `airflow.sdk.log`, `airflow.triggers.base`, `airflow.plugins_manager` and the providers' hooks and notifiers.
What the api-server needs is in `api_server`, what tasks remember in `work.state_stores`. Each task parses its DAG file, which imports this
file: what `airflow.sdk` does not bring anyhow is imported in the functions.
"""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import airflow
import pendulum
import structlog
from airflow.sdk import BaseHook, TaskInstanceState
from airflow.sdk.configuration import conf
from airflow.sdk.exceptions import AirflowException, AirflowNotFoundException, AirflowRuntimeError, ErrorType
from airflow.sdk.execution_time import task_runner
from airflow.sdk.execution_time.comms import GetPreviousDagRun, GetPreviousTI
from airflow.sdk.execution_time.context import InletEventsAccessor
from airflow.sdk.observability.stats import Stats

from kafka_mirror.config.support import AIRFLOW, minor
from kafka_mirror.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping, Sequence

log = logging.getLogger(__name__)


# In tasks

_expected: WeakSet[Exception] = WeakSet()


def log_without_traceback(error: Exception) -> None:
    """Lets Airflow log without a traceback that this error ends the task.

    Airflow logs it by structlog, with `exc_info`; the processor that takes that away stays in this process, which is the task's own.
    """
    _expected.add(error)
    processors = structlog.get_config()["processors"]
    if _drop_traceback not in processors:
        processors.insert(0, _drop_traceback)


def _drop_traceback(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    if event.get("exc_info") is True and sys.exc_info()[1] in _expected:
        del event["exc_info"]
    return event


def set_gauge(name: str, value: float, tags: Mapping[str, str]) -> None:
    """Sets a gauge of Airflow's metrics, where they go somewhere: `[metrics] statsd_on` or `otel_on`.

    Public in intent, as Airflow's own deprecated `airflow.stats` names it; the same in Airflow 3.2 and 3.3.
    """
    Stats.gauge(name, value, tags=dict(tags))


# While DAG files are read


def require_airflow() -> None:
    """Raises UsageError in an Airflow that is too old: it lacks what the DAGs use. Warns of one that was not tested."""
    running = minor(airflow.__version__)
    if running < minor(AIRFLOW.oldest):
        raise UsageError(
            f"This is Airflow {airflow.__version__}, and the mirror needs Airflow {AIRFLOW.oldest} or newer.",
            next="Upgrade Airflow; until then the command line does everything, by hand or by cron.",
        )
    if running > minor(AIRFLOW.newest):
        log.warning("Airflow %s is newer than what the mirror was tested with (%s).", airflow.__version__, AIRFLOW.newest)


def has_partition_keys() -> bool:
    """Whether asset events can have partition keys, which Airflow has from 3.3 on."""
    return minor(airflow.__version__) >= (3, 3)


def is_deferrable_by_default() -> bool:
    """What `[operators] default_deferrable` says.

    Public: the same of `airflow.providers.common.compat`, which brings a provider's dependencies.
    """
    return bool(conf.getboolean("operators", "default_deferrable", fallback=False))


def is_dags_test() -> bool:
    """Whether this process is `airflow dags test`, which in 3.3.2 cannot end the run of a DAG that has a deadline.

    Public: nothing says how a DAG file is read.
    """
    return sys.argv[1:3] == ["dags", "test"]


# In a task, a trigger or a callback


def newest_run(dag_id: str, before: datetime | None = None) -> Any:
    """The run of a DAG with the latest logical date before this time (None: of all); None if there is none. Runs triggered by hand may have
    no such date.

    Public: `ti.get_previous_dagrun`, of the task's own DAG and date alone. The execution API answers for any.
    """
    query = GetPreviousDagRun(dag_id=dag_id, logical_date=before or _tomorrow())
    return getattr(task_runner.SUPERVISOR_COMMS.send(query), "dag_run", None)


def newest_success(dag_id: str, task_id: str) -> str | None:
    """The id of the newest run in which the task of a DAG succeeded; None if there is none. Runs are ordered by logical date: one without,
    triggered by hand, does not count, for PostgreSQL would sort it as the newest for ever.

    Public: `ti.get_previous_ti`, of the task itself alone.
    """
    query = GetPreviousTI(dag_id=dag_id, task_id=task_id, logical_date=_tomorrow(), state=TaskInstanceState.SUCCESS)
    instance = getattr(task_runner.SUPERVISOR_COMMS.send(query), "task_instance", None)
    return None if instance is None else str(instance.run_id)


def _tomorrow() -> datetime:
    return datetime.now(UTC) + timedelta(days=1)


def asset_events(uri: str, after: datetime) -> list[Any]:
    """The events of an asset since a time, the oldest first; none if no DAG names the asset. They have `extra` and `partition_key`.

    Public: `context["inlet_events"]`, of the task's own inlets alone.
    """
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


def get_connection(name: str) -> Any:
    """A connection: in a task, a trigger or a callback as Airflow's supervisor gives it, elsewhere as `airflow connections get` finds it,
    in the secret backends, the environment and the database. Raises ValueError with the reason.

    Public: `BaseHook.get_connection`, which does not ask the database in a process without a supervisor.
    """
    try:
        if hasattr(task_runner, "SUPERVISOR_COMMS"):
            return BaseHook.get_connection(name)
        from airflow.models.connection import Connection

        return Connection.get_connection_from_secrets(name)
    except AirflowNotFoundException:
        reason = f"Airflow gives no connection '{name}': there is none of this name, or its secret backend did not answer"
    except (AirflowException, PermissionError) as error:
        # The second one: the callback of a missed deadline may not ask for what stands in the database.
        reason = f"Airflow does not give the connection '{name}' ({type(error).__name__})"
    raise ValueError(reason)


def last_data_interval(cron: str, time: datetime) -> tuple[datetime, datetime]:
    """Start and end of the last data interval of a cron schedule (UTC) that has ended by this time. Public classes of timetables describe
    a schedule and compute nothing."""
    from airflow.timetables.interval import CronDataIntervalTimetable

    interval = CronDataIntervalTimetable(cron, "UTC").infer_manual_data_interval(run_after=pendulum.instance(time))
    return interval.start, interval.end
