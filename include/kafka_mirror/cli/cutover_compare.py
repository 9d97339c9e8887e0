"""`cutover compare` and `cutover reopen`: a source that came back after a failover."""

import argparse

from kafka_mirror.cli.answer import DONE, FAILED, Answer, Piece, table
from kafka_mirror.cli.options import user_at_host
from kafka_mirror.config import Flow
from kafka_mirror.cutover.failover.close_flow import reopen_flow
from kafka_mirror.cutover.failover.source_comparison import SourceComparison, compare_source
from kafka_mirror.cutover.wave.findings import STOP
from kafka_mirror.formats.offsets.partition import TopicPartition

_HEAD = ("partition", "state", "copied up to", "only on the source", "no more on the source", "exported")


def compare(flow: Flow, options: argparse.Namespace) -> Answer:
    """Compares; fails when a person must look at something before anything moves back."""
    result = compare_source(flow, getattr(options, "topics", ()), getattr(options, "export", None), not options.without_audit)
    is_stopped = any(finding.kind == STOP for finding in result.findings)
    return Answer(FAILED if is_stopped else DONE, _document(result), (), _text(result))


def reopen(flow: Flow, options: argparse.Namespace) -> Answer:
    """Opens the flow."""
    dry_run = getattr(options, "dry_run", False)
    done = reopen_flow(flow, user_at_host(), options.reason, dry_run)
    verb = "would be" if dry_run else "was"
    said = f"{flow.name} {'was already open' if done.was_there else f'{verb} opened'}, in {len(done.lanes)} lanes: {done.decision}."
    return Answer(DONE, {"reopened": str(done.decision), "lanes": list(done.lanes)}, (), said)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _text(result: SourceComparison) -> list[Piece]:
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


def _describe_export(result: SourceComparison, tp: TopicPartition) -> str:
    files = ((result.exported, ""), (result.exported_open, " after the open transaction"))
    return ", ".join(f"{counts[tp]} records{where}" for counts, where in files if tp in counts) or "-"


def _document(result: SourceComparison) -> dict[str, object]:
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
