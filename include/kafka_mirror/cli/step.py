"""The commands that end with a `StepResult`: the steps beside the copy, such as `refresh-topics` and `checkpoints`, and `take-over` and
`hand-back`, by which a flow changes hands between MirrorMaker 2 and this mirror."""

import argparse

from kafka_mirror.cli.answer import DONE, FAILED, NOTHING_TO_DO, Answer
from kafka_mirror.cli.options import user_at_host
from kafka_mirror.config import Flow
from kafka_mirror.groups.job import group_step_on_master
from kafka_mirror.groups.undo import undo_step
from kafka_mirror.ledger.step import StepResult
from kafka_mirror.migration import hand_back as handing_back
from kafka_mirror.migration import take_over as taking_over
from kafka_mirror.migration.connect import MirrorMaker
from kafka_mirror.status.steps import run_step


def run(flow: Flow, options: argparse.Namespace) -> Answer:
    """Runs the step that is named as the command; with `--dry-run` it writes nothing."""
    works = {"checkpoints": run_groups, "group-offsets": run_groups, "take-over": take_over, "hand-back": hand_back}
    if options.command in works:
        done = works[options.command](flow, options)
    else:
        done = run_step(options.command, flow, getattr(options, "dry_run", False))
    state = FAILED if done.errors else NOTHING_TO_DO if done.is_idle else DONE
    return Answer(state, done.result, done.errors, "\n".join(done.lines))


def run_groups(flow: Flow, options: argparse.Namespace) -> StepResult:
    """Runs a step that works group by group; with `--master` on that Spark cluster, however few groups there are. With `--undo` it takes
    back what a run of it did."""
    if getattr(options, "undo", None):
        return undo_step(flow, options.undo, options.dry_run)
    if not options.master:
        return run_step(options.command, flow, options.dry_run)
    return group_step_on_master(options.command, flow, options.dry_run, options.master)


def take_over(flow: Flow, options: argparse.Namespace) -> StepResult:
    """Takes a flow over from MirrorMaker 2."""
    request = taking_over.TakeOverRequest(
        user_at_host(), maker=_maker(flow, options), topics=tuple(options.topic), at_stored=options.at_stored_offsets
    )
    return taking_over.take_over(flow, request, options.dry_run)


def hand_back(flow: Flow, options: argparse.Namespace) -> StepResult:
    """Hands a flow back to MirrorMaker 2."""
    request = handing_back.HandBackRequest(user_at_host(), maker=_maker(flow, options))
    return handing_back.hand_back(flow, request, options.dry_run)


def _maker(flow: Flow, options: argparse.Namespace) -> MirrorMaker:
    return MirrorMaker.of(flow, options.connector_name, options.offsets_topic, options.group)
