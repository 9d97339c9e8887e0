"""What the tasks of the `copy` DAG do: plan, copy, and tell the assets; and how plans and verdicts stand in XCom."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow.sdk import Context, get_current_context

from kafka_mirror.airflow.assets import COPIES, alias_of, are_told, asset_of, is_asset
from kafka_mirror.airflow.flow_files import configured_flow
from kafka_mirror.airflow.tasks import (
    from_xcom,
    is_by_person,
    is_dry_run,
    is_true,
    log_lines,
    pull,
    return_or_raise,
    run_name,
    skip,
    task_body,
    to_xcom,
    try_number,
)
from kafka_mirror.airflow.work.lineage import lineage_of_copy
from kafka_mirror.config import Flow
from kafka_mirror.config.policies import topic_selection
from kafka_mirror.copy import run_result
from kafka_mirror.copy.model import LaneResult, Watermark
from kafka_mirror.copy.plan import run as planner
from kafka_mirror.copy.plan.model import Plan, from_columns, to_columns
from kafka_mirror.copy.publish import read_reached
from kafka_mirror.copy.run_result import RunResult, Verdict, copy_once, publish_and_judge
from kafka_mirror.errors import MirrorError
from kafka_mirror.status.observe import refused_writes
from kafka_mirror.status.run_log import lanes_line, plan_lines, reached_lines, verdict_lines, work_line

if TYPE_CHECKING:
    from kafka_mirror.airflow.flow_operator import SparkOperator
    from kafka_mirror.airflow.operators import MirrorCopyOperator

MAX_ENTRIES = 200
"""How many errors, notices and runs go into XCom where all of them are too many for it."""

log = logging.getLogger(__name__)


def plan(flow_name: str) -> dict[str, Any]:
    """The plan of the run for XCom."""
    with task_body():
        log.info("%s: run %s plans, try %d.", flow_name, run_name(), try_number())
        return plan_to_xcom(_make_plan(configured_flow(flow_name), is_dry_run()))


def run_copy(operator: "MirrorCopyOperator", context: Context) -> Any:
    """Copies by the plan of this run, or by one of its own, and judges."""
    with task_body():
        flow, plan_only = configured_flow(operator.flow), is_true(operator.plan_only)
        planned = (plan_from_xcom(pull(operator.plan_task)) if operator.plan_task else None) or _make_plan(flow, plan_only)
        if plan_only:
            return _describe_plan(planned)
        follows = bool(operator.plan_task and flow.value("mirror.follow.seconds"))
        goes_on = " and follows" if follows else ""
        log.info("%s: run %s copies%s, try %d. %s", flow.name, run_name(), goes_on, try_number(), work_line(planned))
        if follows:
            judged, retriable = _follow(operator, flow, planned, context)
        else:
            judged, retriable = _judge(operator, flow, copy_once(flow, planned, partial(copy_by_job, operator, flow)))
        summary = f"{flow.name}: {judged.records} records were copied, and this failed"
        return return_or_raise(verdict_to_xcom(judged), summary, judged.errors, retriable)


def copy_by_job(operator: "SparkOperator", flow: Flow, planned: Plan) -> list[LaneResult]:
    """Copies the plan's ranges by a Spark job."""
    from kafka_mirror.copy.run import copy_with_spark  # a task without work, or one that plans, needs no Spark

    return copy_with_spark(operator.spark_runner(flow), flow, planned, run_name())


def announce(flow_name: str) -> list[str]:
    """Adds an event to the asset of each listed topic that got records, and returns the topics. Airflow keeps the events when the task
    succeeds, and never before."""
    value, planned = pull("copy"), pull("plan")
    if is_dry_run() or planned is None:
        skip("Nothing was to be copied, so there is nothing to tell.")
    with task_body():
        flow, judged = configured_flow(flow_name), verdict_from_xcom(value) if value is not None else None
        if judged is not None and (judged.watermarks or not judged.records):
            marks = judged.watermarks
        else:  # the copy was killed, or its watermarks are too many for XCom
            plan_of_run = plan_from_xcom(planned)
            marks = read_reached(flow, plan_of_run, run=run_name()).watermarks if plan_of_run else ()
        topics = tell_assets(flow, get_current_context(), marks)
        for topic in topics:
            log.info("%s: an event tells the asset of %s that records came.", flow_name, topic)
    return topics


