"""What all operators of a flow share: the flow, the files that it is configured in, and values that may be templates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from kafka_mirror.airflow.flow_files import flow_name, set_files
from kafka_mirror.airflow.links import RunbookLink, StatusPageLink
from kafka_mirror.config.load import paths_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafka_mirror.config.flow import FlowName


class FlowOperator(BaseOperator):
    """An operator that works for a flow.

    `flow` is the flow's name, 'east->west', and no template: Airflow must know the flow's assets when it reads the DAG file. `config` names
    the files of the configuration, separated by commas, in the place of MIRROR_CONFIG.
    """

    operator_extra_links = (StatusPageLink(), RunbookLink())
    failure_code: str = ""
    """The code of the error with which the task failed, for the link to the runbook."""

    def __init__(self, *, flow: str, config: str = "", **options: Any) -> None:
        super().__init__(**options)
        self.flow = flow_name(flow).name
        if config:
            set_files([self.flow_name], [str(path) for path in paths_of(config)])

    @property
    def flow_name(self) -> FlowName:
        """The flow's name, for what belongs to the flow in Airflow."""
        return flow_name(self.flow)


def split_names(names: str | Iterable[str] | None) -> tuple[str, ...]:
    """Names that stand in a list, or between commas in one text: a template gives text."""
    texts = names.split(",") if isinstance(names, str) else names or ()
    return tuple(filter(None, (str(text).strip() for text in texts)))


def is_true(value: Any) -> bool:
    """Whether a value means yes: a template gives the text 'True', 'False' or nothing."""
    return str(value).strip().lower() in ("true", "1", "yes") if isinstance(value, str) else bool(value)
