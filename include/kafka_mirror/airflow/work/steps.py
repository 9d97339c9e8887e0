"""What the tasks of the steps beside the copy do: one step of a flow; and heartbeats that Airflow's triggerer writes."""

import logging
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.sdk.exceptions import TaskDeferred

from kafka_mirror.airflow.flow_files import configuration_of, files_of
from kafka_mirror.airflow.heartbeat_trigger import HeartbeatTrigger
from kafka_mirror.airflow.tasks import is_dry_run, log_lines, read_event, return_or_raise, task_body, to_xcom
from kafka_mirror.airflow.work.state_stores import report_to_freshness
from kafka_mirror.ledger.step import StepResult
from kafka_mirror.status.steps import pairs_of, run_step

OVERLAP_SECONDS = 60
"""A run beats so much longer if the next one is late. It ends when the next one starts, so that no beat is missing between them."""

LATE_SECONDS = 60
"""How long the triggerer may take to say that a run has ended before its task fails."""

log = logging.getLogger(__name__)


def run_flow_step(flow_name: str, step: str) -> dict[str, Any]:
    """Runs a step and logs its lines. The result goes into XCom even if a part of the step failed."""
    with task_body(), report_to_freshness(flow_name, step, is_told=not is_dry_run()):
        return return_result(flow_name, step, run_step(step, pairs_of(step, configuration_of(flow_name)).flow(flow_name), is_dry_run()))


def return_result(flow_name: str, step: str, result: StepResult) -> dict[str, Any]:
    """What the step did, for XCom. Raises ReportedError with what failed."""
    log_lines(result.lines, logging.INFO)
    summary = f"{flow_name}: {step} failed in part"
    value: dict[str, Any] = return_or_raise(to_xcom(result.result, result.totals), summary, result.errors)
    return value


def beat_in_triggerer(flow_name: str, run_seconds: int) -> Mapping[str, Any]:
    """Defers to the triggerer (TaskDeferred) until the next run, which starts at a multiple of `run_seconds`. In a dry run it says whether
    the topic is there."""
    with task_body():
        flow = configuration_of(flow_name).for_heartbeats().flow(flow_name)
        if is_dry_run():
            return run_step("heartbeats", flow, dry_run=True).result
    now = time.time()
    until = (now // run_seconds + 1) * run_seconds + OVERLAP_SECONDS
    log.info("%s: the triggerer beats until %s.", flow.name, datetime.fromtimestamp(until, UTC).isoformat(timespec="seconds"))
    timeout = timedelta(seconds=until - now + LATE_SECONDS)
    raise TaskDeferred(trigger=HeartbeatTrigger(flow_name, until, files_of(flow_name)), method_name="execute_complete", timeout=timeout)


def end_beats(flow_name: str, event: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the trigger did. Raises the error that ended it; a retry beats on after a pause."""
    with task_body(), report_to_freshness(flow_name, "heartbeats"):
        done = read_event(event)
    log.info("%s: %d beats.", flow_name, done["beats"])
    return done
