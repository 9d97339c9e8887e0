"""The commands that run one step: `refresh-topics`, `checkpoints` and their like."""

import argparse

from mirror.cli.answer import DONE, FAILED, Answer
from mirror.config import Flow
from mirror.sync.step import run_step


def run(flow: Flow, options: argparse.Namespace) -> Answer:
    """Runs the step that is named as the command; with `--dry-run` it writes nothing."""
    done = run_step(options.command, flow, getattr(options, "dry_run", False))
    return Answer(FAILED if done.errors else DONE, done.result, done.errors, "\n".join(done.lines))
