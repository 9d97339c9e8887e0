"""A large audit as the tasks of a Spark job: shares of stretches, and parts of the stretches that are too large for one task.

first round     a large stretch is cut where the offset map ties both sides together, and the closed batches of each part are compared
second round    what is not proven equal by that is read: each side is cut by offsets, without regard to the other one
third round     where that differs, both sides are read from the first block that does, as ever

In the second round the records themselves say where blocks end, so the blocks of the pieces together are those of the whole (`Piece`), and
both sides' are held against each other once they are joined.
"""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from kafka_mirror.audit.batch_reader import equal_ranges
from kafka_mirror.audit.compare_ranges import compare_audit_ranges, outcome_of_digests
from kafka_mirror.audit.copied_ranges import AuditRange, Outcome, pair_at_or_after
from kafka_mirror.audit.digest import Digest, Piece
from kafka_mirror.audit.reader import AuditContext, audit_context, parts_of, sides_of
from kafka_mirror.audit.run import Compare
from kafka_mirror.config import Flow
from kafka_mirror.errors import ErrorReport, MirrorError
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.reader import Part
from kafka_mirror.spark.run import Spark, SparkRunner, runner_by_hand

MOST_STRETCHES = 500
"""How many stretches one task compares at most; most of a small one's time is waiting for brokers."""

