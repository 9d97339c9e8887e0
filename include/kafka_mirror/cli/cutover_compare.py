"""`cutover compare` and `cutover reopen`: a source that came back after a failover."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_mirror.cli.answer import DONE, FAILED, Answer, Piece, table
from kafka_mirror.cli.decide import user_at_host
from kafka_mirror.cli.options import FLOW, Parser, typed
from kafka_mirror.config import Flow
from kafka_mirror.cutover.wave.findings import STOP
from kafka_mirror.cutover.wave.selection import patterns
from kafka_mirror.formats.offsets.partition import TopicPartition

if TYPE_CHECKING:
    from kafka_mirror.cutover.failover.source_comparison import SourceComparison

PARTS = COMPARE, REOPEN = "compare", "reopen"
_COMPARE = "say what a source that came back holds beside what was copied of it, and export what only it has; writes to neither cluster"
_REOPEN = "let a flow copy again that a failover closed"
_HEAD = ("partition", "state", "copied up to", "only on the source", "no more on the source", "exported")

AddCommon = Callable[[Parser, bool], None]


def add_parts(step: Parser, add_common: AddCommon) -> None:
    """Adds both; `add_common` adds the options of every command, for one that writes or not."""
    compare = step.add_command(COMPARE, _COMPARE, argument_default=argparse.SUPPRESS)
    compare.add_argument("--topics", metavar="PATTERNS", type=typed(patterns), help="only these topics: Java patterns between commas")
    export = "write the records that only the source has there, as JSON lines; run again, it goes on where it ended"
    compare.add_argument("--export", metavar="DIR", type=Path, help=export)
    fast = "compare offsets and leader epochs alone, and do not read what was copied"
    compare.add_argument("--without-audit", action="store_true", default=False, help=fast)
    add_common(compare, False)
    compare.need(FLOW)
    compare.set_defaults(run=run_compare, looks=True)
    reopen = step.add_command(REOPEN, _REOPEN, argument_default=argparse.SUPPRESS)
    reopen.add_argument("--reason", metavar="TEXT", help="why, for those who read it later")
    add_common(reopen, True)
    reopen.need(FLOW, "--reason")
    reopen.set_defaults(run=run_reopen, looks=False)


def run_compare(flow: Flow, options: argparse.Namespace) -> Answer:
    """Compares; fails when a person must look at something before anything moves back."""
    from kafka_mirror.cutover.failover.source_comparison import compare_source

    result = compare_source(flow, getattr(options, "topics", ()), getattr(options, "export", None), not options.without_audit)
    is_stopped = any(finding.kind == STOP for finding in result.findings)
    return Answer(FAILED if is_stopped else DONE, _document(result), (), _text(result))


def run_reopen(flow: Flow, options: argparse.Namespace) -> Answer:
    """Opens the flow."""
    from kafka_mirror.cutover.failover.close_flow import reopen_flow

    dry_run = getattr(options, "dry_run", False)
    done = reopen_flow(flow, user_at_host(), options.reason, dry_run)
    verb = "would be" if dry_run else "was"
    said = f"{flow.name} {'was already open' if done.was_there else f'{verb} opened'}, in {len(done.lanes)} lanes: {done.decision}."
    return Answer(DONE, {"reopened": str(done.decision), "lanes": list(done.lanes)}, (), said)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _text(result: "SourceComparison") -> list[Piece]:
    rows = [
        (
            compared.source,
            compared.state,
            "-" if compared.watermark is None else compared.watermark,
            f"{compared.only_start}..{compared.only_end - 1}" if compared.only else "-",
            f"{compared.lost_start}..{compared.lost_end - 1}" if compared.lost else "-",
            _describe_export(result, compared.source),
        )
        for compared in result.partitions
        if compared.only or compared.lost or compared.open_until is not None
    ]
    return [f"{len(result.partitions)} partitions compared.", *table(_HEAD, rows), *map(str, result.findings)]


def _describe_export(result: "SourceComparison", tp: TopicPartition) -> str:
    files = ((result.exported, ""), (result.exported_open, " after the open transaction"))
    return ", ".join(f"{counts[tp]} records{where}" for counts, where in files if tp in counts) or "-"


def _document(result: "SourceComparison") -> dict[str, object]:
    return {
        "time": result.time.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "partitions": [
            {
                **compared.as_document(),
                "exported_records": result.exported.get(compared.source),
                "exported_open_records": result.exported_open.get(compared.source),
            }
            for compared in result.partitions
        ],
        "audit": None if result.audit is None else result.audit.state,
        "findings": [finding.as_document() for finding in result.findings],
    }
