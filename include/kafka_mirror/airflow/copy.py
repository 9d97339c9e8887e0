"""The tasks of the `copy` DAG (plan, the Spark job that copies, publish, verdict), and all of them in one operator.

Each task parses its DAG file, which imports this one: what only one task needs is imported where it is needed.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from airflow.sdk import TriggerRule, get_current_context, task

from kafka_mirror.airflow.assets import tell_assets
from kafka_mirror.airflow.copy_xcom import plan_from_xcom, plan_to_xcom
from kafka_mirror.airflow.flow_files import configured_flow
from kafka_mirror.airflow.flow_operator import FlowOperator, is_true
from kafka_mirror.airflow.lineage import ReportsLineage, lineage_of_copy
from kafka_mirror.airflow.tasks import (
    ONE_VALUE,
    RunsOnSpark,
    from_xcom,
    is_by_person,
    is_dry_run,
    is_plain,
    log_lines,
    pull,
    push_return_value,
    raise_errors,
    run_name,
    skip,
    task_body,
    try_number,
)
from kafka_mirror.errors import JobFailed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from airflow.sdk import Context

    from kafka_mirror.config import Flow
    from kafka_mirror.copy.model import LaneResult
    from kafka_mirror.copy.plan.model import Plan
    from kafka_mirror.copy.verdict import Verdict
    from kafka_mirror.errors import ErrorReport


log = logging.getLogger(__name__)


@task(task_id="plan", **ONE_VALUE)
def plan(flow_name: str) -> dict[str, Any]:
    """Returns what there is to copy, as columns. A partition that cannot be copied does not fail this task but the verdict."""
    from kafka_mirror.copy.plan.run import plan as make_plan
    from kafka_mirror.status.run_log import plan_lines

    with task_body():
        log.info("%s: run %s plans, try %d.", flow_name, run_name(), try_number())
        new_plan = make_plan(configured_flow(flow_name), dry_run=is_dry_run(), by_person=is_by_person())
    _log(plan_lines(new_plan), new_plan.notices, new_plan.errors)
    return plan_to_xcom(new_plan)


@task(task_id="publish", trigger_rule=TriggerRule.ALL_DONE, **ONE_VALUE)
def publish(flow_name: str) -> dict[str, Any]:
    """Reads the ledger's watermarks, however the job ended, and writes the offset syncs of what was copied.

    Where the job reported other watermarks, the ledger counts. The verdict names the syncs that could not be written.
    """
    from kafka_mirror.airflow.results_xcom import published_to_xcom, results_from_xcom, run_from_xcom
    from kafka_mirror.copy.plan.model import Plan
    from kafka_mirror.copy.publish import publish as publish_run
    from kafka_mirror.status.run_log import published_lines

    if is_dry_run():
        skip("A dry run changes nothing, so there is nothing to publish.")
    with task_body():
        flow, plan_value, copied = configured_flow(flow_name), pull("plan"), pull("copy")
        followed = run_from_xcom(copied)
        if followed is not None:
            planned, all_partitions = followed.plan, False
        else:
            planned = plan_from_xcom(flow, plan_value, dry_run=True) if plan_value is not None else Plan(flow_name)
            # Without the later plans of a run that follows, as without a plan, it is unknown of which partitions offset syncs are due.
            all_partitions = plan_value is not None and (from_xcom(plan_value) is None or bool(flow.value("mirror.follow.seconds")))
        published = publish_run(flow, planned, results_from_xcom(copied), whole=all_partitions, run=run_name())
        for topic in tell_assets(flow, get_current_context(), published.watermarks):
            log.info("%s: an event tells the asset of %s that records came.", flow_name, topic)
    _log(published_lines(planned, published), (*published.disagreements, *published.syncs.notices), published.syncs.errors)
    log.info("%d offset syncs of %d partitions were written.", published.syncs.pairs, published.syncs.partitions)
    return published_to_xcom(published)


@task(task_id="verdict", trigger_rule=TriggerRule.ALL_DONE, retries=0, **ONE_VALUE)
def verdict(flow_name: str) -> str:
    """Fails with everything that failed in the run, and if work was owed and nothing moved."""
    from kafka_mirror.airflow.results_xcom import verdict_from_xcom
    from kafka_mirror.status.run_log import verdict_lines

    plan_value, published_value = pull("plan"), pull("publish")
    with task_body():
        if plan_value is None:
            raise JobFailed(f"{flow_name}: there is no plan, so nothing was copied.", next="The log of the task plan says why.")
        if is_dry_run():
            summary_line, errors = dry_run_verdict(flow_name, plan_value)
            log.info("%s", summary_line)
            if errors:
                push_return_value(summary_line)
            raise_errors(f"{flow_name}: a copy would fail here", errors)
            return summary_line
        if published_value is None:
            raise JobFailed(f"{flow_name}: the ledger could not be read after the copy.", next="The log of the task publish says why.")
        result = verdict_from_xcom(plan_value, pull("copy"), published_value)
        _log(verdict_lines(flow_name, run_name(), result), result.notices)
        raise_errors(f"{flow_name}: {result.records} records were copied, and this failed", result.errors)
    return str(result)


def _log(lines: Iterable[str], notices: Iterable[str] = (), errors: Iterable[ErrorReport] = ()) -> None:
    """Logs what a step did, each part at its level."""
    for level, texts in ((logging.INFO, lines), (logging.WARNING, notices)):
        for text in texts:
            log.log(level, "%s", text)
    for error in errors:
        log_lines(error.lines)


def dry_run_verdict(flow_name: str, plan_value: Mapping[str, Any]) -> tuple[str, Sequence[ErrorReport]]:
    """What a copy would do, in a sentence, and the errors that it would meet."""
    document = from_xcom(plan_value)
    if document is None:
        return f"{flow_name}: {plan_value['totals']}", ()
    planned = plan_from_xcom(configured_flow(flow_name), document)
    return _say_what_would_be_copied(planned), planned.errors


def _say_what_would_be_copied(planned: Plan) -> str:
    offsets = sum(planned_range.offsets for planned_range in planned.ranges)
    failing = f" {len(planned.errors)} would fail: {', '.join(sorted({error.code for error in planned.errors}))}." if planned.errors else ""
    return f"{planned.flow}: {len(planned.ranges)} partitions and {offsets} offsets would be copied.{failing}"


class CopyOperator(RunsOnSpark, ReportsLineage, FlowOperator):
    """Copies a flow's planned ranges by a Spark job and returns the watermarks reached, as columns.

    Without work it is skipped and starts no Spark. A lane's error fails the task only if no attempt reached what was planned. Airflow
    retries the task if one of the errors is retriable: a retry begins at the ledger's watermarks.

    It submits by the Spark provider's hook and is no SparkSubmitOperator: every task of the DAG parses its file and would import the
    provider for that class, and only the one with work needs it.
    """

    template_fields: Sequence[str] = ()
    """No argument is a template, so Airflow shows none as a rendered field."""

    def execute(self, context: Context) -> Any:
        """Runs the task. It reads the Spark connection and its settings now: a changed configuration needs no new DAG."""
        if is_dry_run():
            skip("A dry run copies nothing; the log of the task verdict says what would be copied.")
        from kafka_mirror.status.run_log import lanes_line, work_line

        with task_body():
            flow, plan_value = configured_flow(self.flow), pull("plan")
            plan = plan_from_xcom(flow, plan_value)
            if flow.value("mirror.follow.seconds"):
                return self._follow(flow, plan, context)
            if not plan.has_work:
                skip(_explain_idle(plan))
            from kafka_mirror.airflow.results_xcom import results_to_xcom, verdict_to_xcom

            self.log.info("%s: run %s copies, try %d.", flow.name, run_name(), try_number())
            self.log.info("%s The log of the task plan lists them.", work_line(plan))
            results = self.copy_by_job(flow, plan)
            self.lineage = lineage_of_copy(flow, results)
            value = results_to_xcom(results)
            self.log.info("%s", lanes_line(results))
            errors = [error for result in results for error in result.errors]
            if errors or not is_plain(plan_value):
                verdict = _ledger_verdict(flow, plan, results)
                errors = _errors_of_lanes(verdict, plan)
                if not is_plain(plan_value):
                    value["verdict"] = verdict_to_xcom(verdict)
            if errors:
                push_return_value(value)
            raise_errors(f"{self.flow}: some lanes did not reach what was planned", errors)
        return value

    def copy_by_job(self, flow: Flow, plan: Plan) -> list[LaneResult]:
        """Copies the plan's ranges by a Spark job."""
        from kafka_mirror.copy.job import copy_with_spark

        return copy_with_spark(self.spark_runner(flow), flow, plan, run_name())

    def _follow(self, flow: Flow, plan: Plan, context: Context) -> Any:
        """Goes on until the next run is due. What it returns has all of its plans, whether it is skipped, fails or went well."""
        from kafka_mirror.airflow.follow import follow_in_task, forget_try, store_try
        from kafka_mirror.airflow.results_xcom import run_from_xcom, run_to_xcom, verdict_to_xcom
        from kafka_mirror.status.run_log import lanes_line, work_line

        self.log.info("%s: run %s copies and follows, try %d. %s", flow.name, run_name(), try_number(), work_line(plan))
        done = follow_in_task(flow, plan, context, self.spark_runner(flow))
        results, value = list(done.results), run_to_xcom(done)
        self.lineage = lineage_of_copy(flow, results)
        self.log.info("%s", lanes_line(results))
        errors, has_errors = [done.failure] if done.failure else [], any(result.errors for result in results)
        if done.failure or has_errors:
            store_try(context, value)
            push_return_value(value)
        if has_errors or run_from_xcom(value) is None:
            verdict = _ledger_verdict(flow, done.whole_plan, results)
            errors = _errors_of_lanes(verdict, done.plan)
            if run_from_xcom(value) is None:
                value["verdict"] = verdict_to_xcom(verdict)
                push_return_value(value)
        raise_errors(f"{self.flow}: a run that follows failed", errors)
        if try_number() > 1:
            forget_try(context)
        if not results:
            push_return_value(value)
            skip(_explain_idle(done.plan))
        return value


