"""What each command of the command line does for a flow, in the words that it prints."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mirror.config import Configuration, Flow
from mirror.copy.results import watermarks_to_columns
from mirror.errors import ErrorReport
from mirror.plan.encode import to_columns
from mirror.plan.model import Plan
from mirror.plan.run import plan
from mirror.report.publish import Published, publish
from mirror.report.verdict import FAILED, verdict


@dataclass(frozen=True)
class Answer:
    """A command's answer for one flow: its state, what `--json` gives, the errors, and the text for people."""

    state: str
    result: Any
    errors: tuple[ErrorReport, ...] = ()
    text: str = ""


def plan_only(flow: Flow, _options: argparse.Namespace) -> Answer:
    """`plan`: what the next copy has to do. Writes nothing."""
    return _planned(plan(flow, dry_run=True))


def copy(flow: Flow, options: argparse.Namespace) -> Answer:
    """`copy`: plans, copies through Spark (or in this process) and judges by the ledger."""
    if options.dry_run:
        return plan_only(flow, options)
    planned = plan(flow)
    results = []
    if planned.has_work:
        if options.without_spark:
            from mirror.copy.run import copy_in_process

            results = copy_in_process(flow, planned)
        else:
            from mirror.copy.spark_submit import copy_with_spark

            results = copy_with_spark(planned, properties=flow.value("mirror.spark.properties.file"), config=options.config or "")
    published = publish(flow, planned, results) if planned.has_work else Published()
    judged = verdict(planned, results, published)
    marks = published.watermarks
    lines = _table(
        ("topic", "partition", "watermark", "target", "records"),
        [(m.topic, m.partition, m.source_offset, m.target_offset, m.records) for m in marks if m.records],
    )
    result = {"records": judged.records, "bytes": judged.bytes, "owed": judged.owed, "watermarks": watermarks_to_columns(marks)}
    text = "\n".join([*lines, *judged.notices, f"{judged.records} records, {judged.bytes} bytes copied, {judged.owed} offsets owed"])
    return Answer(judged.state, {**result, "notices": judged.notices}, judged.errors, text)


def refresh(flow: Flow, options: argparse.Namespace) -> Answer:
    """`refresh-topics`: finds topics, creates remote topics and partitions."""
    from mirror.kafka.connect import clusters
    from mirror.sync.topics import refresh_topics

    with clusters(flow) as (source, target):
        done = refresh_topics(flow, source, target, options.dry_run)
    verb = "would be " if options.dry_run else ""
    lines = [
        *(f"{name}: {verb}created with {count} partitions" for name, count in sorted(done.created.items())),
        *(f"{name}: {verb}extended to {count} partitions" for name, count in sorted(done.extended.items())),
        *(f"{name}: its topic no longer exists on the source; it stays as it is" for name in done.deleted_at_source),
    ]
    result = {"created": dict(done.created), "extended": dict(done.extended), "deleted_at_source": list(done.deleted_at_source)}
    return Answer(FAILED if done.errors else "done", result, tuple(done.errors), "\n".join(lines))


def effective_config(flow: Flow, _options: argparse.Namespace) -> Answer:
    """`config`: every property of the flow with its effective value, unresolved, secrets masked."""
    values = flow.shown()
    return Answer("done", values, text="\n".join(f"{name} = {value}" for name, value in sorted(values.items())))


def pools(configuration: Configuration) -> tuple[Any, tuple[ErrorReport, ...], str]:
    """`pools`: the pools that the flows' DAGs need, as `airflow pools import` takes them."""
    from mirror.report.pools import pools as needed

    document = needed(configuration.flows)
    return document, (), json.dumps(document, indent=2)


def _planned(planned: Plan) -> Answer:
    lines = _table(
        ("topic", "partition", "start", "end", "reason"), [(p.topic, p.partition, p.start, p.end, p.reason) for p in planned.ranges]
    )
    state = FAILED if planned.errors else "done"
    return Answer(state, to_columns(planned), planned.errors, "\n".join([*lines, *planned.notices]))


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    if not rows:
        return []
    cells = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
