"""Links that Airflow shows on the tasks of a flow: to its status page, to the runbook when the task failed, to Spark while a job runs.

The plugin registers them, so the api-server makes a link when somebody looks at a task. Links that an operator names cost a row in XCom for
each task that ends.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperatorLink

from kafka_mirror.airflow.flow_files import flow_name
from kafka_mirror.airflow.flow_operator import FAILURE, SPARK_UI, FlowOperator, FlowTask

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator


class TaskLink(BaseOperatorLink):
    """A link on each task of a flow, in the mirror's own DAGs and in those of people."""

    @property
    def operators(self) -> list[type[BaseOperator]]:  # type: ignore[override]  # a list there, which would be imported in every process
        """The classes of all tasks of a flow."""
        for module in ("operators", "groups", "heartbeats"):
            import_module(f"kafka_mirror.airflow.{module}")
        return [FlowTask, *_subclasses_of(FlowOperator)]


class StatusPageLink(TaskLink):
    """The page of the task's flow."""

    name = "Mirror"

    def get_link(self, operator: BaseOperator, *, ti_key: Any) -> str:
        """The address of the page; empty where the flow is unknown."""
        from kafka_mirror.airflow import api_server

        flow = airflow_name_of(operator, ti_key.dag_id)
        return f"{api_server.base_url()}/mirror/flows/{flow}" if flow else ""


class RunbookLink(TaskLink):
    """The section of the error with which the task failed."""

    name = "Runbook"

    def get_link(self, operator: BaseOperator, *, ti_key: Any) -> str:  # noqa: ARG002 — the base class's
        """The address of the section; empty while nothing failed, and then Airflow shows no link."""
        from kafka_mirror.airflow import api_server
        from kafka_mirror.errors.runbook import link

        section = link(str(api_server.read_pushed(ti_key, FAILURE) or ""))
        return f"{api_server.base_url()}{section}" if section else ""


class SparkLink(TaskLink):
    """The page of the Spark application that runs the task's job."""

    name = "Spark UI"

    def get_link(self, operator: BaseOperator, *, ti_key: Any) -> str:  # noqa: ARG002 — the base class's
        """The address of the page; empty where no job runs, or where it has no page."""
        from kafka_mirror.airflow import api_server

        return str(api_server.read_pushed(ti_key, SPARK_UI) or "")


def airflow_name_of(operator: Any, dag_id: str) -> str:
    """The flow of a task as Airflow's ids have it; '' if it is unknown. `operator` is the task as the api-server reads it: with its
    templates, of which the flow is one in people's DAGs. The mirror's own DAGs are named by their flow."""
    flow = getattr(operator, "flow", None) or getattr(operator, "partial_kwargs", {}).get("flow")
    if flow:
        return flow_name(str(flow)).airflow_name
    named = dag_id.rpartition(".")[0]
    return named if "-to-" in named else ""


def _subclasses_of(base: type[Any]) -> list[type[Any]]:
    return [kind for child in base.__subclasses__() for kind in (child, *_subclasses_of(child))]