class MirrorCopyOperator(CopyOperator):
    """Makes a whole copy of a flow in one task: it plans, copies by a Spark job, publishes, and fails with everything that failed.

    It copies what the source has when it plans, within a run's budget, and ends: it does not follow. Beside the flow's own copy DAG it
    takes turns with that lane by lane, and nothing is doubled. A retry goes on at the ledger's watermarks. It returns the verdict:
    `state`, `records`, `bytes`, `owed`, and the errors. Without work it starts no Spark. With `plan_only` it only says what it would copy.
    """

    template_fields: Sequence[str] = ("plan_only",)

    def __init__(self, *, plan_only: bool | str = False, **options: Any) -> None:
        super().__init__(**options)
        self.plan_only = plan_only

    def execute(self, context: Context) -> Any:  # noqa: ARG002 — the base class's
        """Runs the task. Raises ReportedError with all that failed."""
        from kafka_mirror.copy.plan.run import plan as make_plan
        from kafka_mirror.status.run_log import plan_lines

        with task_body():
            flow = configured_flow(self.flow)
            planned = make_plan(flow, dry_run=is_true(self.plan_only), by_person=is_by_person())
            _log(plan_lines(planned), planned.notices, planned.errors)
            if is_true(self.plan_only):
                text = _say_what_would_be_copied(planned)
                self.log.info("%s", text)
                raise_errors(f"{self.flow}: a copy would fail here", planned.errors)
                return text
            return self._copy(flow, planned)

    def _copy(self, flow: Flow, planned: Plan) -> dict[str, Any]:
        from kafka_mirror.airflow.results_xcom import verdict_to_xcom
        from kafka_mirror.copy.publish import Published
        from kafka_mirror.copy.publish import publish as publish_run
        from kafka_mirror.copy.verdict import verdict as judge
        from kafka_mirror.status.run_log import published_lines, verdict_lines

        results: list[LaneResult] | None = []
        published = Published()
        if planned.has_work:
            try:
                results = self.copy_by_job(flow, planned)
            except JobFailed as failure:
                # The ledger says what the job committed before it ended.
                log_lines(failure.report().lines)
                results = None
            self.lineage = lineage_of_copy(flow, results or ())
            published = publish_run(flow, planned, results or (), whole=results is None, run=run_name())
            _log(published_lines(planned, published), (*published.disagreements, *published.syncs.notices))
        judged = judge(planned, results, published)
        _log(verdict_lines(self.flow, run_name(), judged), judged.notices)
        value = verdict_to_xcom(judged)
        if judged.errors:
            push_return_value(value)
        raise_errors(f"{self.flow}: {judged.records} records were copied, and this failed", judged.errors)
        return value


def _explain_idle(plan: Plan) -> str:
    if not plan.errors:
        return "Nothing to copy: no partition has new records. Spark was not started."
    return (
        f"Nothing that can be copied has new records, and {len(plan.errors)} errors keep the rest from being copied: the log of the task "
        "verdict says which, and what to do. Spark was not started."
    )


def _ledger_verdict(flow: Flow, plan: Plan, results: list[LaneResult]) -> Verdict:
    from kafka_mirror.copy.publish import reached
    from kafka_mirror.copy.verdict import verdict

    return verdict(plan, results, reached(flow, plan, results, run_name()))


def _errors_of_lanes(verdict: Verdict, plan: Plan) -> list[Any]:
    """The errors of the job, without those that the plan had already."""
    return [error for error in verdict.errors if error not in plan.errors]
