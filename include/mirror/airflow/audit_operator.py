"""The task that audits a flow: by itself where little is to be read, by a Spark job where it is much."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from mirror.airflow.alert_store import remember_audit
from mirror.airflow.context import leave
from mirror.airflow.errors import as_airflow_errors, raise_errors
from mirror.airflow.xcom import to_xcom
from mirror.config import load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.sdk import Context

    from mirror.airflow.spark_hook import JobHook
    from mirror.audit.stretch import Stretch
    from mirror.audit.work import AuditWork, Outcome
    from mirror.config import Flow


class AuditOperator(BaseOperator):
    """Audits what the run's params ask for, and leaves the result in XCom; red with the first difference of each partition."""

    template_fields: Sequence[str] = ()

    def __init__(self, *, flow: str, **options: Any) -> None:
        super().__init__(task_id="audit", **options)
        self.flow = flow
        self._hook: JobHook | None = None

    def execute(self, context: Context) -> Any:
        """The whole task. Spark is started only for what is more than mirror.audit.spark.threshold."""
        from mirror.audit.job import by_size
        from mirror.audit.report import errors_of, lines_of
        from mirror.audit.run import audit

        with as_airflow_errors():
            flow = load().flow(self.flow)
            asked = self.asked(flow, context)
            result = audit(flow, **asked, compare=by_size(flow, lambda *work: self._submit(flow, *work)))
            for line in lines_of(result):
                self.log.info("%s", line)
            document = result.as_document()
            remember_audit(flow, f"{context['dag_run'].dag_id}/{context['dag_run'].run_id}", document)
            value, errors = to_xcom(document, result.totals), errors_of(result, asked.get("topics", ()))
            if errors:
                leave(value)
            raise_errors(f"{self.flow}: source and target are not proven to be the same", errors)
        return value

    def asked(self, flow: Flow, context: Context) -> dict[str, Any]:  # noqa: ARG002 — others ask by the flow
        """Of what the audit is, as arguments of `audit`."""
        from mirror.audit.asked import names, times

        params = context["params"]
        return {"topics": names(params.get("topics")), "times": times(params.get("from"), params.get("to"))}

    def on_kill(self) -> None:
        """Ends the Spark job, if there is one; it has written nothing."""
        if self._hook is not None:
            self._hook.on_kill()

    def _submit(self, flow: Flow, work: AuditWork, stretches: Sequence[Stretch]) -> list[Outcome]:
        from airflow.sdk.exceptions import AirflowException

        from mirror.airflow.spark_hook import job_hook
        from mirror.audit.job import JOB, audit_job, read_outcomes

        with audit_job(flow, work, stretches) as (files, job):
            self._hook = job_hook(flow, files, job)
            ended = ""
            try:
                self._hook.submit(str(JOB))
            except AirflowException as error:
                ended = str(error)
            return read_outcomes(files.result, ended)
