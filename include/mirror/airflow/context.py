"""What a running task asks of its run."""

from typing import Any

from airflow.sdk import get_current_context


def is_dry_run() -> bool:
    """Whether the run was started with `dry_run`."""
    return bool(get_current_context()["params"].get("dry_run"))


def pull(task_id: str) -> Any:
    """What a task of this run left in XCom; None if it left nothing."""
    return get_current_context()["ti"].xcom_pull(task_ids=task_id)


def leave(value: Any) -> None:
    """Leaves the task's return value in XCom now: for a task that is about to fail, and whose work is of interest all the same."""
    get_current_context()["ti"].xcom_push("return_value", value)
