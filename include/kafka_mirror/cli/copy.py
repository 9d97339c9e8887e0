"""`copy` and `plan`: plans, copies through a Spark job (or in this process), publishes, and judges by the ledger."""

import argparse
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from kafka_mirror.cli.answer import DONE, FAILED, NOTHING_TO_DO, Answer, Piece, table
from kafka_mirror.cli.terminal import progress
from kafka_mirror.config import Flow
from kafka_mirror.copy.follow import Following
from kafka_mirror.copy.model import LaneResult, batches_text
from kafka_mirror.copy.plan.model import Plan
from kafka_mirror.copy.plan.model import to_columns as plan_columns
from kafka_mirror.copy.plan.run import plan, plan_context
from kafka_mirror.copy.publish import positions
from kafka_mirror.copy.run import copy_in_process, copy_with_spark, follow_with_spark
from kafka_mirror.copy.run_result import RunResult, Verdict, copy_once, describe_other_runs, publish_and_judge, to_columns
from kafka_mirror.errors.words import duration
from kafka_mirror.groups.job import checkpoints_meanwhile
from kafka_mirror.ledger.step import run_by_hand
from kafka_mirror.spark.run import runner_by_hand

_LOOK_SECONDS = 2.0
"""How often the ledger is asked how far the copy is."""
_RESULT = ("records", "bytes", "owed", "watermarks", "offset_syncs", "notices", "batches", "rewritten")
"""What of the verdict is the result of the command."""


def run(flow: Flow, options: argparse.Namespace) -> Answer:
    """One run of the copy; as `plan`, and with `--dry-run`, what it would do."""
    if options.command == "plan" or options.dry_run:
        return show_plan(flow, options)
    planned = plan(flow, by_person=True, follow_for=options.follow or 0.0)
    run_name = run_by_hand("copy")
    done = _follow(flow, options, planned, run_name) if options.follow else copy_once(flow, planned, copier(flow, options, run_name))
    judged = publish_and_judge(flow, done, run_name)
    document = to_columns(judged)
    return Answer(judged.state, {name: document[name] for name in _RESULT}, judged.errors, _text(judged))


def _follow(flow: Flow, options: argparse.Namespace, planned: Plan, run_name: str) -> RunResult:
    """Copies and follows until the time is over: by a Spark job, or in this process."""
    due = time.monotonic() + options.follow
    with checkpoints_meanwhile(flow, due):
        if options.without_spark:
            return _follow_here(flow, planned, run_name, due)
        runner = runner_by_hand(flow, options.master)
        try:
            with _progress(flow, planned, run_name):
                return follow_with_spark(runner, flow, planned, run_name, due)
        except KeyboardInterrupt:  # it ends the job at once, and the ledger says what that copied
            return RunResult(planned) if runner.interim_answer is None else replace(runner.interim_answer, failure=None)


def _follow_here(flow: Flow, planned: Plan, run_name: str, due: float) -> RunResult:
    """In this process. Ctrl-C ends the lanes after their open transactions."""
    with _stop_by_interrupt() as stop:

        def copy(now: Flow, newest: Plan, max_bytes: int) -> Sequence[LaneResult]:
            """Copies by one plan, and shows how far it is."""
            with _progress(now, newest, run_name):
                return copy_in_process(now, newest, run_name, max_bytes, stop)

        following = Following(flow, RunResult(planned), run_name, due, lambda seconds: not stop.wait(seconds), plan=planned)
        return following.run(copy)


def show_plan(flow: Flow, options: argparse.Namespace) -> Answer:
    """Plans without writing anything: the next copy by the schedule, or for `copy --dry-run` the one that a person would start."""
    context = plan_context(flow, dry_run=True, by_person=options.command == "copy")
    planned = context.plan
    rows = [(part.topic, part.partition, part.start, part.end, part.reason) for part in planned.ranges]
    lines = table(("topic", "partition", "start", "end", "reason"), rows) or ["Nothing to copy."]
    is_idle = context.idle is not None and context.idle.is_whole_list
    state = FAILED if planned.errors else NOTHING_TO_DO if is_idle else DONE
    return Answer(state, plan_columns(planned), planned.errors, [*lines, *planned.notices])


def copier(flow: Flow, options: argparse.Namespace, run_name: str) -> Callable[[Plan], list[LaneResult]]:
    """Returns the copy to use: a Spark job, or this process with `--without-spark`."""

    def copy(planned: Plan) -> list[LaneResult]:
        """Copies what was planned, and shows how far it is."""
        with _progress(flow, planned, run_name):
            if options.without_spark:
                return copy_in_process(flow, planned, run_name)
            return copy_with_spark(runner_by_hand(flow, options.master), flow, planned, run_name)

    return copy


@contextmanager
def _stop_by_interrupt() -> Iterator[threading.Event]:
    """An event that Ctrl-C sets. Lanes of this process end by it after their open transactions, and a second Ctrl-C interrupts them."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def handle_interrupt(_number: int, _frame: Any) -> None:
        signal.signal(signal.SIGINT, before)
        stop.set()

    before = signal.signal(signal.SIGINT, handle_interrupt)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


def _progress(flow: Flow, planned: Plan, run_name: str) -> AbstractContextManager[None]:
    """Shows how far the copy by a plan is."""
    offsets = sum(part.offsets for part in planned.ranges)
    history = " of history" if planned.into else ""
    begins = f"copying up to {offsets:,} records{history} of {len(planned.ranges):,} partitions."
    if planned.follow_for:
        begins = f"copying and following {len(planned.ranges):,} partitions for {duration(planned.follow_for)}."
    done = partial(positions, flow, planned, run_name)
    return progress(f"{planned.flow}: {begins}", offsets, done, _LOOK_SECONDS, planned.follow_for or None)


def _text(judged: Verdict) -> list[Piece]:
    rows = sorted((m.topic, m.partition, m.source_offset, m.target_offset, m.records) for m in judged.watermarks if m.records)
    owed = f"; {judged.owed} offsets are left for the next run" if judged.owed else ""
    copied = table(("topic", "partition", "watermark", "target", "records"), rows)
    summary = f"{judged.records} records ({judged.bytes} bytes) copied{owed}"
    ways = batches_text(judged.batches, judged.rewritten)
    return [*copied, *judged.notices, *describe_other_runs(judged.copied_elsewhere), *ways, summary]
