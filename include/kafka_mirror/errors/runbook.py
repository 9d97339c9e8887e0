"""The runbook: one section for each error, made from the classes, and one for each alert that is no error.

Those are alerts of `freshness`, and of Prometheus' rules (with `Mirror` in front). docs/operate/runbook.md is this text; a test holds it.
"""

from collections.abc import Mapping

from kafka_mirror.errors.base import CLASSES, Runbook
from kafka_mirror.errors.next_step import FLOW, MODULE, SCRIPT

ALERTS: Mapping[str, Runbook] = {
    "Behind": Runbook(
        "Copies run; records wait for longer than `mirror.deadline.lag.seconds`, or more of them than `mirror.deadline.lag.records`.",
        "No, records are only late.",
        "Look at the newest copy runs: whether they end at their budget (`mirror.run.max.seconds`, `mirror.run.max.bytes`) or at the "
        "throttle, and how busy machine and network are.",
        more="The first copy of a topic with old records lags too, by the age of those records.",
        retriable=True,
    ),
    "NotCopying": Runbook(
        "Nothing was written to the ledger for `mirror.deadline.copy.seconds`, and there is work.",
        "No, records are only late.",
        "Look whether the scheduler runs, whether `<flow>.copy` is paused or waits for a free slot of its pool, and at the log of "
        "its newest run.",
        retriable=True,
    ),
    "NothingMirrored": Runbook(
        "`topics` names something, and for `mirror.deadline.copy.seconds` no topic of the source has been taken by it.",
        "No, but nothing is mirrored.",
        "Compare `topics` and `topics.exclude` with the names of the source's topics, letter by letter. `plan` names the members that "
        "take nothing.",
    ),
    "NoProgress": Runbook(
        "The watermark of a partition has stood still for `mirror.deadline.progress.seconds`, and its source has records to copy.",
        "No, records are only late.",
        "Look at the log of the newest copy run: what it says of these partitions, and whether its budget is too small.",
        retriable=True,
    ),
    "PartitionsWaiting": Runbook(
        "What `freshness` calls `NoProgress`, as Prometheus sees it.",
        "No, records are only late.",
        "Look at the log of the newest copy run, and whether `<flow>.refresh-topics` is paused.",
        retriable=True,
    ),
    "HeartbeatsStopped": Runbook(
        "The newest heartbeat of a path is older than `mirror.deadline.heartbeats.seconds`, while records come.",
        "No.",
        "Look whether the pair where the path begins still beats: the newest run of its heartbeats DAG.",
        retriable=True,
    ),
    "AuditMismatch": Runbook(
        "An audit found records that differ or are missing.",
        "Perhaps. The audit names topic, partition and offsets.",
        "Look at the audit's log, and run `audit` again for the same topic.",
    ),
    "DeadlineMissed": Runbook(
        "A run of one of the flow's DAGs did not end within `mirror.deadline.run.seconds`.",
        "No, records are only late.",
        "Look at the run: whether its tasks wait for a slot or a pool, or hang.",
        retriable=True,
    ),
    "CheckFailed": Runbook(
        "`freshness` itself failed or took too long, so Airflow does not know how the flow stands.",
        "No.",
        "Look at the log of the newest run of `<flow>.freshness`.",
        retriable=True,
    ),
    "MetricsMissing": Runbook(
        "Prometheus gets no metrics, so it knows of no flow.",
        "No.",
        "Look whether Airflow's api-server runs, and at the scrape of `/mirror/metrics`: 401 and 403 say what is wrong with the token.",
    ),
    "ConfigurationErrors": Runbook(
        "A configuration file cannot be read. The DAGs of its flows are gone, and `freshness` with them: nothing else tells anybody.",
        "No, records are only late.",
        "Correct what the log of the DAG `mirror.configuration` names.",
    ),
    "FlowVanished": Runbook(
        "A flow had metrics within the last day, and has none now, though all files can be read.",
        "No, records are only late.",
        "If somebody took the flow out of the configuration on purpose, silence the alert for a day. Otherwise put it back.",
    ),
    "SnapshotOld": Runbook(
        "The mirror could compare both clusters before, and has not been able to for `mirror.deadline.unreachable.seconds`.",
        "No, records are only late.",
        "Look at the brokers of both clusters and the network between. The status page says which cluster does not answer.",
        retriable=True,
    ),
    "NotComparable": Runbook(
        "The mirror has not been able to compare both clusters since the api-server started, or the flow's configuration is invalid.",
        "No, records are only late.",
        "Look at the flow's error on the status page; `mirror_problems` has its code.",
    ),
    "GroupsWithoutPosition": Runbook(
        "A consumer group has no position on the target in some partitions, so it could not fail over there.",
        "No.",
        "`translate --group GROUP` says why.",
    ),
}
"""By the alert's kind."""

CHAPTERS: Mapping[str, str] = {
    "configuration": "Configuration, command line and alerts",
    "kafka": "Talking to a cluster",
    "source": "The source",
    "target": "The target",
    "lane": "Single records and lanes",
    "spark": "A Spark that stays",
    "ledger": "The ledger and the decisions",
    "side_jobs": "Backfill, audit and schema registries",
    "migration": "MirrorMaker 2",
    "wave": "Waves of a cutover, and failovers",
    "wave_topics": "Waves: topics and their copy",
    "wave_fence": "Waves: who writes, the fence, the audit and `open`",
    "wave_groups": "Waves: consumer groups",
    "base": "A mistake in the mirror",
}
"""The title of each chapter, by the module of this package that has its errors."""

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


def sections() -> dict[str, Runbook]:
    """Every section of the runbook: that of each error, and that of each alert that is no error."""
    return {code: error.runbook for code, error in CLASSES.items()} | dict(ALERTS)


def anchor(code: str) -> str | None:
    """Where the runbook tells of a code or a kind of alert, for the end of a link: `sourcegap`. None for what it does not know."""
    return code.lower() if code in CLASSES or code in ALERTS else None


def link(code: str) -> str:
    """The section of a code on the status page, below Airflow's address: `/mirror/runbook#sourcegap`. Empty if there is none."""
    heading = anchor(code)
    return f"{PATH}#{heading}" if heading else ""


def markdown() -> str:
    """The whole page: alerts first, for they call people at night, then errors."""
    parts = [_INTRODUCTION, "## Alerts\n", *(_write_section(kind, alert) for kind, alert in ALERTS.items())]
    for module, title in CHAPTERS.items():
        errors = [error for error in CLASSES.values() if error.__module__ == f"{__package__}.{module}"]
        parts += [f"## {title}\n", *(_write_section(error.__name__, error.runbook) for error in errors)]
    return "\n".join(parts)


def _write_section(code: str, runbook: Runbook) -> str:
    answers = [f"**Lost?** {runbook.lost}"] if runbook.lost != "No." else []
    answers += ["**Retried?** Yes."] if runbook.retriable else []
    lines = [f"### {code}", "", f"{runbook.means} {runbook.more}".rstrip(), ""]
    lines += [" ".join(answers), ""] if answers else []
    lines += [f"**Do:** {runbook.do}", ""]
    lines += ["```sh", runbook.decision.line(SCRIPT), "```", ""] if runbook.decision else []
    return "\n".join(lines)
