"""`plan`: what the next copy has to do."""

import argparse

from kafka_mirror.cli.answer import DONE, FAILED, NOTHING_TO_DO, Answer, table
from kafka_mirror.config import Flow
from kafka_mirror.copy.plan.model import to_columns
from kafka_mirror.copy.plan.run import plan_context


def run(flow: Flow, options: argparse.Namespace) -> Answer:
    """Plans without writing anything: the next copy by the schedule, or for `copy --dry-run` the one that a person would start."""
    context = plan_context(flow, dry_run=True, by_person=options.command == "copy")
    planned = context.plan
    rows = [(part.topic, part.partition, part.start, part.end, part.reason) for part in planned.ranges]
    lines = table(("topic", "partition", "start", "end", "reason"), rows) or ["Nothing to copy."]
    is_idle = context.idle is not None and context.idle.is_whole_list
    state = FAILED if planned.errors else NOTHING_TO_DO if is_idle else DONE
    return Answer(state, to_columns(planned), planned.errors, [*lines, *planned.notices])
