"""`plan`: what the next copy has to do."""

import argparse
from collections.abc import Mapping

from mirror.cli.answer import DONE, FAILED, NOTHING_TO_DO, Answer, table
from mirror.config import Flow
from mirror.copy.engine_text import forecast_text
from mirror.copy.model import BATCHES, RECORDS
from mirror.offsets.partition import TopicPartition
from mirror.plan.model import Plan, Range, to_columns
from mirror.plan.run import plan_context


def run(flow: Flow, options: argparse.Namespace) -> Answer:
    """Plans without writing anything: the next copy by the schedule, or for `copy --dry-run` the one that a person would start."""
    context = plan_context(flow, dry_run=True, by_person=options.command == "copy")
    planned = context.plan
    reasons = _forecast(flow, planned)
    rows = [(each.topic, each.partition, each.start, each.end, each.reason, _engine(each, reasons)) for each in planned.ranges]
    lines = table(("topic", "partition", "start", "end", "reason", "engine"), rows) or ["Nothing to copy."]
    engines = filter(None, [forecast_text(planned.ranges, reasons)])
    columns = to_columns(planned)
    columns["ranges"]["engine"] = [row[-1] for row in rows]
    is_idle = context.idle is not None and context.idle.is_whole_list
    state = FAILED if planned.errors else NOTHING_TO_DO if is_idle else DONE
    return Answer(state, columns, planned.errors, [*lines, *engines, *planned.notices])


def _forecast(flow: Flow, planned: Plan) -> Mapping[TopicPartition, str]:
    if not planned.has_work:
        return {}
    from mirror.copy.engine_forecast import forecast

    return forecast(flow, planned)


def _engine(planned: Range, reasons: Mapping[TopicPartition, str]) -> str:
    if not planned.offsets:
        return ""
    return RECORDS if planned.topic_partition in reasons else BATCHES
