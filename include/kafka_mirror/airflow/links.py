"""Links that Airflow shows on the tasks of a flow: to its status page, to the runbook when the task failed, to Spark while a job runs.

The plugin registers them, so the api-server makes a link when somebody looks at a task. Links that an operator names cost a row in XCom for
each task that ends.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperatorLink

from kafka_mirror.airflow.flow_files import flow_name
from kafka_mirror.airflow.flow_operator import FlowOperator, FlowTask
from kafka_mirror.airflow.tasks import FAILURE, SPARK_UI
from kafka_mirror.errors.runbook import link

if TYPE_CHECKING:
    from collections.abc import Callable

    from airflow.sdk import BaseOperator


class TaskLink(BaseOperatorLink):
    """A link on each task of a flow, in the mirror's own DAGs and in those of people."""

    @property
    def operators(self) -> list[type[BaseOperator]]:  # type: ignore[override]  # a list there, which would be imported in every process
        """The classes of all tasks of a flow."""
        from kafka_mirror.airflow.dags import backfill, steps  # noqa: F401 — they and what they import have them all

        return [FlowTask, *_subclasses_of(FlowOperator)]

    def get_link(self, operator: BaseOperator, *, ti_key: Any) -> str:
        """The address; empty, and then Airflow shows no link, while there is nothing to lead to."""
        from kafka_mirror.airflow import api_server

        return self._find_address(operator, ti_key.dag_id, api_server.base_url(), partial(api_server.read_pushed, ti_key))

    def _find_address(self, operator: BaseOperator, dag_id: str, airflow: str, read: Callable[[str], Any]) -> str:
        """`airflow` is where Airflow is, `read` gives what the task left in XCom under a key."""
        raise NotImplementedError


class StatusPageLink(TaskLink):
    """The page of the task's flow; none where the flow is unknown."""

    name = "Mirror"

    def _find_address(self, operator: BaseOperator, dag_id: str, airflow: str, read: Callable[[str], Any]) -> str:  # noqa: ARG002
        flow = airflow_name_of(operator, dag_id)
        return f"{airflow}/mirror/flows/{flow}" if flow else ""


class RunbookLink(TaskLink):
    """The section of the error with which the task failed."""

    name = "Runbook"

    def _find_address(self, operator: BaseOperator, dag_id: str, airflow: str, read: Callable[[str], Any]) -> str:  # noqa: ARG002
        section = link(str(read(FAILURE) or ""))
        return f"{airflow}{section}" if section else ""


class SparkLink(TaskLink):
    """The page of the Spark application that runs the task's job; none where no job runs, or where it has no page."""

    name = "Spark UI"

    def _find_address(self, operator: BaseOperator, dag_id: str, airflow: str, read: Callable[[str], Any]) -> str:  # noqa: ARG002
        return str(read(SPARK_UI) or "")


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
