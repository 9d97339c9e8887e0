"""What a running task asks of its run."""

import logging
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn

from airflow.sdk import get_current_context
from airflow.sdk.exceptions import AirflowSkipException

log = logging.getLogger(__name__)


def is_dry_run() -> bool:
    """Whether the run was started with `dry_run`."""
    return bool(get_current_context()["params"].get("dry_run"))


def is_by_person() -> bool:
    """Whether a person started the run, in Airflow's page, by its API or its command line, rather than the schedule."""
    return bool(get_current_context()["dag_run"].run_type == "manual")


def run_name() -> str:
    """The run as it is named wherever a person reads of it, in the ledger above all: `<DAG id> / <run id>`. Runs of two DAGs that their
    schedules start may bear the same run id."""
    run: Any = get_current_context()["dag_run"]
    return f"{run.dag_id} / {run.run_id}"


def try_number() -> int:
    """Which try of the task this is; 1 is the first."""
    return int(get_current_context()["ti"].try_number)


def tries_left() -> tuple[int, int] | None:
    """Which try of the task this is, and how many there may be; None outside of a task."""
    try:
        instance: Any = get_current_context()["ti"]
        return int(instance.try_number), int(instance.max_tries) + 1
    except (RuntimeError, AttributeError, TypeError):
        return None


def pull(task_id: str) -> Any:
    """What a task of this run left in XCom; None if it left nothing."""
    return get_current_context()["ti"].xcom_pull(task_ids=task_id)


def newest(dag_id: str, task_id: str) -> Any:
    """What a task of another DAG left in XCom in its newest run in which it succeeded; None if there is none.

    Newest by logical date. A run without one, triggered by hand, does not count: PostgreSQL would take it for the newest for ever.
    """
    from airflow.sdk.api.datamodels._generated import TaskInstanceState
    from airflow.sdk.execution_time import task_runner
    from airflow.sdk.execution_time.comms import GetPreviousTI

    before = datetime.now(UTC) + timedelta(days=1)
    asked = GetPreviousTI(dag_id=dag_id, task_id=task_id, logical_date=before, state=TaskInstanceState.SUCCESS)
    found = getattr(task_runner.SUPERVISOR_COMMS.send(asked), "task_instance", None)
    if found is None:
        return None
    return get_current_context()["ti"].xcom_pull(dag_id=dag_id, task_ids=task_id, run_id=found.run_id)


def skip(why: str) -> NoReturn:
    """Ends the task as skipped, with the reason as a line of its log: Airflow's own says only that it is skipped, and keeps the reason in a
    field beside it."""
    log.info("Skipped: %s", why)
    raise AirflowSkipException(why)


def leave(value: Any) -> None:
    """Leaves the task's return value in XCom now: for a task that is about to fail, and whose work is of interest all the same."""
    get_current_context()["ti"].xcom_push("return_value", value)
