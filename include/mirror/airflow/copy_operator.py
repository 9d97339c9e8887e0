"""The task that copies: the Spark job, with the plan on its way in and the results on its way out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from mirror.airflow.context import is_dry_run, leave, pull, run_name, skip, try_number
from mirror.airflow.copy_values import plan_from_xcom, results_to_xcom, verdict_to_xcom
from mirror.airflow.errors import as_airflow_errors, raise_errors
from mirror.airflow.xcom import is_plain
from mirror.config import load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.sdk import Context

    from mirror.airflow.spark_hook import JobHook
    from mirror.config import Flow
    from mirror.copy.model import LaneResult
    from mirror.plan.model import Plan
    from mirror.report.verdict import Verdict


class CopyOperator(BaseOperator):
    """Copies a flow's planned ranges by a Spark job and returns the watermarks reached, as columns.

    Skipped, without starting Spark, when there is no work. A lane's error fails the task only if what was planned was not reached, by
    whichever attempt; it is retried if one of the errors is retriable, for a retry begins at the ledger's watermarks.

    It submits through the Spark provider's hook and is no SparkSubmitOperator: with that class every task of the DAG, which parses its file
    anew, would import the provider, and only the one with work needs it.
    """

    template_fields: Sequence[str] = ()
    """Nothing of it is a template, and nothing of it is shown as a rendered field."""

    def __init__(self, *, flow: str, **options: Any) -> None:
        super().__init__(**options)
        self.flow = flow
        self._hook: JobHook | None = None

    def execute(self, context: Context) -> Any:  # noqa: ARG002 — what it needs is asked for by `context`
        """The whole task; the Spark connection and its settings are read now, so that a changed configuration needs no new DAG."""
        if is_dry_run():
            skip("A dry run copies nothing; the log of the task verdict says what would be copied.")
        from mirror.report.run_log import lanes_line, plan_lines

        with as_airflow_errors():
            flow, made = load().flow(self.flow), pull("plan")
            plan = plan_from_xcom(flow, made)
            if not plan.has_work:
                skip(_nothing_to_copy(plan))
            self.log.info("%s: run %s copies, try %d.", flow.name, run_name(), try_number())
            for line in plan_lines(plan):
                self.log.info("%s", line)
            results = self._run_job(flow, plan)
            value = results_to_xcom(results)
            self.log.info("%s", lanes_line(results))
            failed = [error for result in results for error in result.errors]
            if failed or not is_plain(made):
                verdict = _judge(flow, plan, results)
                failed = _of_the_lanes(verdict, plan)
                if not is_plain(made):
                    value["verdict"] = verdict_to_xcom(verdict)
            if failed:
                leave(value)
            raise_errors(f"{self.flow}: some lanes did not reach what was planned", failed)
        return value

    def on_kill(self) -> None:
        """Ends the job; what it had not committed is aborted by the next one."""
        if self._hook is not None:
            self._hook.on_kill()

    def _run_job(self, flow: Flow, plan: Plan) -> list[LaneResult]:
        from mirror.airflow.spark_hook import job_hook
        from mirror.copy.job_files import job_files, read_results
        from mirror.copy.spark_submit import JOB, Job, arguments

        with job_files(plan) as files:
            job = Job(JOB, f"mirror copy {flow.name}", arguments(files, flow.name, run_name()))
            self._hook = job_hook(flow, files, job)
            return read_results(files.result, self._hook.run(job))


def _nothing_to_copy(plan: Plan) -> str:
    if not plan.errors:
        return "Nothing to copy: no partition has new records. Spark was not started."
    return (
        f"Nothing that can be copied has new records, and {len(plan.errors)} errors keep the rest from being copied: the log of the task "
        "verdict says which, and what to do. Spark was not started."
    )


def _judge(flow: Flow, plan: Plan, results: list[LaneResult]) -> Verdict:
    from mirror.report.publish import reached
    from mirror.report.verdict import verdict

    return verdict(plan, results, reached(flow, plan, results, run_name()))


def _of_the_lanes(verdict: Verdict, plan: Plan) -> list[Any]:
    """What the job failed in; what already the plan could not do is not the job's."""
    return [error for error in verdict.errors if error not in plan.errors]
