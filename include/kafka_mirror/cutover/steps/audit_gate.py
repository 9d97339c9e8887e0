"""The step `audit-gate`: the wave's topics are the same on both sides up to their exact ends, or the wave stops here.

It compares what came since the wave's last good audit, or everything. The step's facts keep up to where each partition was audited: an
audit speaks for the ends that it saw. The flow's own audits are no evidence: Airflow keeps what differed, and not up to where they were
equal.
"""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from kafka_mirror.audit.copied_ranges import AuditRange, Outcome
from kafka_mirror.audit.model import OPEN, UNREAD, AuditResult
from kafka_mirror.audit.parallel import choose_by_size, compare_by_hand
from kafka_mirror.audit.reader import AuditContext
from kafka_mirror.audit.report import sentence
from kafka_mirror.audit.run import audit, prepare_comparison
from kafka_mirror.audit.scope import Scope
from kafka_mirror.cutover.steps.wave_ends import find_other_logs, look_at_source, report_late
from kafka_mirror.cutover.wave.move import Move
from kafka_mirror.cutover.wave.record import WaveNotes
from kafka_mirror.cutover.wave.step import AUDIT_GATE, RECORDS, Finding, StepOptions, StepOutcome, has_stop, make_outcome, stop, warning
from kafka_mirror.errors import (
    AuditDifferent,
    AuditLeftOut,
    AuditOpen,
    AuditOutdated,
    AuditTolerated,
    LeaderMissing,
    MirrorError,
)
from kafka_mirror.errors.next_step import Command, flow_command, wave_command
from kafka_mirror.errors.words import first_few
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.group_move import note_by_topic, read_by_partition
from kafka_mirror.groups.translation import generation
from kafka_mirror.ledger.clusters import ledger_of

AUDITED = "audited"
"""Name of the fact: `{topic: {partition: [start, source end, target end, generation]}}`."""


@dataclass(frozen=True)
class PartitionEnds:
    """One source partition as both clusters and the ledger show it now. `watermark` is None if the ledger does not have it; `generation`
    changes with either topic, and with a person's decision about its offsets.

    As evidence it says that the source offsets `[start, watermark)` were equal, and where the target ended then.
    """

    start: int
    source_end: int
    watermark: int | None = None
    target_end: int | None = None
    generation: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to be copied, and nothing was."""
        return self.watermark is None and self.start == self.source_end


Ends = Mapping[TopicPartition, PartitionEnds]


def find_audit_starts(evidence: Ends, ends: Ends) -> dict[TopicPartition, int]:
    """From which source offset on each partition is to be audited; one that is absent, whole: so is a log that lost its end, or another
    one."""
    return {
        tp: audited.source_end
        for tp, audited in evidence.items()
        if (end := ends.get(tp)) is not None
        and audited.generation == end.generation
        and end.source_end >= audited.source_end
        and (end.target_end or 0) >= (audited.target_end or 0)
    }


def make_evidence(before: Ends, starts: Mapping[TopicPartition, int], ends: Ends) -> dict[TopicPartition, PartitionEnds]:
    """What is proven after a good audit from `starts` on, up to the watermarks that `ends` had before it."""
    return {
        tp: replace(end, start=before[tp].start if tp in starts else 0, source_end=end.watermark)
        for tp, end in ends.items()
        if end.watermark is not None and end.target_end is not None
    }


def write_evidence(evidence: Ends) -> dict[str, dict[str, list[Any]]]:
    """The evidence as JSON takes it."""
    return note_by_topic({tp: [of.start, of.source_end, of.target_end, of.generation] for tp, of in evidence.items()})


def read_evidence(facts: Mapping[str, Any]) -> dict[TopicPartition, PartitionEnds]:
    """What the step's facts say was audited; empty if they say nothing of it."""
    rows = read_by_partition(facts.get(AUDITED, {})).items()
    return {tp: PartitionEnds(start, end, end, target_end, generation) for tp, (start, end, target_end, generation) in rows}


