"""The commands that run one step: `refresh-topics`, `checkpoints` and their like."""

import argparse

from kafka_mirror.cli.answer import DONE, FAILED, NOTHING_TO_DO, Answer
from kafka_mirror.config import Flow
from kafka_mirror.ledger.step import StepResult
from kafka_mirror.status.steps import run_step


def run(flow: Flow, options: argparse.Namespace) -> Answer:
    """Runs the step that is named as the command; with `--dry-run` it writes nothing."""
    return _answer(run_step(options.command, flow, getattr(options, "dry_run", False)))


def run_groups(flow: Flow, options: argparse.Namespace) -> Answer:
    """Runs a step that works group by group; with `--master` on that Spark cluster, however few groups there are. With `--undo` it takes
    back what a run of it did."""
    if getattr(options, "undo", None):
        from kafka_mirror.groups.undo import undo_step

        return _answer(undo_step(flow, options.undo, options.dry_run))
    if not options.master:
        return run(flow, options)
    from kafka_mirror.groups.job import group_step_on_master

    return _answer(group_step_on_master(options.command, flow, options.dry_run, options.master))


def _answer(done: StepResult) -> Answer:
    state = FAILED if done.errors else NOTHING_TO_DO if done.is_idle else DONE
    return Answer(state, done.result, done.errors, "\n".join(done.lines))