ON_WORKERS = "kafka_mirror.audit.parallel:work_on_all"
"""What a worker of Spark runs."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PartTask:
    """A part of both sides of the stretch with this number, whose closed batches are compared."""

    stretch: int
    part: AuditRange


@dataclass(frozen=True)
class PartAnswer:
    """What came of a part; without an outcome it is not proven equal."""

    task: PartTask
    outcome: Outcome | None
    error: ErrorReport | None = None


@dataclass(frozen=True)
class PieceTask:
    """A piece of one side of the stretch with this number."""

    stretch: int
    of_source: bool
    tp: TopicPartition
    part: Part
    piece: Piece


@dataclass(frozen=True)
class PieceDigest:
    """The blocks of a piece, or why they could not be read."""

    task: PieceTask
    digest: Digest
    error: ErrorReport | None = None


@dataclass(frozen=True)
class DigestedRange:
    """A stretch whose pieces have been read, and the digests of its sides."""

    stretch: AuditRange
    source: Digest
    target: Digest


Task = Sequence[AuditRange] | PartTask | PieceTask | DigestedRange
Answer = Outcome | PartAnswer | PieceDigest


def compare_on_spark(context: AuditContext, stretches: Sequence[AuditRange], least: int, spark: Spark) -> list[Outcome]:
    """Compares the stretches on the workers of a Spark, in up to three rounds; their outcomes in any order. No part has fewer than `least`
    offsets unless its stretch has."""
    cores = spark.cores()

    def answers(tasks: Sequence[Task]) -> list[Any]:
        return spark.run(ON_WORKERS, [(context, task) for task in tasks], len(tasks))

    outcomes, unproven = merge_parts(stretches, answers(tasks_of(stretches, cores, least)))
    read, different = merge_pieces(unproven, answers(piece_tasks(unproven, cores, least)))
    return outcomes + read + answers(different)


def tasks_of(stretches: Sequence[AuditRange], cores: int, least: int) -> list[Task]:
    """The tasks of a first round for this many cores. A stretch is cut where it has more than a core's share of all, and no part has fewer
    than `least` offsets unless the stretch has."""
    share = _compute_share(stretches, cores, least)
    cut = {
        number: audit_range
        for number, audit_range in enumerate(stretches)
        if audit_range.offsets > share and not audit_range.is_head and not audit_range.compacted
    }
    parts = [PartTask(number, part) for number, audit_range in cut.items() for part in cut_at_pairs(audit_range, share)]
    return [*split_evenly([audit_range for number, audit_range in enumerate(stretches) if number not in cut], cores), *parts]


def piece_tasks(stretches: Sequence[AuditRange], cores: int, least: int) -> list[Task]:
    """A second round of tasks for this many cores: pieces of each stretch, none of fewer than `least` offsets unless the stretch has."""
    share = _compute_share(stretches, cores, least)
    return [
        piece
        for number, audit_range in enumerate(stretches)
        for piece in _cut_pieces(number, audit_range, -(-audit_range.offsets // share))
    ]


def cut_at_pairs(stretch: AuditRange, share: int) -> list[AuditRange]:
    """Parts of a stretch of at least this many offsets, each of both sides; fewer parts where the offset map is coarse."""
    parts, rest = list[AuditRange](), stretch
    while (pair := pair_at_or_after(stretch.runs, rest.start + share)) is not None:
        if pair.source >= stretch.end or not rest.target_start <= pair.target <= stretch.target_end:
            break
        parts.append(replace(rest, end=pair.source, target_end=pair.target))
        rest = replace(rest, start=pair.source, target_start=pair.target)
    return [*parts, rest]


def work_on(context: AuditContext, task: Task) -> list[Answer]:
    """Does a task, of any round. Never raises an error of ours: one task would end the job for all."""
    if isinstance(task, PartTask):
        return [PartAnswer(task, equal_ranges(context, [task.part], opens_all=True).get(task.part))]
    if isinstance(task, DigestedRange):
        return [outcome_of_digests(context, task.stretch, task.source, task.target)]
    if isinstance(task, PieceTask):
        try:
            digest = sides_of(context)[0 if task.of_source else 1].read_piece(task.tp, task.part, task.piece)
        except MirrorError as error:
            return [PieceDigest(task, Digest(), error.report())]
        return [PieceDigest(task, digest)]
    return list(compare_audit_ranges(context, task))


def work_on_all(tasks: Iterable[tuple[AuditContext, Task]]) -> Iterator[Answer]:
    """Does the tasks that a Spark worker was given, one by one, and logs each."""
    for context, task in tasks:
        began = time.monotonic()
        answers = work_on(context, task)
        failed = sum(answer.error is not None for answer in answers)
        log.info("%s: %s in %.1f s%s.", context.flow, _say(task), time.monotonic() - began, f", {failed} with an error" if failed else "")
        yield from answers


def merge_parts(stretches: Sequence[AuditRange], answers: Sequence[Answer]) -> tuple[list[Outcome], list[AuditRange]]:
    """The outcomes of a first round, and the stretches that were cut and are not proven equal: what the second one reads."""
    outcomes = [answer for answer in answers if isinstance(answer, Outcome)]
    compared: dict[int, list[Outcome | None]] = {}
    for answer in answers:
        if isinstance(answer, PartAnswer):
            compared.setdefault(answer.task.stretch, []).append(answer.outcome)
    unproven = []
    for number, parts in sorted(compared.items()):
        equal = [part for part in parts if part is not None]
        if len(equal) < len(parts):
            unproven.append(stretches[number])
        else:
            records = sum(part.source_records for part in equal)
            outcomes.append(Outcome(stretches[number], source_records=records, target_records=records))
    return outcomes, unproven


def merge_pieces(stretches: Sequence[AuditRange], answers: Sequence[Answer]) -> tuple[list[Outcome], list[DigestedRange]]:
    """The outcomes of a second round, and the stretches that differ: the tasks of the third one."""
    outcomes = [outcome for outcome in answers if isinstance(outcome, Outcome)]
    read: dict[int, list[PieceDigest]] = {}
    for outcome in answers:
        if isinstance(outcome, PieceDigest):
            read.setdefault(outcome.task.stretch, []).append(outcome)
    second = []
    for number, pieces in sorted(read.items()):
        error = next((piece.error for piece in pieces if piece.error is not None), None)
        if error is not None:
            outcomes.append(Outcome(stretches[number], error=error))
        else:
            pieces.sort(key=lambda piece: piece.task.part.start)
            source, target = (
                Digest(tuple(block for piece in pieces if piece.task.of_source == of_source for block in piece.digest.blocks))
                for of_source in (True, False)
            )
            if source.find_different_block(target) is None:
                outcomes.append(Outcome.of(stretches[number], source, target))
            else:
                second.append(DigestedRange(stretches[number], source, target))
    return outcomes, second


def split_evenly(stretches: Sequence[AuditRange], cores: int) -> list[list[AuditRange]]:
    """The stretches in as many shares as there are cores, about equally large; more where a share would have too many."""
    count = min(len(stretches), max(cores, -(-len(stretches) // MOST_STRETCHES)))
    result: list[list[AuditRange]] = [[] for _ in range(count)]
    sizes = [0] * count
    for stretch in sorted(stretches, key=lambda audit_range: -audit_range.offsets):
        smallest = min(range(count), key=lambda number: (sizes[number], len(result[number])))
        result[smallest].append(stretch)
        sizes[smallest] += stretch.offsets
    return result


def _compute_share(stretches: Sequence[AuditRange], cores: int, least: int) -> int:
    return max(least, -(-sum(audit_range.offsets for audit_range in stretches) // max(cores, 1)), 1)


def _say(task: Task) -> str:
    if isinstance(task, PartTask):
        return f"{task.part.source} compared from {task.part.start} to {task.part.end} by closed batches"
    if isinstance(task, DigestedRange):
        return f"{task.stretch.source} read from the first block that differs"
    if isinstance(task, PieceTask):
        return f"{task.tp} read from {task.part.start} to {task.part.end} on the {'source' if task.of_source else 'target'}"
    offsets = sum(audit_range.offsets for audit_range in task)
    return f"{offsets:,} offsets of {len({audit_range.source for audit_range in task}):,} partitions compared"


def _cut_pieces(number: int, stretch: AuditRange, count: int) -> Iterator[PieceTask]:
    for of_source, tp, part in zip((True, False), (stretch.source, stretch.remote), parts_of(stretch), strict=True):
        size = max(-(-(part.end - part.start) // count), 1)
        starts = [*range(part.start, part.end, size)] or [part.start]
        cuts = (*starts[1:], part.end)
        for start, end in zip(starts, cuts, strict=True):
            yield PieceTask(number, of_source, tp, part._replace(start=start), Piece(start == part.start, end, cuts))


@dataclass(frozen=True)
class AuditWork:
    """What a job compares."""

    stretches: tuple[AuditRange, ...]
    show_payload: bool = False


def compare_stretches(spark: Spark, flow: Flow, work: AuditWork) -> tuple[Outcome, ...]:
    """The job: compares the stretches on the workers of a Spark; their outcomes in any order."""
    context, least = audit_context(flow, work.show_payload), flow.value("mirror.audit.spark.threshold")
    return tuple(compare_on_spark(context, work.stretches, least, spark))


def choose_by_size(flow: Flow, on_spark: Compare, in_process: Compare = compare_audit_ranges) -> Compare:
    """Compares in this process what is small, and on Spark what is more than mirror.audit.spark.threshold."""

    def compare(context: AuditContext, stretches: Sequence[AuditRange]) -> list[Outcome]:
        few = sum(stretch.offsets for stretch in stretches) <= flow.value("mirror.audit.spark.threshold")
        return in_process(context, stretches) if few else on_spark(context, stretches)

    return compare


def compare_by_job(flow: Flow, runner: Callable[[], SparkRunner], by: str) -> Compare:
    """Compares by a job; `by` as in `SparkRunner.run`. Raises what that raises."""

    def compare(context: AuditContext, stretches: Sequence[AuditRange]) -> list[Outcome]:
        return list(runner().run(compare_stretches, flow, AuditWork(tuple(stretches), context.show_payload), "audit", by))

    return compare


def compare_by_hand(flow: Flow, master: str | None, by: str) -> Compare:
    """Compares by a job on the Spark that the command or the flow names, where `by` says which command it is."""
    return compare_by_job(flow, partial(runner_by_hand, flow, master), f"hand: {by}")
