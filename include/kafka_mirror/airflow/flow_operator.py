"""What all tasks of a flow share while their DAG file is read: the flow and its files, values that may be templates, classes of their own.

Each task parses its DAG file, which imports this file and the operators: what a task needs once it runs stands in `work`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.python import PythonOperator
from airflow.sdk import BaseOperator

from kafka_mirror.airflow.flow_files import flow_name, set_files
from kafka_mirror.config.load import paths_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafka_mirror.airflow.work.lineage import Lineage
    from kafka_mirror.config import Flow
    from kafka_mirror.config.flow import FlowName
    from kafka_mirror.spark.run import SparkRunner


class FlowOperator(BaseOperator):
    """An operator that works for a flow.

    `flow` is the flow's name, 'east->west', and no template: Airflow must know the flow's assets when it reads the DAG file. `config` names
    the files of the configuration, separated by commas, in the place of MIRROR_CONFIG.
    """

    def __init__(self, *, flow: str, config: str = "", **options: Any) -> None:
        super().__init__(**options)
        self.flow = flow_name(flow).name
        if config:
            set_files([self.flow_name], [str(path) for path in paths_of(config)])

    @property
    def flow_name(self) -> FlowName:
        """The flow's name, for what belongs to the flow in Airflow."""
        return flow_name(self.flow)


class SparkOperator(FlowOperator):
    """An operator that may run a job on Spark. Its task sets its lineage as soon as it knows."""

    lineage: Lineage | None = None
    _runner: SparkRunner | None = None

    def spark_runner(self, flow: Flow) -> SparkRunner:
        """What runs the task's job, on the Spark of the flow's connection. Raises ConfigurationError."""
        from kafka_mirror.airflow.spark_hook import TaskRunner

        self._runner = TaskRunner(flow)
        return self._runner

    def on_kill(self) -> None:
        """Ends the job, if there is one: what it has not committed is aborted by the next one."""
        if self._runner is not None:
            self._runner.end()

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Any:  # noqa: ARG002 — Airflow's provider gives it
        """Airflow's OpenLineage provider calls this, after a failure too; None: the task did nothing that it could tell."""
        if self.lineage is None:
            return None
        from kafka_mirror.airflow.work.lineage import facets

        return facets(self.lineage)


class FlowTask(PythonOperator):
    """A function as a task of a flow. Airflow knows by the class which tasks have the links of `links`."""


def flow_task(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., FlowTask]]:
    """Makes a function a task of a flow, as Airflow's `@task` does: a call with the function's arguments is the task, and named ones are
    further options. The log does not show its value."""

    def decorate(function: Callable[..., Any]) -> Callable[..., FlowTask]:
        """The function that makes the task of a DAG."""

        def make_task(*arguments: Any, **more: Any) -> FlowTask:
            """The task of the DAG that is being built."""
            given = {"doc_md": function.__doc__, "show_return_value_in_logs": False, **options, **more}
            return FlowTask(python_callable=function, op_args=arguments, **given)

        return make_task

    return decorate


def task_id_of(step: str) -> str:
    """The id of the task that runs a step."""
    return step.replace("-", "_")
