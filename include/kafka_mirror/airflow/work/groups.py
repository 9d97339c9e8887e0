"""What the tasks of `checkpoints` and `group-offsets` do: a step for the groups that `refresh-groups` found, with a Spark job where there
are many."""

import logging
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow.sdk import get_current_context

from kafka_mirror.airflow.compat import newest_success
from kafka_mirror.airflow.flow_files import configured_flow
from kafka_mirror.airflow.tasks import from_xcom, is_dry_run, run_name, task_body
from kafka_mirror.airflow.work.state_stores import report_to_freshness
from kafka_mirror.airflow.work.steps import return_result
from kafka_mirror.config import Flow
from kafka_mirror.groups.find import KnownGroups, recall_groups
from kafka_mirror.groups.job import run_group_step
from kafka_mirror.groups.undo import undo_step

if TYPE_CHECKING:
    from kafka_mirror.airflow.dags.steps import GroupOperator

REFRESH = "refresh-groups"
REFRESH_TASK = "refresh_groups"
_MAX_AGE_INTERVALS = 3
"""A list of groups that is older than this many intervals of refresh-groups is not used."""

log = logging.getLogger(__name__)


def run_groups(operator: "GroupOperator") -> dict[str, Any]:
    """Runs the step, or takes back what a run of it did (`undo`)."""
    undo = get_current_context()["params"].get("undo")
    with task_body(), report_to_freshness(operator.flow, operator.step, is_told=not (undo or is_dry_run())):
        flow = configured_flow(operator.flow)
        if undo:
            return return_result(flow.name, operator.step, undo_step(flow, undo, is_dry_run()))
        groups = recall_fresh_groups(flow)
        if groups is None:
            log.info("There is no fresh list of groups from %s, so the source is asked.", flow.dag_id(REFRESH))
        runner = partial(operator.spark_runner, flow)
        result = run_group_step(operator.step, flow, groups, is_dry_run(), runner, "its DAG", run=run_name())
        return return_result(flow.name, operator.step, result)


def recall_fresh_groups(flow: Flow) -> KnownGroups | None:
    """The newest list of groups; None if it is too old, or of another configuration."""
    run_id = newest_success(flow.dag_id(REFRESH), REFRESH_TASK)
    if run_id is None:
        return None
    value = get_current_context()["ti"].xcom_pull(dag_id=flow.dag_id(REFRESH), task_ids=REFRESH_TASK, run_id=run_id)
    document = from_xcom(value) if value is not None else None
    max_age_seconds = _MAX_AGE_INTERVALS * flow.value("refresh.groups.interval.seconds")
    return recall_groups(document, flow.config_hash, datetime.now(UTC), max_age_seconds) if document is not None else None
