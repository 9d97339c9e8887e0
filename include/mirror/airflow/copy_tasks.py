"""The tasks of the `copy` DAG around the Spark job: plan before it, publish and verdict after it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from airflow.sdk import TriggerRule, task

from mirror.airflow.context import is_by_person, is_dry_run, pull, run_name, skip, try_number
from mirror.airflow.copy_values import (
    plan_from_xcom,
    plan_to_xcom,
    published_to_xcom,
    results_from_xcom,
    verdict_from_xcom,
)
from mirror.airflow.errors import as_airflow_errors, raise_errors
from mirror.airflow.xcom import from_xcom
from mirror.config import load
from mirror.errors import JobFailed

if TYPE_CHECKING:
    from collections.abc import Mapping

log = logging.getLogger(__name__)


@task(task_id="plan", show_return_value_in_logs=False)
def plan(flow_name: str) -> dict[str, Any]:
    """What there is to copy, as columns. Partitions that cannot be copied do not fail it: they are in the plan, and in the verdict."""
    from mirror.plan.run import plan as make_plan
    from mirror.report.run_log import plan_lines

    with as_airflow_errors():
        log.info("%s: run %s plans, try %d.", flow_name, run_name(), try_number())
        made = make_plan(load().flow(flow_name), dry_run=is_dry_run(), by_person=is_by_person())
    for line in plan_lines(made):
        log.info("%s", line)
    for notice in made.notices:
        log.warning("%s", notice)
    for error in made.errors:
        log.error("%s", error)
    return plan_to_xcom(made)


@task(task_id="publish", show_return_value_in_logs=False, trigger_rule=TriggerRule.ALL_DONE)
def publish(flow_name: str) -> dict[str, Any]:
    """The watermarks that the ledger has now, whatever became of the job; where the job said otherwise, the ledger counts. Then the offset
    syncs of what was copied: the verdict says which could not be written."""
    from mirror.plan.model import Plan
    from mirror.report.publish import publish as publish_run
    from mirror.report.run_log import published_lines

    if is_dry_run():
        skip("A dry run changes nothing, so there is nothing to publish.")
    with as_airflow_errors():
        flow, made = load().flow(flow_name), pull("plan")
        planned = plan_from_xcom(flow, made, dry_run=True) if made is not None else Plan(flow_name)
        whole = made is not None and from_xcom(made) is None
        published = publish_run(flow, planned, results_from_xcom(pull("copy")), whole=whole, run=run_name())
    for notice in (*published.disagreements, *published.syncs.notices):
        log.warning("%s", notice)
    for error in published.syncs.errors:
        log.error("%s", error)
    for line in published_lines(planned, published):
        log.info("%s", line)
    log.info("%d offset syncs of %d partitions were written.", published.syncs.pairs, published.syncs.partitions)
    return published_to_xcom(published)


@task(task_id="verdict", trigger_rule=TriggerRule.ALL_DONE, retries=0)
def verdict(flow_name: str) -> str:
    """The run's colour: red with everything that failed, and when work was owed and nothing moved."""
    from mirror.report.run_log import verdict_lines

    made, published = pull("plan"), pull("publish")
    with as_airflow_errors():
        if made is None:
            raise JobFailed(f"{flow_name}: there is no plan, so nothing was copied.", next="The log of the task plan says why.")
        if is_dry_run():
            return dry_run_verdict(flow_name, made)
        if published is None:
            raise JobFailed(f"{flow_name}: the ledger could not be read after the copy.", next="The log of the task publish says why.")
        judged = verdict_from_xcom(made, pull("copy"), published)
        for line in verdict_lines(flow_name, run_name(), judged):
            log.info("%s", line)
        for notice in judged.notices:
            log.warning("%s", notice)
        raise_errors(f"{flow_name}: {judged.records} records were copied, and this failed", judged.errors)
    return str(judged)


def dry_run_verdict(flow_name: str, made: Mapping[str, Any]) -> str:
    """What a copy would do. Raises what would keep it from copying."""
    document = from_xcom(made)
    if document is None:
        return f"{flow_name}: {made['totals']}"
    planned = plan_from_xcom(load().flow(flow_name), document)
    raise_errors(f"{flow_name}: this would fail", planned.errors)
    return f"{flow_name}: {len(planned.ranges)} partitions and {sum(each.offsets for each in planned.ranges)} offsets would be copied."
