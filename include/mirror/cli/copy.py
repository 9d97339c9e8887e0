"""`copy`: plans, copies through a Spark job (or in this process), publishes, and judges by the ledger."""

import argparse
from collections.abc import Callable
from dataclasses import asdict

from mirror.cli import plan as plan_command
from mirror.cli.answer import Answer, Piece, table
from mirror.cli.progress import progress
from mirror.config import Flow
from mirror.copy.batch_text import batches_text
from mirror.copy.job import watermarks_to_columns
from mirror.copy.ledger_progress import positions
from mirror.copy.model import LaneResult
from mirror.copy.publish import Published, publish
from mirror.copy.verdict import Verdict, other_runs_text, verdict
from mirror.plan.model import Plan
from mirror.plan.run import plan
from mirror.sync.step import run_by_hand

_LOOK_SECONDS = 2.0
"""How often the ledger is asked how far the copy is."""


def run(flow: Flow, options: argparse.Namespace) -> Answer:
    """One run of the copy; with `--dry-run` what `plan` says."""
    if options.dry_run:
        return plan_command.run(flow, options)
    planned = plan(flow, by_person=True)
    run_name = run_by_hand("copy")
    results = copier(flow, options, run_name)(planned) if planned.has_work else []
    published = publish(flow, planned, results, run=run_name) if planned.has_work else Published()
    judged = verdict(planned, results, published)
    result = {
        "records": judged.records,
        "bytes": judged.bytes,
        "owed": judged.owed,
        "watermarks": watermarks_to_columns(published.watermarks),
        "offset_syncs": published.syncs.pairs,
        "notices": list(judged.notices),
        "batches": [asdict(share) for share in judged.batches],
        "rewritten": [asdict(why) for why in judged.rewritten],
    }
    return Answer(judged.state, result, judged.errors, _text(judged, published))


def copier(flow: Flow, options: argparse.Namespace, run_name: str) -> Callable[[Plan], list[LaneResult]]:
    """Returns the copy to use: a Spark job, or this process with `--without-spark`."""

    def copy(planned: Plan) -> list[LaneResult]:
        offsets = sum(part.offsets for part in planned.ranges)
        with progress(_begins(planned, offsets), offsets, lambda: positions(flow, planned, run_name), _LOOK_SECONDS):
            return _in_process(flow, planned, run_name) if options.without_spark else _with_spark(flow, planned, options, run_name)

    return copy


def _begins(planned: Plan, offsets: int) -> str:
    history = " of history" if planned.into else ""
    return f"{planned.flow}: copying up to {offsets:,} records{history} of {len(planned.ranges):,} partitions."


def _in_process(flow: Flow, planned: Plan, run_name: str) -> list[LaneResult]:
    from mirror.copy.run import copy_in_process

    return copy_in_process(flow, planned, run_name)


def _with_spark(flow: Flow, planned: Plan, options: argparse.Namespace, run_name: str) -> list[LaneResult]:
    from mirror.copy.job import copy_with_spark
    from mirror.spark.connect_url import is_connect
    from mirror.spark.start import master_by_hand

    master = master_by_hand(options.master, flow.value("mirror.spark.connection"))
    if is_connect(master):
        from mirror.copy.connect import copy_in_session, copy_session

        with copy_session(flow, planned, master) as session:
            return copy_in_session(session, flow, planned, run_name)
    return copy_with_spark(flow, planned, run_name, master)


def _text(judged: Verdict, published: Published) -> list[Piece]:
    rows = sorted((m.topic, m.partition, m.source_offset, m.target_offset, m.records) for m in published.watermarks if m.records)
    owed = f"; {judged.owed} offsets are left for the next run" if judged.owed else ""
    copied = table(("topic", "partition", "watermark", "target", "records"), rows)
    summary = f"{judged.records} records ({judged.bytes} bytes) copied{owed}"
    ways = batches_text(judged.batches, judged.rewritten)
    return [*copied, *judged.notices, *other_runs_text(judged.copied_elsewhere), *ways, summary]
