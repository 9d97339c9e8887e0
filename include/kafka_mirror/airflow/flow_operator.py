"""What all tasks of a flow share: the flow, the files that it is configured in, values that may be templates, and a class of their own."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.python import PythonOperator
from airflow.sdk import BaseOperator, get_current_context
from airflow.sdk.exceptions import AirflowRuntimeError

from kafka_mirror.airflow.flow_files import flow_name, set_files
from kafka_mirror.config.load import paths_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kafka_mirror.config.flow import FlowName

FAILURE = "failure"
"""The key in XCom under which a task leaves the code of the error with which it failed, for its link to the runbook."""

SPARK_UI = "spark_ui"
"""The key in XCom under which a task leaves the address of Spark's page while its job runs, and '' afterwards."""


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


def leave(key: str, value: str) -> None:
    """Leaves a value in XCom for a link of the task. Nothing hangs on it: a task that cannot leave it goes on."""
    with suppress(RuntimeError, KeyError, AirflowRuntimeError):
        get_current_context()["ti"].xcom_push(key, value)


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


def split_names(names: str | Iterable[str] | None) -> tuple[str, ...]:
    """Names that stand in a list, or between commas in one text: a template gives text."""
    texts = names.split(",") if isinstance(names, str) else names or ()
    return tuple(filter(None, (str(text).strip() for text in texts)))


def is_true(value: Any) -> bool:
    """Whether a value means yes: a template gives the text 'True', 'False' or nothing."""
    return str(value).strip().lower() in ("true", "1", "yes") if isinstance(value, str) else bool(value)
