"""`backfill`: brings a time interval to the target: the copy until it has passed it, history below the copy's start, and an audit."""

import argparse
from dataclasses import replace

from kafka_mirror.audit.report import errors_of, lines_of
from kafka_mirror.audit.run import audit
from kafka_mirror.backfill.live import Copy
from kafka_mirror.backfill.model import BackfillRequest, BackfillSummary, summarize, time_interval
from kafka_mirror.backfill.run import BackfillOutcome, run_backfill
from kafka_mirror.cli.answer import DONE, FAILED, NOTHING_TO_DO, Answer, Piece, table
from kafka_mirror.cli.audit import choose_comparison
from kafka_mirror.cli.copy import copier
from kafka_mirror.cli.options import split_names
from kafka_mirror.config import Flow
from kafka_mirror.errors import UsageError
from kafka_mirror.formats.documents import to_document
from kafka_mirror.ledger.step import run_by_hand

_HEAD = ("topic", "partition", "from", "to", "offsets", "provisional")


def run(flow: Flow, options: argparse.Namespace) -> Answer:
    """The whole interval, however many runs of the copy it takes, and an audit of it; with `--dry-run` what there is to do.

    Where no flow is named, topics that this one does not mirror are left to the others.
    """
    request = BackfillRequest(
        time_interval(options.start, options.end),
        split_names(options.topics),
        options.into,
        options.order,
        options.accept_wild_timestamps,
    )
    try:
        return replace(_fill(flow, request, options), known_names=frozenset(request.topics))
    except UsageError as error:
        mine = tuple(name for name in request.topics if name not in error.names)
        if options.flow is not None or not error.names:
            raise
        if not mine:
            return Answer(NOTHING_TO_DO, text=error.message)
        return replace(_fill(flow, replace(request, topics=mine), options), known_names=frozenset(mine))


def _fill(flow: Flow, request: BackfillRequest, options: argparse.Namespace) -> Answer:
    run_name = run_by_hand("backfill")
    copy: Copy = copier(flow, options, run_name)
    filled = run_backfill(flow, request, copy, options.dry_run, run_name)
    if options.dry_run:
        done = summarize(filled.resolution, filled.live, filled.history)
        sentence = f"{filled.live.owed} live offsets and {filled.history.owed} offsets of history would be copied."
        return Answer(FAILED if done.errors else DONE, _document(filled, done), done.errors, [*_lines(filled), sentence])
    offsets = {interval.topic_partition: (interval.start, interval.end) for interval in filled.resolution.intervals if interval.offsets}
    audited = audit(flow, source_offsets=offsets, compare=choose_comparison(flow, options)) if offsets else None
    done = summarize(
        filled.resolution, filled.live, filled.history, audited.state if audited else "", errors_of(audited) if audited else ()
    )
    lines = [*_lines(filled), *(lines_of(audited) if audited else ()), str(done)]
    return Answer(FAILED if done.errors or done.owed else DONE, _document(filled, done), done.errors, lines)


def _document(filled: BackfillOutcome, done: BackfillSummary) -> dict[str, object]:
    document = done.as_document()
    return {
        "summary": {name: value for name, value in document.items() if name != "errors"},
        "intervals": filled.resolution.as_document()["intervals"],
        "live": to_document(filled.live),
        "history": to_document(filled.history),
    }


def _lines(filled: BackfillOutcome) -> list[Piece]:
    rows = [
        (interval.topic, interval.partition, interval.start, interval.end, interval.offsets, "yes" if interval.is_provisional else "")
        for interval in filled.resolution.intervals
    ]
    into = [f"History of {topic} goes into {name}." for topic, name in sorted(filled.history.into.items())]
    parts = (filled.live, filled.history)
    notices = [*filled.resolution.not_had, *(text for part in parts for text in (*part.notices, *part.not_had))]
    return [*table(_HEAD, rows), *into, *dict.fromkeys((*filled.resolution.notices, *notices))]
