"""The step `last-copy`: copies to the ends that the write fence noted, and proves by the ledger that it did."""

from collections.abc import Mapping
from typing import Any

from kafka_mirror.cutover.steps.catch_up import WaveCopy, WaveLook
from kafka_mirror.cutover.steps.fence import by_topic, find_fence_breaks, read_fence_ends
from kafka_mirror.cutover.steps.wave_ends import find_other_logs, look_at_source
from kafka_mirror.cutover.wave.findings import Finding, stop
from kafka_mirror.cutover.wave.move import Move
from kafka_mirror.cutover.wave.record import WaveNotes
from kafka_mirror.cutover.wave.step import DONE, FENCE, LAST_COPY, STOPPED, StepOptions, StepOutcome
from kafka_mirror.errors import NotCopiedToTheEnd
from kafka_mirror.errors.words import first_few
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.clusters import ledger_of
from kafka_mirror.ledger.record import LedgerRecord

Records = Mapping[TopicPartition, LedgerRecord]
Ends = Mapping[TopicPartition, int]


def step(move: Move, notes: WaveNotes, options: StepOptions) -> StepOutcome:
    """Copies until every partition's watermark is at the end that the fence noted. One pass is enough unless another copy of the flow runs
    beside it, or a broker is moving.

    WAITING if it is not there at the end of its time; STOPPED, with the partitions and why, if it will not get there. Raises what concerns
    the whole flow.
    """
    passes = WaveCopy(move, options, LAST_COPY)
    if options.dry_run and not read_fence_ends(notes.of_step(FENCE)):
        return StepOutcome(LAST_COPY, DONE, ("The wave would be copied to the ends that its write fence notes.",))
    if findings := find_fence_breaks(move, notes):
        return _outcome(passes, STOPPED, findings)
    ends = read_fence_ends(notes.of_step(FENCE))

    def look() -> WaveLook:
        """What the ledger says. A lane that cannot be read has copied nothing, so its partitions are late."""
        late = late_partitions(ends, _ledger_records(move))
        if late:
            options.progress(f"{len(late)} partitions are not at the end that the write fence noted.")
        return WaveLook(late, _short(ends, late))

    state, findings = passes.until_near(look)
    if state != DONE:
        return _outcome(passes, state, findings)
    records = _ledger_records(move)
    if options.dry_run:
        line = f"{len(late_partitions(ends, records))} partitions would be copied to the end that the write fence noted."
        return _outcome(passes, DONE, (), (line,))
    source = look_at_source(move)
    if findings := (*find_fence_breaks(move, notes, source), *find_other_logs(move, source.logs, records)):
        return _outcome(passes, STOPPED, findings)
    done = f"{len(ends)} partitions are copied to the exact end that the write fence noted; {passes.records:,} records were missing."
    return _outcome(passes, DONE, (), (done,), _proof(ends, records))


def late_partitions(ends: Ends, records: Records) -> dict[TopicPartition, int | None]:
    """The partitions whose watermark is not at the end that the fence noted, with the watermark; None: the ledger does not know the
    partition."""
    marks = {tp: records[tp].watermark if tp in records else None for tp in ends}
    return {tp: mark for tp, mark in marks.items() if mark is None or mark < ends[tp]}


def _ledger_records(move: Move) -> Records:
    return ledger_of(move.flow, move.sides.target).read().records


def _short(ends: Ends, late: Mapping[TopicPartition, int | None]) -> tuple[Finding, ...]:
    if not late:
        return ()
    where = first_few([f"{tp} is at {'nothing' if mark is None else mark} of {ends[tp]}" for tp, mark in sorted(late.items())])
    return (stop(NotCopiedToTheEnd(len(late), len(ends), where)),)


def _proof(ends: Ends, records: Records) -> dict[str, Any]:
    """The watermark of each partition, and where its next record goes on the target: the first one that the source does not have."""
    return {
        "watermarks": by_topic({tp: records[tp].watermark for tp in ends}),
        "target_next": by_topic({tp: records[tp].target_next for tp in ends}),
    }


def _outcome(
    passes: WaveCopy, state: str, findings: tuple[Finding, ...], lines: tuple[str, ...] = (), proof: Mapping[str, Any] | None = None
) -> StepOutcome:
    facts = {"records": passes.records, **(proof or {}), "seconds": round(passes.seconds, 3)}
    return StepOutcome(LAST_COPY, state, lines, findings, facts)