def find_not_copied(ends: Ends, partitions: Collection[TopicPartition], source: str) -> Iterator[Finding]:
    """A stop for partitions without a leader, and one for those that are not copied to their end: an audit after the fence is of
    everything."""
    if silent := sorted(set(partitions) - ends.keys()):
        yield stop(LeaderMissing(first_few(silent), source))
    marks = {tp: end.watermark for tp, end in ends.items() if end.watermark is not None}
    yield from report_late(marks, {tp: ends[tp].source_end for tp in partitions if tp in ends and not ends[tp].is_empty})


def find_outdated(evidence: Ends, now: Ends, whole: bool = False) -> Iterator[Finding]:
    """A stop for each topic of which the audit does not speak: an end moved, a decision or another topic changed how a partition is copied,
    or a partition is new. `whole`: also where it compared only what came last."""
    places = {tp: (end.source_end, end.target_end) for tp, end in now.items()}
    moved = [tp for tp, end in evidence.items() if places.get(tp) != (end.source_end, end.target_end)]
    changed = [tp for tp, end in evidence.items() if tp not in moved and now[tp].generation != end.generation]
    new = [tp for tp, end in now.items() if tp not in evidence and not end.is_empty]
    partial = [tp for tp, end in evidence.items() if whole and end.start and tp not in (*moved, *changed)]
    for partitions, why in (
        (moved, "something was written since the audit looked at {}, on the source or on the target"),
        (changed, "since the audit looked at {}, a decision was acted on there, or a topic was created again"),
        (new, "the audit did not look at {}"),
        (partial, "of {} the audit compared only what came last, and --full-audit asks for all"),
    ):
        for topic, of_topic in groupby(sorted(partitions), key=lambda tp: tp.topic):
            yield stop(AuditOutdated(topic, why.format(first_few(of_topic))))


def judge_audit(result: AuditResult, topics: Collection[str], rollback: Command) -> Iterator[Finding]:
    """What a result says: a stop for each partition that differs, or of which something could not be read."""
    for difference in result.differences:
        error = AuditDifferent(str(difference), difference.topic, difference.partition, difference.source_offset).report()
        look = flow_command("audit", f"--topics {difference.topic} --show-payload")
        yield stop(error.with_next("Keep the fence, and look at both records: ", look, ". To take the wave back: ", rollback, "."))
    yield from (stop(error) for error in result.errors if error.topic is None or error.topic in topics)
    left_out: dict[tuple[str, str], list[str]] = {}
    for partition in result.partitions:
        yield from (stop(AuditOpen(partition.topic, partition.partition, note)) for note in partition.notes if note in (OPEN, UNREAD))
        if partition.tolerated:
            yield warning(AuditTolerated(partition.topic, partition.partition, partition.remote, partition.tolerated))
        for interval in partition.left_out:
            place = f"{partition.partition} [{interval.start}, {interval.end})"
            left_out.setdefault((partition.topic, interval.reason), []).append(place)
    yield from (warning(AuditLeftOut(topic, first_few(places), reason)) for (topic, reason), places in left_out.items())


def step(move: Move, notes: WaveNotes, options: StepOptions) -> StepOutcome:
    """Audits the wave after its fence. Raises what concerns a cluster as a whole."""
    partitions = move.list_partitions()
    ends, errors = _read_ends(move, partitions)
    if findings := (*errors, *find_not_copied(ends, partitions, move.flow.source)):
        return make_outcome(AUDIT_GATE, findings)
    facts = notes.read_step(AUDIT_GATE)
    if not any(find_outdated(read_evidence(facts), ends, options.full_audit)):
        return make_outcome(AUDIT_GATE, [], ("Nothing came on either side since the wave's last good audit.",), facts)
    return _compare(move, notes, options, ends)


def audit_ahead(move: Move, notes: WaveNotes, options: StepOptions) -> StepOutcome:
    """Audits what is copied so far, and notes it: before the fence, so that the step after it has little left to compare."""
    ends, errors = _read_ends(move, move.list_partitions())
    outcome = _compare(move, notes, options, ends) if not errors else make_outcome(AUDIT_GATE, errors)
    if outcome.facts and not options.dry_run:
        notes.keep(AUDIT_GATE, outcome.facts)
    return outcome