def tell_assets(flow: Flow, context: Context, watermarks: Iterable[Watermark]) -> list[str]:
    """Adds the events; gives the topics. An event says how many records came, and in front of which offset each partition of both sides
    stands since."""
    if not are_told(flow, COPIES):
        return []
    is_listed, selection = is_asset(flow), topic_selection(flow)
    by_topic: dict[str, list[Watermark]] = {}
    for mark in sorted(watermarks, key=lambda mark: (mark.topic, mark.partition)):
        if mark.records and is_listed(mark.topic):
            by_topic.setdefault(mark.topic, []).append(mark)
    events: Any = context["outlet_events"][alias_of(flow)]
    for topic, marks in by_topic.items():
        extra = {
            "flow": flow.name,
            "topic": topic,
            "records": sum(mark.records for mark in marks),
            "watermarks": {str(mark.partition): {"source": mark.source_offset, "target": mark.target_offset} for mark in marks},
        }
        events.add(asset_of(flow, selection.remote(topic)), extra=extra)
    return list(by_topic)


def try_flow(flow_name: str) -> tuple[bool, str]:
    """Whether a copy would work, and a sentence with all that speaks against it. Writes nothing."""
    try:
        flow = configured_flow(flow_name)
        context = planner.plan_context(flow, dry_run=True)
        refused = refused_writes(flow, [topic.name for topic in context.remotes.values()])
    except MirrorError as error:
        return False, str(error)
    errors = [*context.plan.errors, *refused]
    answer = f"{flow_name}: both clusters answer, and {len(context.topics)} topics are to be mirrored."
    return not errors, "\n- ".join([answer, *(str(error) for error in errors)])


def _make_plan(flow: Flow, dry_run: bool) -> Plan:
    planned = planner.plan(flow, dry_run=dry_run, by_person=is_by_person())
    log_lines(plan_lines(planned), logging.INFO)
    log_lines(planned.notices, logging.WARNING)
    for error in planned.errors:
        log_lines(error.lines)
    return planned


def _describe_plan(planned: Plan) -> str:
    offsets = sum(part.offsets for part in planned.ranges)
    failing = f" {len(planned.errors)} would fail: {', '.join(sorted({error.code for error in planned.errors}))}." if planned.errors else ""
    text = f"{planned.flow}: {len(planned.ranges)} partitions and {offsets} offsets would be copied.{failing}"
    log.info("%s", text)
    return str(return_or_raise(text, f"{planned.flow}: a copy would fail here", planned.errors, retriable=False))


def _follow(operator: "MirrorCopyOperator", flow: Flow, planned: Plan, context: Context) -> tuple[Verdict, bool]:
    """Goes on until the next run is due. A try that fails leaves what it did to the next one."""
    from kafka_mirror.airflow.work.follow import follow_in_task, remember_try  # it needs Spark

    result, retriable = follow_in_task(flow, planned, context, operator.spark_runner(flow)), True
    try:
        judged, retriable = _judge(operator, flow, result)
    finally:
        remember_try(context, result if retriable else None)
    return judged, retriable


def _judge(operator: "SparkOperator", flow: Flow, result: RunResult) -> tuple[Verdict, bool]:
    """The verdict, and whether another try may mend what the run failed with: an error of its lanes or of its plans. What the plan said
    and what could not be published is the next run's."""
    operator.lineage = lineage_of_copy(flow, result.results)
    if result.results:
        log.info("%s", lanes_line(result.results))
    judged, own = publish_and_judge(flow, result, run_name()), result.errors
    log_lines((*reached_lines(result.plan, judged.watermarks), *verdict_lines(flow.name, run_name(), judged)), logging.INFO)
    log_lines(judged.notices, logging.WARNING)
    return judged, any(error.retriable for error in judged.errors if error in own)


# ---------------------------------------------------------------- in XCom


def plan_to_xcom(planned: Plan) -> dict[str, Any]:
    """The plan's columns."""
    offsets = sum(part.offsets for part in planned.ranges)
    return to_xcom(to_columns(planned), {"ranges": len(planned.ranges), "offsets": offsets, "errors": len(planned.errors)})


def plan_from_xcom(value: Mapping[str, Any]) -> Plan | None:
    """The plan of a value; None where XCom has only its totals."""
    document = from_xcom(value)
    return None if document is None else from_columns(document)


def verdict_to_xcom(judged: Verdict) -> dict[str, Any]:
    """The verdict with its watermarks by column; packed, the verdict without watermarks is beside it."""
    first = {name: getattr(judged, name)[:MAX_ENTRIES] for name in ("errors", "notices", "copied_elsewhere")}
    return to_xcom(run_result.to_columns(judged), run_result.to_columns(replace(judged, watermarks=(), **first)))


def verdict_from_xcom(value: Mapping[str, Any]) -> Verdict:
    """The verdict of a value; without watermarks where XCom has no more."""
    document = from_xcom(value)
    return run_result.from_columns(value["totals"] if document is None else document)
