"""The runbook: one section for each error, made from the classes, and one for each alert that is no error.

Those are alerts of `freshness`, and of Prometheus' rules (with `Mirror` in front). docs/operate/runbook.md is this text; a test holds it.
"""

from collections.abc import Iterator, Mapping
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
from kafka_mirror.errors.base import MirrorError, Runbook
from kafka_mirror.errors.next_step import FLOW, MODULE, SCRIPT

ALERTS: Mapping[str, tuple[Runbook, bool]] = {
    "Behind": (
        Runbook(
            "Copies run; records wait for longer than `mirror.deadline.lag.seconds`, or more of them than `mirror.deadline.lag.records`.",
            "No, records are only late.",
            "Look at the newest copy runs: whether they end at their budget (`mirror.run.max.seconds`, `mirror.run.max.bytes`) or at the "
            "throttle, and how busy machine and network are.",
            more="The first copy of a topic with old records lags too, by the age of those records.",
        ),
        True,
    ),
    "NotCopying": (
        Runbook(
            "Nothing was written to the ledger for `mirror.deadline.copy.seconds`, and there is work.",
            "No, records are only late.",
            "Look whether the scheduler runs, whether `<flow>.copy` is paused or waits for a free slot of its pool, and at the log of "
            "its newest run.",
        ),
        True,
    ),
    "NothingMirrored": (
        Runbook(
            "`topics` names something, and for `mirror.deadline.copy.seconds` no topic of the source has been taken by it.",
            "No, but nothing is mirrored.",
            "Compare `topics` and `topics.exclude` with the names of the source's topics, letter by letter. `plan` names the members that "
            "take nothing.",
        ),
        False,
    ),
    "NoProgress": (
        Runbook(
            "The watermark of a partition has stood still for `mirror.deadline.progress.seconds`, and its source has records to copy.",
            "No, records are only late.",
            "Look at the log of the newest copy run: what it says of these partitions, and whether its budget is too small.",
        ),
        True,
    ),
    "PartitionsWaiting": (
        Runbook(
            "What `freshness` calls `NoProgress`, as Prometheus sees it.",
            "No, records are only late.",
            "Look at the log of the newest copy run, and whether `<flow>.refresh-topics` is paused.",
        ),
        True,
    ),
    "HeartbeatsStopped": (
        Runbook(
            "The newest heartbeat of a path is older than `mirror.deadline.heartbeats.seconds`, while records come.",
            "No.",
            "Look whether the pair where the path begins still beats: the newest run of its heartbeats DAG.",
        ),
        True,
    ),
    "AuditMismatch": (
        Runbook(
            "An audit found records that differ or are missing.",
            "Perhaps. The audit names topic, partition and offsets.",
            "Look at the audit's log, and run `audit` again for the same topic.",
        ),
        False,
    ),
    "DeadlineMissed": (
        Runbook(
            "A run of one of the flow's DAGs did not end within `mirror.deadline.run.seconds`.",
            "No, records are only late.",
            "Look at the run: whether its tasks wait for a slot or a pool, or hang.",
        ),
        True,
    ),
    "CheckFailed": (
        Runbook(
            "`freshness` itself failed or took too long, so Airflow does not know how the flow stands.",
            "No.",
            "Look at the log of the newest run of `<flow>.freshness`.",
        ),
        True,
    ),
    "MetricsMissing": (
        Runbook(
            "Prometheus gets no metrics, so it knows of no flow.",
            "No.",
            "Look whether Airflow's api-server runs, and at the scrape of `/mirror/metrics`: 401 and 403 say what is wrong with the token.",
        ),
        False,
    ),
    "ConfigurationErrors": (
        Runbook(
            "A configuration file cannot be read. The DAGs of its flows are gone, and `freshness` with them: nothing else tells anybody.",
            "No, records are only late.",
            "Correct what the log of the DAG `mirror.configuration` names.",
        ),
        False,
    ),
    "FlowVanished": (
        Runbook(
            "A flow had metrics within the last day, and has none now, though all files can be read.",
            "No, records are only late.",
            "If somebody took the flow out of the configuration on purpose, silence the alert for a day. Otherwise put it back.",
        ),
        False,
    ),
    "SnapshotOld": (
        Runbook(
            "The mirror could compare both clusters before, and has not been able to for `mirror.deadline.unreachable.seconds`.",
            "No, records are only late.",
            "Look at the brokers of both clusters and the network between. The status page says which cluster does not answer.",
        ),
        True,
    ),
    "NotComparable": (
        Runbook(
            "The mirror has not been able to compare both clusters since the api-server started, or the flow's configuration is invalid.",
            "No, records are only late.",
            "Look at the flow's error on the status page; `mirror_problems` has its code.",
        ),
        False,
    ),
    "GroupsWithoutPosition": (
        Runbook(
            "A consumer group has no position on the target in some partitions, so it could not fail over there.",
            "No.",
            "`translate --group GROUP` says why.",
        ),
        False,
    ),
}
"""By the alert's kind: the entry, and whether it usually ends by itself."""


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

One section for each alert and each error. Its heading is the `kind` of the alert, and the code in messages, in `--json`, on the status page
and in the metric `mirror_problems`. **Lost?** says whether records are lost, **Retried?** whether Airflow and the next run retry it. What
a section does not say is *no*.

Read the log of the task `copy` first. Every error names topic-partition@offset where there is one. What was committed before an error
stays committed, and is never copied twice.

Commands begin with `{SCRIPT}`; in a checkout, with `{MODULE}`. Put the names of your flow, topic and cluster alias for `{FLOW}`, `TOPIC`
and `ALIAS`; add `--partition N` to decide about one partition alone.
"""


@cache
def classes() -> dict[str, type[MirrorError]]:
    """Every error that may be reported, by its code. An error of another process has the code that it was raised with."""
    return {error.__name__: error for _, module in CHAPTERS for error in _list_errors(module)}


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
    """The whole page: alerts first, for they call people at night, then errors."""
    parts = [_INTRODUCTION, "## Alerts\n", *(_section(kind, *entry) for kind, entry in ALERTS.items())]
    for title, module in CHAPTERS:
        parts.append(f"## {title}\n")
        parts += [_section(error.__name__, error.runbook, error.retriable) for error in _list_errors(module)]
    parts += ["## A mistake in the mirror\n", _section(unknown_failure.UNEXPECTED, unknown_failure.RUNBOOK, retriable=False)]
    return "\n".join(parts)


def _list_errors(module: ModuleType) -> Iterator[type[MirrorError]]:
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
    ]
    answers = [f"**Lost?** {runbook.lost}"] if runbook.lost != "No." else []
    answers += ["**Retried?** Yes."] if retriable else []
    lines += [" ".join(answers), ""] if answers else []
    lines += [f"**Do:** {runbook.do}", ""]
    for decision in runbook.decisions:
        lines += ["```sh", decision.line(SCRIPT), "```", ""]
    return "\n".join(lines)
