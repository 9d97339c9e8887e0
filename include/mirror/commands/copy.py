"""`copy`: plans, copies through a Spark job (or in this process), publishes, and judges by the ledger."""

import argparse
from collections.abc import Callable
from datetime import UTC, datetime

from mirror.commands import plan as plan_command
from mirror.commands.answer import Answer, table
from mirror.config import Flow
from mirror.config.connections import handed_over
from mirror.copy.model import LaneResult
from mirror.copy.results import watermarks_to_columns
from mirror.plan.model import Plan
from mirror.plan.run import plan
from mirror.report.publish import Published, publish
from mirror.report.verdict import Verdict, others_told, verdict


def run(flow: Flow, options: argparse.Namespace) -> Answer:
    """One run of the copy; with `--dry-run` what `plan` says."""
    if options.dry_run:
        return plan_command.run(flow, options)
    planned = plan(flow, by_person=True)
    run_name = by_hand("copy")
    results = copying(flow, options, run_name)(planned) if planned.has_work else []
    published = publish(flow, planned, results, run=run_name) if planned.has_work else Published()
    judged = verdict(planned, results, published)
    result = {
        "records": judged.records,
        "bytes": judged.bytes,
        "owed": judged.owed,
        "watermarks": watermarks_to_columns(published.watermarks),
        "offset_syncs": published.syncs.pairs,
        "notices": list(judged.notices),
    }
    return Answer(judged.state, result, judged.errors, _text(judged, published))


def by_hand(command: str) -> str:
    """The name of a run by hand in the ledger: which command, and since when."""
    return f"{command} by hand / {datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"


def copying(flow: Flow, options: argparse.Namespace, run_name: str) -> Callable[[Plan], list[LaneResult]]:
    """What copies a plan: a Spark job, or this process with `--without-spark`."""
    if options.without_spark:
        from mirror.copy.run import copy_in_process

        return lambda planned: copy_in_process(flow, planned, run_name)
    return lambda planned: _with_spark(flow, planned, options, run_name)


def _with_spark(flow: Flow, planned: Plan, options: argparse.Namespace, run_name: str) -> list[LaneResult]:
    from mirror.copy.spark_start import LOCAL_MASTER, master_of
    from mirror.copy.spark_submit import copy_with_spark

    connection = flow.value("mirror.spark.connection")
    return copy_with_spark(
        planned,
        run=run_name,
        master=options.master or (master_of(connection) if connection else LOCAL_MASTER),
        properties=flow.value("mirror.spark.properties.file"),
        config=options.config or "",
        connections=handed_over(flow),
    )


def _text(judged: Verdict, published: Published) -> str:
    rows = [(m.topic, m.partition, m.source_offset, m.target_offset, m.records) for m in published.watermarks if m.records]
    lines = table(("topic", "partition", "watermark", "target", "records"), rows)
    owed = f"; {judged.owed} offsets are left for the next run" if judged.owed else ""
    return "\n".join(
        [*lines, *judged.notices, *others_told(judged.copied_elsewhere), f"{judged.records} records ({judged.bytes} bytes) copied{owed}"]
    )
