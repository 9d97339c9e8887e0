"""An audit's result in words: for the terminal, for the log of a task, and as errors."""

from collections.abc import Collection, Sequence

from mirror.audit.model import AuditResult, Difference, PartitionAudit, Shown
from mirror.errors import AuditDifferent, ErrorReport, MirrorError, NothingAudited

MOST_LEFT_OUT = 20
"""How many lines of what could not be had are written; the document has all."""


def errors_of(result: AuditResult, topics: Collection[str] = ()) -> tuple[ErrorReport, ...]:
    """The first difference of each partition as an error, and what kept others from being compared.

    `topics` are those that this flow was asked for by name: it is an error if it has never copied one of them.
    """
    found: list[MirrorError] = [AuditDifferent(str(each), each.topic, each.partition, each.source_offset) for each in result.differences]
    if unknown := sorted(set(topics) - {each.topic for each in result.partitions}):
        found.append(NothingAudited(unknown))
    return (*(error.of_flow(result.flow).report() for error in found), *result.errors)


def lines_of(result: AuditResult) -> list[str]:
    """What people read: each difference with both records side by side, what was left out, notes, and a sentence about all."""
    lines: list[str] = []
    for each in result.differences:
        lines += [str(each), *side_by_side(each)]
    left_out = [(audit, left) for audit in result.partitions for left in audit.left_out]
    lines += [
        f"Left out: {audit.topic}-{audit.partition} [{left.start}, {left.end}): {left.reason}" for audit, left in left_out[:MOST_LEFT_OUT]
    ]
    if len(left_out) > MOST_LEFT_OUT:
        lines.append(f"Left out: {len(left_out) - MOST_LEFT_OUT} more intervals; --json lists them.")
    for note in dict.fromkeys(note for audit in result.partitions for note in audit.notes):
        of = [audit for audit in result.partitions if note in audit.notes]
        lines.append(f"Note: {_named(of)}: {note}.")
    return [*lines, *result.notices, sentence(result)]


def sentence(result: AuditResult) -> str:
    """The whole audit in one sentence."""
    totals = result.totals
    records = f"{totals['source_records']:,} records of the source and {totals['target_records']:,} of the target"
    said = f"{result.flow}: {result.state}: {records} in {totals['partitions']} partitions were compared in {result.seconds:.1f} s"
    if totals["different"]:
        said += f"; {totals['different']} partitions differ"
    if totals["unproven"]:
        said += f"; nothing could be compared of {totals['unproven']}"
    return said + "."


def side_by_side(difference: Difference) -> list[str]:
    """Both records, one line a field; what differs is marked."""
    sides = difference.source, difference.target
    names = [name for name in _FIELDS if any(_has(side, name) for side in sides)]
    rows = [("", "source", "target"), *((name, *(_field(side, name) for side in sides)) for name in names)]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    return [_row(row, widths) for row in rows]


def _row(row: Sequence[str], widths: Sequence[int]) -> str:
    name, ours, theirs = row
    mark = "≠" if name not in _NEVER_MARKED and ours != theirs else " "
    return f"    {mark} {name.ljust(widths[0])}  {ours.ljust(widths[1])}  {theirs}".rstrip()


_NEVER_MARKED = ("", "offset", "timestamp type")
_FIELDS = {
    "offset": "offset",
    "timestamp": "timestamp",
    "timestamp type": "timestamp_type",
    "key": "key",
    "key bytes": "key_bytes",
    "value bytes": "value_bytes",
    "headers": "headers",
    "headers bytes": "headers_bytes",
    "value": "value",
    "header contents": "header_text",
}
_PAYLOAD = ("value", "header contents")


def _has(side: Shown | None, name: str) -> bool:
    return side is not None and (name not in _PAYLOAD or side.header_text is not None)


def _field(side: Shown | None, name: str) -> str:
    if side is None:
        return "no record"
    value = getattr(side, _FIELDS[name])
    return "null" if value is None else str(value)


def _named(audits: list[PartitionAudit]) -> str:
    first = ", ".join(f"{each.topic}-{each.partition}" for each in audits[:3])
    return first if len(audits) <= 3 else f"{first} and {len(audits) - 3} more"
