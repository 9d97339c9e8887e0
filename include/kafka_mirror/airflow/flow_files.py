"""The files that flows are configured in, where a DAG file names them (`mirror_dags(config=…)`) in the place of MIRROR_CONFIG.

A process of Airflow's that runs a task reads the task's DAG file first, and so has them here. One that reads no DAG file (a triggerer, the
callback of a deadline) gets them in its arguments.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from kafka_mirror.config import Configuration, Flow, load
from kafka_mirror.config.flow import FlowName
from kafka_mirror.errors import UsageError

_files: dict[str, tuple[str, ...]] = {}


def flow_name(text: str) -> FlowName:
    """A flow's name as somebody wrote it in a DAG file. Raises UsageError."""
    source, _, target = (part.strip() for part in text.partition("->"))
    if not source or not target:
        raise UsageError(f"'{text}' names no flow.", next="Write the flow as mm2.properties has it: flow='east->west'.")
    return FlowName(source, target)


def set_files(flows: Iterable[FlowName], files: Sequence[str]) -> None:
    """From now on these flows are read from these files; without any from those of MIRROR_CONFIG."""
    for flow in flows:
        _files[flow.name] = tuple(files)


def files_of(name: str) -> tuple[str, ...]:
    """The files that the flow's DAG file names; () if it names none, and those of MIRROR_CONFIG count."""
    return _files.get(name, ())


def configuration_of(name: str) -> Configuration:
    """The configuration that a flow is of, as its files have it now. Raises as `load`."""
    return configuration_in(files_of(name))


def configuration_in(files: Sequence[str]) -> Configuration:
    """The configuration in these files, without any in those of MIRROR_CONFIG. Raises as `load`."""
    return load([Path(file) for file in files] or None)


def configured_flow(name: str) -> Flow:
    """A flow as its files have it now. Raises as `load` and `Configuration.flow`."""
    return configuration_of(name).flow(name)
