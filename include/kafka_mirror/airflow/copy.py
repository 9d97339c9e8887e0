"""The tasks of the `copy` DAG: plan, copy, and what tells the assets; and what operators share that copy by a Spark job.

Each task parses its DAG file, which imports this one: what only one task needs is imported where it is needed.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow.sdk import get_current_context

from kafka_mirror.airflow.assets import tell_assets
from kafka_mirror.airflow.copy_xcom import plan_from_xcom, plan_to_xcom, verdict_from_xcom, verdict_to_xcom
from kafka_mirror.airflow.flow_files import configured_flow
from kafka_mirror.airflow.flow_operator import FlowOperator, flow_task, is_true
from kafka_mirror.airflow.lineage import ReportsLineage, lineage_of_copy
from kafka_mirror.airflow.tasks import (
    RunsOnSpark,
    is_by_person,
    is_dry_run,
    log_lines,
    pull,
    push_return_value,
    raise_errors,
    run_name,
    skip,
    task_body,
    try_number,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from airflow.sdk import Context

    from kafka_mirror.config import Flow
    from kafka_mirror.copy.model import LaneResult
    from kafka_mirror.copy.plan.model import Plan
    from kafka_mirror.copy.run_result import RunResult, Verdict


log = logging.getLogger(__name__)


@flow_task(task_id="plan")
def plan(flow_name: str) -> dict[str, Any]:
    """Returns what there is to copy, as columns. A partition that cannot be copied does not fail this task but the copy."""
    with task_body():
        log.info("%s: run %s plans, try %d.", flow_name, run_name(), try_number())
        return plan_to_xcom(_make_plan(configured_flow(flow_name), is_dry_run()))


@flow_task(task_id="announce")
def announce(flow_name: str) -> list[str]:
    """Adds an event to the asset of each listed topic that got records, and returns the topics. Airflow keeps a task's events only if it
    succeeds, so it is a task of its own: a copy that fails has copied all the same."""
    from kafka_mirror.copy.publish import read_reached

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


class CopyOperator(RunsOnSpark, ReportsLineage, FlowOperator):
    """What copies a plan's ranges by a Spark job.

    It submits by the Spark provider's hook and is no SparkSubmitOperator: every task of the DAG parses its file and would import the
    provider for that class, and only the one with work needs it.
    """

    def copy_by_job(self, flow: Flow, plan: Plan) -> list[LaneResult]:
        """Copies the plan's ranges by a Spark job."""
        from kafka_mirror.copy.run import copy_with_spark

        return copy_with_spark(self.spark_runner(flow), flow, plan, run_name())


class MirrorCopyOperator(CopyOperator):
    """Copies a flow by a Spark job, writes offset syncs, and judges by the ledger, however the job ended: it fails with everything that
    failed in the run, and if work was owed and nothing moved. It leaves its verdict in XCom (`state`, `records`, `bytes`, `owed`, errors)
    with the watermarks reached, also if it fails.

    It copies what the source has when it plans, within a run's budget, and ends. Beside the flow's own copy DAG it takes turns with that
    lane by lane, and nothing is doubled. Without work it starts no Spark. Airflow retries it if an error of its lanes is retriable: a retry
    goes on at the ledger's watermarks. With `plan_only` it only says what it would copy.

    `plan_task` makes it the task of the flow's own DAG: it copies what that task planned, and follows (`mirror.follow.seconds`).
    """

    template_fields: Sequence[str] = ("flow", "plan_only")

    def __init__(self, *, plan_only: bool | str = False, plan_task: str = "", **options: Any) -> None:
        super().__init__(**options)
        self.plan_only = plan_only
        self.plan_task = plan_task

    def execute(self, context: Context) -> Any:
        """Runs the task. It reads the configuration now: a changed one needs no new DAG. Raises ReportedError with all that failed."""
        with task_body():
            flow, plan_only = configured_flow(self.flow), is_true(self.plan_only)
            plan = (plan_from_xcom(pull(self.plan_task)) if self.plan_task else None) or _make_plan(flow, plan_only)
            if plan_only:
                return self._say(plan)
            judged, retriable = self._follow(flow, plan, context) if self._follows(flow) else self._copy(flow, plan)
            value = verdict_to_xcom(judged)
            if judged.errors:
                push_return_value(value)
            raise_errors(f"{self.flow}: {judged.records} records were copied, and this failed", judged.errors, retriable)
        return value

    def _say(self, plan: Plan) -> str:
        offsets = sum(planned.offsets for planned in plan.ranges)
        failing = f" {len(plan.errors)} would fail: {', '.join(sorted({error.code for error in plan.errors}))}." if plan.errors else ""
        text = f"{plan.flow}: {len(plan.ranges)} partitions and {offsets} offsets would be copied.{failing}"
        self.log.info("%s", text)
        if plan.errors:
            push_return_value(text)
        raise_errors(f"{self.flow}: a copy would fail here", plan.errors, retriable=False)
        return text

    def _follows(self, flow: Flow) -> bool:
        return bool(self.plan_task and flow.value("mirror.follow.seconds"))

    def _copy(self, flow: Flow, plan: Plan) -> tuple[Verdict, bool]:
        from kafka_mirror.copy.run_result import copy_once
        from kafka_mirror.status.run_log import work_line

        self.log.info("%s: run %s copies, try %d. %s", flow.name, run_name(), try_number(), work_line(plan))
        return self._judge(flow, copy_once(flow, plan, partial(self.copy_by_job, flow)))

    def _follow(self, flow: Flow, plan: Plan, context: Context) -> tuple[Verdict, bool]:
        """Goes on until the next run is due. A try that fails leaves what it did to the next one."""
        from kafka_mirror.airflow.follow import follow_in_task, remember_try
        from kafka_mirror.status.run_log import work_line

        self.log.info("%s: run %s copies and follows, try %d. %s", flow.name, run_name(), try_number(), work_line(plan))
        result, retriable = follow_in_task(flow, plan, context, self.spark_runner(flow)), True
        try:
            judged, retriable = self._judge(flow, result)
        finally:
            remember_try(context, result if retriable else None)
        return judged, retriable

    def _judge(self, flow: Flow, result: RunResult) -> tuple[Verdict, bool]:
        """The verdict, and whether another try may mend what the run failed with: an error of its lanes or of its plans. What the plan said
        and what could not be published is the next run's."""
        from kafka_mirror.copy.run_result import publish_and_judge
        from kafka_mirror.status.run_log import lanes_line, reached_lines, verdict_lines

        self.lineage = lineage_of_copy(flow, result.results)
        if result.results:
            self.log.info("%s", lanes_line(result.results))
        judged, own = publish_and_judge(flow, result, run_name()), result.errors
        _log((*reached_lines(result.plan, judged.watermarks), *verdict_lines(flow.name, run_name(), judged)), judged.notices)
        return judged, any(error.retriable for error in judged.errors if error in own)


def _make_plan(flow: Flow, dry_run: bool) -> Plan:
    from kafka_mirror.copy.plan.run import plan as make_plan
    from kafka_mirror.status.run_log import plan_lines

    planned = make_plan(flow, dry_run=dry_run, by_person=is_by_person())
    _log(plan_lines(planned), planned.notices)
    for error in planned.errors:
        log_lines(error.lines)
    return planned


def _log(lines: Iterable[str], notices: Iterable[str] = ()) -> None:
    """Logs what a step did, each part at its level."""
    for line in lines:
        log.info("%s", line)
    for notice in notices:
        log.warning("%s", notice)
