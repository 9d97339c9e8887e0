"""From the outcomes of stretches to the audit of each partition, and an audit's result in words: for people, and as errors."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from kafka_mirror.audit.copied_ranges import Outcome
from kafka_mirror.audit.model import DIFFERENT, EQUAL, UNPROVEN, AuditResult, Difference, LeftOut, PartitionAudit, RecordText
from kafka_mirror.audit.prepare import PreparedAudit
from kafka_mirror.errors import AuditDifferent, AuditIncomplete, ErrorReport, MirrorError, NothingAudited
from kafka_mirror.errors.words import first_few
from kafka_mirror.formats.offsets.partition import TopicPartition

MOST_LEFT_OUT = 20
"""How many lines of what could not be had are written; the document has all."""


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


def errors_of(result: AuditResult, topics: Collection[str] = (), complete: bool = False) -> tuple[ErrorReport, ...]:
    """The first difference of each partition as an error, and what kept others from being compared.

    `topics` are those that this flow was asked for by name: it is an error if it has never copied one of them. With `complete` it is one,
    too, if anything is not copied yet or could not be compared.
    """
    errors: list[MirrorError] = [
        AuditDifferent(str(difference), difference.topic, difference.partition, difference.source_offset)
        for difference in result.differences
    ]
    if unknown := sorted(set(topics) - {partition.topic for partition in result.partitions}):
        errors.append(NothingAudited(unknown))
    unproven = result.totals["unproven"]
    why = describe_not_copied(result.totals) + (f" Nothing could be compared of partitions: {unproven:,}." if unproven else "")
    if complete and why:
        errors.append(AuditIncomplete(why.strip()))
    return (*(error.with_flow(result.flow).report() for error in errors), *result.errors)


def lines_of(result: AuditResult) -> list[str]:
    """What people read: a sentence about all, each difference with both records side by side, what was left out, and notes."""
    lines: list[str] = []
    for difference in result.differences:
        lines += [str(difference), *side_by_side(difference)]
    left_out = [(audit, interval) for audit in result.partitions for interval in audit.left_out]
    lines += [
        f"Left out: {audit.topic}-{audit.partition} [{interval.start}, {interval.end}): {interval.reason}"
        for audit, interval in left_out[:MOST_LEFT_OUT]
    ]
    if len(left_out) > MOST_LEFT_OUT:
        lines.append(f"Left out: {len(left_out) - MOST_LEFT_OUT} more intervals; --json lists them.")
    for note in dict.fromkeys(note for audit in result.partitions for note in audit.notes):
        of = [audit for audit in result.partitions if note in audit.notes]
        lines.append(f"Note: {first_few((f'{audited.topic}-{audited.partition}' for audited in of), most=3)}: {note}.")
    return [sentence(result), *lines, *result.notices]


def sentence(result: AuditResult) -> str:
    """The whole audit, and what is not copied yet."""
    totals = result.totals
    records = f"{totals['source_records']:,} records of the source and {totals['target_records']:,} of the target"
    state = "equal up to where the copy is" if result.state == EQUAL and (result.backlog or result.not_begun) else result.state
    said = f"{result.flow}: {state}: {records} in {totals['partitions']} partitions were compared in {result.seconds:.1f} s"
    if totals["different"]:
        said += f"; {totals['different']} partitions differ"
    if totals["unproven"]:
        said += f"; nothing could be compared of {totals['unproven']}"
    return f"{said}.{describe_not_copied(result.totals)}"


def describe_not_copied(totals: Mapping[str, Any]) -> str:
    """A sentence about what was not compared because it is not copied yet, with a blank in front; empty if all is copied."""
    waiting = []
    if totals.get("backlog_partitions"):
        stuck = f", {totals['backlog_stuck']:,} of them stuck" if totals["backlog_stuck"] else ""
        waiting.append(f"at most {totals['backlog_offsets']:,} records in partitions: {totals['backlog_partitions']:,}{stuck}")
    if totals.get("not_begun"):
        waiting.append(f"topics or parts of topics that no copy has begun: {totals['not_begun']:,}")
    return f" Not copied yet, so not compared: {'; '.join(waiting)}." if waiting else ""


def side_by_side(difference: Difference) -> list[str]:
    """Both records, one line a field; what differs is marked."""
    sides = difference.source, difference.target
    names = [name for name in _FIELDS if any(_has(side, name) for side in sides)]
    rows = [("", "source", "target"), *((name, *(_write_field(side, name) for side in sides)) for name in names)]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    return [_write_row(row, widths) for row in rows]


def _write_row(row: Sequence[str], widths: Sequence[int]) -> str:
    name, ours, theirs = row
    mark = "≠" if name not in _NEVER_MARKED and ours != theirs else " "
    return f"    {mark} {name.ljust(widths[0])}  {ours.ljust(widths[1])}  {theirs}".rstrip()


def _has(side: RecordText | None, name: str) -> bool:
    return side is not None and (name not in _PAYLOAD or side.header_text is not None)


def _write_field(side: RecordText | None, name: str) -> str:
    if side is None:
        return "no record"
    value = getattr(side, _FIELDS[name])
    return "null" if value is None else str(value)


def partition_audits(prepared: PreparedAudit, outcomes: Iterable[Outcome]) -> tuple[PartitionAudit, ...]:
    """One for each partition and each topic of the target that holds something of it, the remote topic first."""
    by_remote: dict[tuple[TopicPartition, str], list[Outcome]] = {}
    for outcome in outcomes:
        by_remote.setdefault((outcome.stretch.source, outcome.stretch.remote.topic), []).append(outcome)
    refused = {(error.topic, error.partition) for error in prepared.errors} | {(error.topic, None) for error in prepared.errors}
    audits = []
    for tp, record in sorted(prepared.records.items()):
        topics = dict.fromkeys([record.target_topic, *(topic for of, topic in by_remote if of == tp)])
        for topic in topics:
            parts = sorted(by_remote.get((tp, topic), []), key=lambda outcome: outcome.stretch.target_start)
            left_out = prepared.left_out.get(tp, ()) if topic == record.target_topic else ()
            if parts or left_out or topic == record.target_topic:
                nothing_asked = not left_out and tp not in refused and (tp.topic, None) not in refused
                audits.append(_summarize(tp, topic, parts, left_out, EQUAL if nothing_asked and not parts else UNPROVEN))
    return tuple(audits)


def _summarize(tp: TopicPartition, remote: str, parts: Sequence[Outcome], left_out: Sequence[LeftOut], state: str) -> PartitionAudit:
    compared = [outcome for outcome in parts if outcome.error is None]
    difference = next((outcome.difference for outcome in compared if outcome.difference is not None), None)
    something = any(outcome.stretch.offsets for outcome in compared)
    if compared and len(compared) == len(parts) and (something or not left_out):
        state = EQUAL
    if difference is not None:
        state = DIFFERENT
    return PartitionAudit(
        *tp,
        remote,
        state,
        _span([(outcome.stretch.start, outcome.stretch.end) for outcome in compared]),
        _span([(outcome.stretch.target_start, outcome.stretch.target_end) for outcome in compared]),
        source_records=sum(outcome.source_records for outcome in compared),
        target_records=sum(outcome.target_records for outcome in compared),
        source_digest=_write_digest([outcome.source_digest for outcome in compared]),
        target_digest=_write_digest([outcome.target_digest for outcome in compared]),
        tolerated=sum(outcome.tolerated for outcome in compared),
        unpaired=sum(outcome.unpaired for outcome in compared),
        difference=difference,
        left_out=(*left_out, *(interval for outcome in compared for interval in outcome.left_out)),
        notes=tuple(dict.fromkeys(note for outcome in compared for note in outcome.notes)),
    )


def _span(intervals: Sequence[tuple[int, int]]) -> tuple[int, int]:
    return (min(start for start, _ in intervals), max(end for _, end in intervals)) if intervals else (0, 0)


def _write_digest(texts: Sequence[str]) -> str:
    """Of several stretches the digest of their digests; '' where one of them has none."""
    if len(texts) < 2 or not all(texts):
        return texts[0] if texts and all(texts) else ""
    return blake2b("".join(texts).encode(), digest_size=16).hexdigest()
