"""The runbook: one section for each error, made from the classes, and one for each alert that is no error.

docs/operate/runbook.md is this text, and a test holds it.
"""

from collections.abc import Iterator
from functools import cache
from types import ModuleType

from kafka_mirror.errors import (
    audit,
    backfill,
    configuration,
    failover,
    kafka,
    lane,
    ledger,
    migration,
    schemas,
    source,
    spark,
    target,
    unknown_failure,
    wave,
    wave_fence,
    wave_groups,
    wave_topics,
)
from kafka_mirror.errors.alert_kinds import ALERTS
from kafka_mirror.errors.base import MirrorError, Runbook
from kafka_mirror.errors.next_step import FLOW, MODULE, SCRIPT

CHAPTERS: tuple[tuple[str, ModuleType], ...] = (
    ("Configuration, command line and alerts", configuration),
    ("Talking to a cluster", kafka),
    ("The source", source),
    ("The target", target),
    ("Single records and lanes", lane),
    ("A Spark that stays", spark),
    ("The ledger and the decisions", ledger),
    ("Backfill", backfill),
    ("Audit", audit),
    ("Schema registries", schemas),
    ("MirrorMaker 2", migration),
    ("Waves of a cutover", wave),
    ("Waves: topics and their copy", wave_topics),
    ("Waves: who writes, the fence, the audit and `open`", wave_fence),
    ("Waves: consumer groups", wave_groups),
    ("Failover", failover),
)
"""The titles of the groups, and the module that has the errors of each."""

PATH = "/mirror/runbook"
"""Where the status page has it, below Airflow's address."""

_INTRODUCTION = f"""# Runbook

<!-- Made from the classes in include/kafka_mirror/errors by tools/write_runbook.py. -->

One section for each alert and each error: what it means, whether anything is lost, whether Airflow and the next run retry it, what to do.
Its heading is the `kind` of the alert, and the code in messages, in `--json`, on the status page and in the metric `mirror_problems`.

Read the log of the task `verdict` first. Every error names topic-partition@offset where there is one. What was committed before an error
stays committed, and is never copied twice.

Commands begin with `{SCRIPT}`; in a checkout, with `{MODULE}`. Put the names of your flow, topic and cluster alias for `{FLOW}`, `TOPIC`
and `ALIAS`; add `--partition N` to decide about one partition alone.
"""


@cache
def classes() -> dict[str, type[MirrorError]]:
    """Every error that may be reported, by its code. An error of another process has the code that it was raised with."""
    return {error.__name__: error for _, module in CHAPTERS for error in _of(module)}


@cache
def entries() -> dict[str, tuple[Runbook, bool]]:
    """What the runbook says of each code, and whether what fails so is tried again by itself."""
    of_classes = {code: (error.runbook, error.retriable) for code, error in classes().items()}
    return of_classes | {unknown_failure.UNEXPECTED: (unknown_failure.RUNBOOK, False)}


@cache
def sections() -> dict[str, tuple[Runbook, bool]]:
    """Every section of the runbook: that of each error, and that of each alert that is no error."""
    return entries() | dict(ALERTS)


def anchor(code: str) -> str | None:
    """Where the runbook tells of a code or a kind of alert, for the end of a link: `sourcegap`. None for what it does not know."""
    return code.lower() if code in sections() else None


def link(code: str) -> str:
    """The section of a code on the status page, below Airflow's address: `/mirror/runbook#sourcegap`. Empty if there is none."""
    heading = anchor(code)
    return f"{PATH}#{heading}" if heading else ""


def markdown() -> str:
    """The whole page: alerts first, as whoever is called at night has one, then errors."""
    parts = [_INTRODUCTION, "## Alerts\n", *(_section(kind, *entry) for kind, entry in ALERTS.items())]
    for title, module in CHAPTERS:
        parts.append(f"## {title}\n")
        parts += [_section(error.__name__, error.runbook, error.retriable) for error in _of(module)]
    parts += ["## A mistake in the mirror\n", _section(unknown_failure.UNEXPECTED, unknown_failure.RUNBOOK, retriable=False)]
    return "\n".join(parts)


def _of(module: ModuleType) -> Iterator[type[MirrorError]]:
    """The errors that a module defines, in its order."""
    for error in vars(module).values():
        if isinstance(error, type) and issubclass(error, MirrorError) and error.__module__ == module.__name__ and hasattr(error, "runbook"):
            yield error


def _section(code: str, runbook: Runbook, retriable: bool) -> str:
    lines = [
        f"### {code}",
        "",
        f"{runbook.means} {runbook.more}".rstrip(),
        "",
        f"**Lost?** {runbook.lost} **Retried?** {'Yes' if retriable else 'No'}.",
        "",
        f"**Do:** {runbook.do}",
        "",
    ]
    for decision in runbook.decisions:
        lines += ["```sh", decision.line(SCRIPT), "```", ""]
    return "\n".join(lines)
