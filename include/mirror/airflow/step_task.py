"""The task of a DAG that runs one step."""

import logging
from typing import Any

from airflow.sdk import task

from mirror.airflow.context import is_dry_run, leave
from mirror.airflow.errors import as_airflow_errors, raise_errors
from mirror.airflow.xcom import to_xcom
from mirror.config import load

log = logging.getLogger(__name__)


def step_task(flow_name: str, step: str) -> Any:
    """A task that runs the step for the flow and returns what was (with `dry_run`: would be) done; red with what failed."""

    @task(task_id=step.replace("-", "_"), show_return_value_in_logs=False)
    def run() -> dict[str, Any]:
        """Runs the step, says its lines, and leaves its result in XCom even if a part of it failed."""
        from mirror.sync.step import pairs_of, run_step

        with as_airflow_errors():
            done = run_step(step, pairs_of(step, load()).flow(flow_name), is_dry_run())
            for line in done.lines:
                log.info("%s", line)
            value = to_xcom(done.result, done.totals)
            if done.errors:
                leave(value)
            raise_errors(f"{flow_name}: {step} failed in part", done.errors)
        return value

    return run()
