"""`copy`: plans, copies through a Spark job (or in this process), publishes, and judges by the ledger."""

import argparse
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from mirror.cli import plan as plan_command
from mirror.cli.answer import Answer, Piece, table
from mirror.cli.progress import progress
from mirror.config import Flow
from mirror.copy.batch_text import batches_text
from mirror.copy.job import watermarks_to_columns
from mirror.copy.ledger_progress import positions
from mirror.copy.model import LaneResult
from mirror.copy.publish import Published, publish
from mirror.copy.run_result import RunResult
from mirror.copy.verdict import Verdict, other_runs_text, verdict
from mirror.plan.model import Plan
from mirror.plan.run import plan
from mirror.status.formatting import duration
from mirror.sync.step import run_by_hand

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}
_SECONDS_WORTH_A_PLAN = 2.0
_LOOK_SECONDS = 2.0
"""How often the ledger is asked how far the copy is."""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """What the command takes beside the place where it copies."""
    command.add_argument(
        "--follow",
        metavar="SECONDS",
        type=_seconds,
        help="copy what is there and then what arrives, for so long in all (also 10m or 2h); Ctrl-C ends it sooner",
    )


def _seconds(text: str) -> float:
    match = re.fullmatch(r"(\d+)([smh]?)", text)
    if match is None or not int(match[1]):
        raise argparse.ArgumentTypeError(f"{text} is no time: say 90, 90s, 10m or 2h")
    return float(int(match[1]) * _UNITS[match[2]])


def run(flow: Flow, options: argparse.Namespace) -> Answer:
    """One run of the copy; with `--dry-run` what `plan` says."""
    if options.dry_run:
        return plan_command.run(flow, options)
    planned = plan(flow, by_person=True, follow_for=options.follow or 0.0)
    run_name = run_by_hand("copy")
    done = _follow(flow, options, planned, run_name) if options.follow else _copy_once(flow, options, planned, run_name)
    published = publish(flow, done.plan, done.results, run=run_name) if done.plan.has_work else Published()
    judged = verdict(done.plan, done.results, published)
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


def _copy_once(flow: Flow, options: argparse.Namespace, planned: Plan, run_name: str) -> RunResult:
    return RunResult(planned).copied(planned, copier(flow, options, run_name)(planned) if planned.has_work else ())


def _follow(flow: Flow, options: argparse.Namespace, planned: Plan, run_name: str) -> RunResult:
    """Copies and follows until the time is over. A decision ends the lanes of a plan, and the next plan goes by it."""
    until, done = time.monotonic() + options.follow, RunResult(planned)
    with _stopped_by_interrupt(in_threads=options.without_spark) as stop:
        copy = copier(flow, options, run_name, stop)
        while planned.has_work:
            done = done.copied(planned, copy(planned))
            seconds, read = until - time.monotonic(), (planned.control_end, planned.source_topics)
            if stop.is_set() or seconds < _SECONDS_WORTH_A_PLAN:
                break
            planned = plan(flow, by_person=True, follow_for=seconds)
            if (planned.control_end, planned.source_topics) == read:
                break
            done = done.planned(planned)
    return done


def copier(
    flow: Flow, options: argparse.Namespace, run_name: str, stop: threading.Event | None = None
) -> Callable[[Plan], list[LaneResult]]:
    """Returns the copy to use: a Spark job, or this process with `--without-spark`. `stop`: of a copy that follows, as
    `_stopped_by_interrupt` gives it."""

    def copy(planned: Plan) -> list[LaneResult]:
        """Copies what was planned, and shows how far it is."""
        offsets = sum(part.offsets for part in planned.ranges)
        reached, lasts = lambda: positions(flow, planned, run_name), planned.follow_for or None
        with progress(_begins(planned, offsets), offsets, reached, _LOOK_SECONDS, lasts):
            if options.without_spark:
                return _in_process(flow, planned, run_name, stop)
            return _with_spark(flow, planned, options, run_name, stop)

    return copy


@contextmanager
def _stopped_by_interrupt(in_threads: bool) -> Iterator[threading.Event]:
    """An event that Ctrl-C sets. Lanes `in_threads` of this process end by it after their open transactions, and a second Ctrl-C
    interrupts them; a Spark job is ended by the first."""
    stop = threading.Event()
    if not in_threads or threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def on_interrupt(_number: int, _frame: Any) -> None:
        signal.signal(signal.SIGINT, before)
        stop.set()

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


def _begins(planned: Plan, offsets: int) -> str:
    if planned.follow_for:
        return f"{planned.flow}: copying and following {len(planned.ranges):,} partitions for {duration(planned.follow_for)}."
    history = " of history" if planned.into else ""
    return f"{planned.flow}: copying up to {offsets:,} records{history} of {len(planned.ranges):,} partitions."


def _in_process(flow: Flow, planned: Plan, run_name: str, stop: threading.Event | None) -> list[LaneResult]:
    from mirror.copy.run import copy_in_process

    return copy_in_process(flow, planned, run_name, stop=stop)


def _with_spark(flow: Flow, planned: Plan, options: argparse.Namespace, run_name: str, stop: threading.Event | None) -> list[LaneResult]:
    """Copies with Spark. Ctrl-C ends a Spark job at once; of one that follows the ledger says what it copied."""
    try:
        return _on_spark(flow, planned, options, run_name)
    except KeyboardInterrupt:
        if stop is None:
            raise
        stop.set()
        return []


def _on_spark(flow: Flow, planned: Plan, options: argparse.Namespace, run_name: str) -> list[LaneResult]:
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
