"""Links that Airflow shows on the tasks of a flow: to the status page, and to the runbook when a task failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperatorLink

from kafka_mirror.airflow.compat import base_url

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator


class StatusPageLink(BaseOperatorLink):
    """The page of the task's flow."""

    name = "Mirror"

    def get_link(self, operator: BaseOperator, *, ti_key: Any) -> str:  # noqa: ARG002 — the base class's
        """The address of the page."""
        task: Any = operator
        return f"{base_url()}/mirror/flows/{task.flow_name.airflow_name}"


class RunbookLink(BaseOperatorLink):
    """The section of the error with which the task failed."""

    name = "Runbook"

    def get_link(self, operator: BaseOperator, *, ti_key: Any) -> str:  # noqa: ARG002 — the base class's
        """The address of the section; empty while nothing failed, and then Airflow shows no link."""
        from kafka_mirror.errors.runbook import link

        section = link(getattr(operator, "failure_code", ""))
        return f"{base_url()}{section}" if section else ""
