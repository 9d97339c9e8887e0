"""All DAGs of the mirror, for a DAG file of two lines: `from kafka_mirror.airflow.dags import mirror_dags`,
`globals().update(mirror_dags())`.

A file for each kind of DAG that does more than a step, and `steps` for all others; `factory` makes the DAGs of the flows from them.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from airflow.sdk import DAG, get_parsing_context

from kafka_mirror.airflow.compat import require_airflow
from kafka_mirror.airflow.dags.factory import FlowDag, alarm
from kafka_mirror.airflow.flow_files import set_files
from kafka_mirror.config import Configuration, Flow, InvalidFlow, load
from kafka_mirror.config.flow import airflow_id
from kafka_mirror.config.load import paths_of
from kafka_mirror.config.unknown_keys import nearest
from kafka_mirror.errors import ConfigurationError, Problem, UsageError

ALARM = "configuration"
_LONGEST_NAME = 200
"""Of 250 characters that Airflow allows for an id."""
OF_EACH_FLOW = (
    *("copy", "backfill", "audit", "freshness", "heartbeats", "refresh-topics", "topic-configs", "topic-acls"),
    *("refresh-groups", "checkpoints", "group-offsets", "schemas", "cutover"),
)
KINDS = (*OF_EACH_FLOW, ALARM)
"""What `mirror_dags(kinds=…)` takes: `<flow>.<kind>`, and `mirror.configuration`."""


def mirror_dags(*, config: str = "", flows: str | Iterable[str] = (), kinds: str | Iterable[str] = ()) -> dict[str, DAG]:
    """The DAGs by their ids, for the globals of a DAG file: of all flows of the configuration, and of all kinds.

    `config` names the files in the place of MIRROR_CONFIG, separated by commas: those of the team whose DAG file it is.
    `flows` chooses flows ('east->west'), `kinds` the kinds of DAGs (`KINDS`): one name or several. A flow that is chosen and not configured
    is one more reason for the DAG `mirror.configuration`, as everything else that is wrong with the configuration. Raises UsageError
    for an unknown kind, and in an Airflow that is too old.

    Where Airflow parses the file to run a task, only the DAG of this task is made, and only its kind imported: each task pays for it.
    """
    require_airflow()
    chosen, given = ((names,) if isinstance(names, str) else tuple(names) for names in (flows, kinds))
    wanted, only, files = _check_kinds(given), get_parsing_context().dag_id, paths_of(config)
    alarm_id = alarm_of(files)
    if only is not None:
        wanted = (ALARM,) if only == alarm_id else tuple(kind for kind in wanted if only.endswith(f".{kind}"))
    dags: list[DAG | None] = []
    try:
        configuration = load(files or None)
    except ConfigurationError as error:
        wrong = [error]
    else:
        set_files(configuration.all_names, [str(file) for file in files])
        for kind in (_kind(name) for name in OF_EACH_FLOW if name in wanted):
            having = kind.flows(configuration)
            every: list[Flow | InvalidFlow] = [*having.flows, *having.invalid]
            those = (flow for flow in every if (not chosen or flow.name in chosen) and only in (None, flow.dag_id(kind.what)))
            dags += [kind.make_dag(flow) for flow in those]
        errors = (invalid.error for invalid in (*configuration.invalid, *configuration.invalid_beating))
        wrong = [*configuration.unreadable, *errors, *_unknown(configuration, chosen)]
    if wrong and ALARM in wanted:
        dags.append(alarm(alarm_id, wrong))
    return {dag.dag_id: dag for dag in dags if dag}


def alarm_of(files: Sequence[Path]) -> str:
    """The id of the DAG that says what is wrong with a configuration: a DAG file that names its files has one of its own."""
    named = "_".join(str(file).strip("/") for file in files)
    return f"mirror.{ALARM}" + (f".{airflow_id(named)[-_LONGEST_NAME:]}" if named else "")


def _kind(name: str) -> FlowDag:
    """The kind of DAG of this name. Only its own file is imported."""
    match name:
        case "copy":
            from kafka_mirror.airflow.dags.copy import KIND
        case "backfill":
            from kafka_mirror.airflow.dags.backfill import KIND
        case "audit":
            from kafka_mirror.airflow.dags.audit import KIND
        case "freshness":
            from kafka_mirror.airflow.dags.freshness import KIND
        case "cutover":
            from kafka_mirror.airflow.dags.cutover import KIND
        case _:
            from kafka_mirror.airflow.dags.steps import STEPS

            return STEPS[name]
    return KIND


def _check_kinds(wanted: tuple[str, ...]) -> tuple[str, ...]:
    """The kinds that are wanted; all without any. Raises UsageError for an unknown one."""
    for kind in wanted:
        if kind not in KINDS:
            near = nearest(kind, KINDS)
            hint = f"Did you mean '{near}'? " if near else ""
            raise UsageError(f"mirror_dags: there is no kind of DAG '{kind}'.", next=f"{hint}The kinds are: {', '.join(KINDS)}.")
    return wanted or KINDS


def _unknown(configuration: Configuration, chosen: Sequence[str]) -> list[ConfigurationError]:
    """An error of each flow that was chosen and is nowhere. While a file cannot be read it may stand there, which is an error already."""
    names = [pair.name for pair in configuration.all_names]
    if configuration.unreadable:
        return []
    message = f"no flow of this name is enabled; there are: {', '.join(names) or 'none'}"
    return [ConfigurationError([Problem("mirror_dags(flows=…)", message, name)]) for name in chosen if name not in names]
