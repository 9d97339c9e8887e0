"""The step `last-copy`: copies to the ends behind the write fence, and proves by the ledger that it did."""

import time
from collections.abc import Mapping
from typing import Any

from kafka_mirror.copy.run import copy_in_process
from kafka_mirror.cutover.copy_pass import Copier, copy_wave, plan_wave, red
from kafka_mirror.cutover.fence import still_fenced
from kafka_mirror.cutover.fence_ends import by_topic, fence_ends
from kafka_mirror.cutover.findings import Finding, stop
from kafka_mirror.cutover.move import Move
from kafka_mirror.cutover.source_truth import copied_from_another_log, look_at_source
from kafka_mirror.cutover.steps import DONE, FENCE, LAST_COPY, STOPPED, WAITING, StepOptions, StepOutcome, WaveNotes
from kafka_mirror.errors import ErrorReport, NotCopiedToTheEnd
from kafka_mirror.errors.words import first_few
from kafka_mirror.formats.ledger import LedgerRecord
from kafka_mirror.offsets.partition import TopicPartition
from kafka_mirror.sync.flow_clusters import ledger_of

_FUTILE_PASSES = 3
"""One pass is enough unless another copy of the flow runs beside it, or a broker is moving. So many without progress will not get there."""

Records = Mapping[TopicPartition, LedgerRecord]
Ends = Mapping[TopicPartition, int]


def step(move: Move, notes: WaveNotes, options: StepOptions, copy: Copier = copy_in_process) -> StepOutcome:
    """Copies until every partition's watermark is at the end that the fence noted.

    WAITING if it is on its way there at the end of the time, else STOPPED, with the partitions and why. Raises what concerns the whole
    flow.
    """
    began = time.monotonic()
    if options.dry_run and not fence_ends(notes.of_step(FENCE)):
        return StepOutcome(LAST_COPY, DONE, ("The wave would be copied to the ends behind its write fence.",))
    if findings := still_fenced(move, notes):
        return _outcome(move, STOPPED, findings, began)
    ends, records = fence_ends(notes.of_step(FENCE)), ledger_records(move)
    copied, futile, errors = 0, 0, tuple[ErrorReport, ...]()
    while (late := behind(ends, records)) and futile < _FUTILE_PASSES and time.monotonic() - began < options.timeout:
        options.progress(f"{len(late)} partitions are not at their end behind the write fence.")
        if options.dry_run:
            return _dry_run(late, began)
        planned = plan_wave(move, dry_run=False)
        if planned.stops:
            return _outcome(move, STOPPED, (*_short(ends, records), *planned.stops), began)
        judged = copy_wave(move, planned, options, LAST_COPY, copy)
        copied, errors = copied + judged.records, judged.errors
        records = ledger_records(move)
        futile = futile + 1 if behind(ends, records) == late else 0
        if any(not error.retriable for error in errors):
            break
    facts = {"records": copied}
    if behind(ends, records):
        is_slow = not errors and not futile
        return _outcome(move, WAITING if is_slow else STOPPED, (*_short(ends, records), *red(errors)), began, facts)
    look = look_at_source(move)
    if findings := (*still_fenced(move, notes, look), *copied_from_another_log(move, look.logs, records)):
        return _outcome(move, STOPPED, findings, began, facts)
    return _outcome(move, DONE, (), began, {**facts, **_proof(ends, records)}, len(ends))


def behind(ends: Ends, records: Records) -> dict[TopicPartition, int | None]:
    """The partitions whose watermark is not at the end behind the fence, with the watermark; None: the ledger does not know the
    partition."""
    marks = {tp: records[tp].watermark if tp in records else None for tp in ends}
    return {tp: mark for tp, mark in marks.items() if mark is None or mark < ends[tp]}


def ledger_records(move: Move) -> Records:
    """The ledger as it is now; of a lane that cannot be read nothing, so that its partitions count as behind."""
    return ledger_of(move.flow, move.sides.target).read().records


def _short(ends: Ends, records: Records) -> tuple[Finding, ...]:
    late = behind(ends, records)
    if not late:
        return ()
    where = first_few([f"{tp} is at {'nothing' if mark is None else mark} of {ends[tp]}" for tp, mark in sorted(late.items())])
    return (stop(NotCopiedToTheEnd(len(late), len(ends), where)),)


def _dry_run(late: Mapping[TopicPartition, int | None], began: float) -> StepOutcome:
    line = f"{len(late)} partitions would be copied to their end behind the write fence."
    return StepOutcome(LAST_COPY, DONE, (line,), facts={"seconds": round(time.monotonic() - began, 3)})


def _proof(ends: Ends, records: Records) -> dict[str, Any]:
    """The watermark of each partition, and where its next record goes on the target: the first one that the source does not have."""
    return {
        "watermarks": by_topic({tp: records[tp].watermark for tp in ends}),
        "target_next": by_topic({tp: records[tp].target_next for tp in ends}),
    }


def _outcome(
    move: Move,
    state: str,
    findings: tuple[Finding, ...],
    began: float,
    facts: Mapping[str, Any] | None = None,
    partitions: int = 0,
) -> StepOutcome:
    facts = {**(facts or {}), "seconds": round(time.monotonic() - began, 3)}
    done = (
        f"{partitions} partitions are copied to their exact end behind the write fence; {facts.get('records', 0):,} records were missing."
    )
    named = tuple(finding.of_flow(move.flow.name) for finding in findings)
    return StepOutcome(LAST_COPY, state, (done,) if state == DONE else (), named, facts)