def find_audit_breaks(move: Move, notes: WaveNotes, options: StepOptions) -> tuple[Finding, ...]:
    """Why the audit does not speak for everything any more; empty as long as it does."""
    partitions = move.list_partitions()
    ends, errors = _read_ends(move, partitions)
    outdated = find_outdated(read_evidence(notes.read_step(AUDIT_GATE)), ends, options.full_audit)
    return (*errors, *find_not_copied(ends, partitions, move.flow.source), *outdated)


# ------------------------------------------------------------ asking


def _compare(move: Move, notes: WaveNotes, options: StepOptions, ends: Ends) -> StepOutcome:
    began = time.monotonic()
    noted = read_evidence(notes.read_step(AUDIT_GATE))
    starts = {} if options.full_audit else find_audit_starts(noted, ends)
    topics = sorted({tp.topic for tp, end in ends.items() if end.watermark is not None})
    if options.dry_run:
        offsets = prepare_comparison(move.flow, Scope(topics, starts=starts)).offsets if topics else 0
        return make_outcome(AUDIT_GATE, [], (f"Up to {offsets:,} records would be compared.",))
    result = AuditResult(move.flow.name, datetime.now(UTC)) if not topics else _audit(move, options, topics, starts)
    now, errors = _read_ends(move, sorted(ends))
    findings = [*judge_audit(result, move.topics.names, wave_command("rollback", options.wave)), *errors]
    is_fenced = all(end.is_empty or end.watermark == end.source_end for end in ends.values())
    findings += find_outdated(ends, now) if is_fenced else ()
    if has_stop(findings):
        return make_outcome(AUDIT_GATE, findings, (sentence(result),))
    before = notes.read_step(AUDIT_GATE).get(RECORDS, 0) if starts else 0
    facts = {
        AUDITED: write_evidence(make_evidence(noted, starts, ends)),
        RECORDS: before + result.totals["source_records"],
        "new_records": result.totals["source_records"],
        "seconds": round(time.monotonic() - began, 3),
    }
    return make_outcome(AUDIT_GATE, findings, (sentence(result),), facts)


def _audit(move: Move, options: StepOptions, topics: Sequence[str], starts: Mapping[TopicPartition, int]) -> AuditResult:
    """Compares in this process what is small, and on Spark what is large, as the command `audit` does."""
    flow = move.flow
    by_amount = choose_by_size(flow, compare_by_hand(flow, None, f"cutover {options.wave}"))

    def compare(context: AuditContext, stretches: Sequence[AuditRange]) -> list[Outcome]:
        offsets = sum(stretch.offsets for stretch in stretches)
        options.progress(f"Comparing up to {offsets:,} records of {len(stretches)} ranges with their copies.")
        return by_amount(context, stretches)

    return audit(flow, topics, compare=compare, starts=starts)


def _read_ends(move: Move, partitions: Sequence[TopicPartition]) -> tuple[dict[TopicPartition, PartitionEnds], list[Finding]]:
    """Where the partitions begin and end on both sides, and what the ledger says; absent without a leader. And what no server
    answered, or what cannot be believed."""
    refused: dict[str, MirrorError] = {}
    target = move.sides.target
    # The ledger last: it knows no less than the ends that it is held against.
    look = look_at_source(move)
    starts = {tp: log.start for tp, log in look.offsets.items() if log.start >= 0}
    ends = {tp: end for tp, log in look.offsets.items() if (end := log.stable if move.flow.reads_committed else log.end) >= 0}
    view = ledger_of(move.flow, target).read()
    records = {tp: view.records[tp] for tp in {*partitions, *look.logs} if tp in view.records}
    remotes = {tp: TopicPartition(record.target_topic, tp.partition) for tp, record in records.items()}
    target_ends = target.offsets(remotes.values(), "latest", errors=refused)
    there = {
        tp: PartitionEnds(
            starts[tp],
            ends[tp],
            records[tp].watermark if tp in records else None,
            target_ends.get(remotes[tp]) if tp in remotes else None,
            generation(records[tp]) if tp in records else "",
        )
        for tp in sorted(starts)
        if tp in ends and (tp not in remotes or remotes[tp] in target_ends)
    }
    errors = [stop(error) for error in (*refused.values(), *view.unreadable.values())]
    return there, [*look.stops, *errors, *find_other_logs(move, look.logs, records)]
