"""`plan`: what the next copy has to do."""

import argparse

from mirror.cli.answer import DONE, FAILED, Answer, table
from mirror.config import Flow
from mirror.plan.model import to_columns
from mirror.plan.run import plan


def run(flow: Flow, options: argparse.Namespace) -> Answer:
    """Plans without writing anything: the next copy by the schedule, or for `copy --dry-run` the one that a person would start."""
    planned = plan(flow, dry_run=True, by_person=options.command == "copy")
    rows = [(each.topic, each.partition, each.start, each.end, each.reason) for each in planned.ranges]
    lines = table(("topic", "partition", "start", "end", "reason"), rows) or ["Nothing to copy."]
    return Answer(FAILED if planned.errors else DONE, to_columns(planned), planned.errors, [*lines, *planned.notices])
