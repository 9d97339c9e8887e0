"""What a run planned and did, by one plan or by several together; and whether it was good: by the ledger, not by what attempts said about
themselves."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from kafka_mirror.config import Flow
from kafka_mirror.copy.model import (
    HANDED_OVER,
    BatchShare,
    CopiedElsewhere,
    LaneResult,
    RewriteReason,
    SkippedRecords,
    Watermark,
    add_up_reasons,
    add_up_shares,
    batches_text,
)
from kafka_mirror.copy.plan.model import BLOCKED, DECIDED, Plan, Range
from kafka_mirror.copy.publish import Published, publish
from kafka_mirror.errors import ErrorReport, MirrorError, NothingMoved
from kafka_mirror.formats import documents
from kafka_mirror.formats.offsets.partition import TopicPartition, lane_of

DONE, NOTHING_TO_DO, FAILED = "done", "nothing to do", "failed"
C = TypeVar("C", Watermark, CopiedElsewhere)
Totals = tuple[int, int]
"""Records and bytes."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RunResult:
    """A run by `plans` plans. `plan` has each partition that one of them was to copy, from where the first of them began to where the last
    one was to come, with the ledger's totals of before the first. Its errors are those of the newest plan: what is still true."""

    plan: Plan
    results: tuple[LaneResult, ...] = ()
    plans: int = 1
    failure: ErrorReport | None = None
    """Why no further plan could be made, if that is how the run ended."""

    @property
    def whole_plan(self) -> Plan:
        """The plan, with the failure among its errors."""
        return self.plan if self.failure is None else replace(self.plan, errors=(*self.plan.errors, self.failure))

    @property
    def errors(self) -> list[ErrorReport]:
        """What its lanes failed with, and why no further plan could be made."""
        return [*(error for result in self.results for error in result.errors), *([self.failure] if self.failure else ())]

    @property
    def bytes(self) -> int:
        """How many bytes the lanes say that they copied."""
        return sum(result.bytes for result in self.results)

    def with_plan(self, plan: Plan, plans: int = 1) -> "RunResult":
        """This result with a newer plan, after `plans` more of them. The ranges stay those of before."""
        of_lanes = {(error.code, error.topic, error.partition, error.offset) for result in self.results for error in result.errors}
        errors = [error for error in plan.errors if (error.code, error.topic, error.partition, error.offset) not in of_lanes]
        notices = tuple(dict.fromkeys((*self.plan.notices, *plan.notices)))
        newest = replace(
            plan, ranges=self.plan.ranges, errors=tuple(errors), notices=notices, time=self.plan.time, by_person=self.plan.by_person
        )
        return replace(self, plan=newest, plans=self.plans + plans, failure=None)

    def with_results(self, plan: Plan, answers: Iterable[LaneResult]) -> "RunResult":
        """This result with what the lanes answered for the ranges of a plan."""
        ranges = {planned.topic_partition: planned for planned in self.plan.ranges}
        for planned in plan.ranges:
            tp = planned.topic_partition
            ranges[tp] = _longer(ranges[tp], planned) if tp in ranges else planned
        again = {planned.topic_partition for planned in plan.ranges}
        results = {result.lane: result for result in self.results}
        for answer in answers:
            if answer.lane in results and plan.ranges:  # else no lane was tried again
                results[answer.lane] = _drop_errors(results[answer.lane], again)
            results[answer.lane] = join_results(results[answer.lane], answer) if answer.lane in results else answer
        return replace(self, plan=replace(self.plan, ranges=tuple(ranges.values())), results=tuple(results.values()))

    def with_failure(self, plan: Plan, error: ErrorReport, lanes: int, *, is_followed: bool) -> "RunResult":
        """This result with why the copy by a plan ended without an answer, as an error of its first range's lane: it counts unless the
        ledger has all of the ranges; of a copy that follows in any case."""
        first = plan.ranges[0].topic_partition
        return self.with_results(plan, [LaneResult(lane_of(*first, lanes), errors=(error,), stopped=(first,) if is_followed else ())])

    def drop_idle_lane_errors(self, plan: Plan, lanes: int) -> "RunResult":
        """This result without the errors of lanes that have no work by the newest plan: they left nothing undone."""
        busy = {lane_of(planned.topic, planned.partition, lanes) for planned in plan.ranges if planned.is_work}
        results = (result if result.lane in busy else _drop_errors(result, frozenset()) for result in self.results)
        return replace(self, results=tuple(results))

    def merge(self, later: "RunResult") -> "RunResult":
        """This result with a later one of the same run, which went on by the newest plan."""
        both = self.with_results(later.plan, later.results).with_plan(later.plan, later.plans - 1)
        return replace(both, failure=later.failure)

    def find_copied_elsewhere(self, plan: Plan, runs: Mapping[TopicPartition, str], run: str, lanes: int) -> list[LaneResult]:
        """What other runs copied of a plan's partitions since this one had them last, as results of their lanes.

        `runs` says which run wrote each partition's ledger record. Where it is this one, what its lanes do not know of is theirs as well.
        """
        before = {planned.topic_partition: (planned.records, planned.bytes) for planned in self.plan.ranges}
        ours = {tp: totals for result in self.results for tp, totals in growth(result).items()}
        counts = []
        for planned in plan.ranges:
            tp = planned.topic_partition
            if tp not in before or runs.get(tp, run) == run:
                continue
            now, own = (planned.records, planned.bytes), ours.get(tp, (0, 0))
            records, size = (now[n] - before[tp][n] - own[n] for n in (0, 1))
            if records > 0:
                copied = CopiedElsewhere(*tp, records, max(0, size), runs[tp])
                counts.append(LaneResult(lane_of(*tp, lanes), copied_elsewhere=(copied,)))
        return counts


def copy_once(flow: Flow, plan: Plan, copy: Callable[[Plan], Iterable[LaneResult]]) -> RunResult:
    """What came of a run by one plan. Where the copy as a whole failed, the ledger says what it committed before."""
    if not plan.has_work:
        return RunResult(plan)
    try:
        return RunResult(plan).with_results(plan, copy(plan))
    except MirrorError as error:
        log.warning("%s", error)
        return RunResult(plan).with_failure(plan, error.report(), flow.value("mirror.lanes"), is_followed=False)


def _drop_errors(result: LaneResult, again: Set[TopicPartition]) -> LaneResult:
    """A lane's result without the errors that its next one repeats or has got over: those of these partitions, and of the whole lane."""
    topics = {tp.topic for tp in again}
    errors = [
        error
        for error in result.errors
        if error.topic is not None
        and (error.topic not in topics if error.partition is None else TopicPartition(error.topic, error.partition) not in again)
    ]
    return replace(result, errors=tuple(errors), stopped=tuple(tp for tp in result.stopped if tp not in again))


def _longer(first: Range, newest: Range) -> Range:
    """The range of a partition of two plans. Where a person let it go on elsewhere, it begins there."""
    start = newest.start if newest.reason == DECIDED or newest.start < first.start else first.start
    decisions = tuple(dict.fromkeys((*first.decisions, *newest.decisions)))
    return replace(newest, start=start, records=first.records, bytes=first.bytes, decisions=decisions)


def growth(result: LaneResult) -> dict[TopicPartition, Totals]:
    """By how many records and bytes the ledger's totals grew, as far as the lane knows."""
    grown: dict[TopicPartition, Totals] = {}
    counted: list[Watermark | CopiedElsewhere] = [*result.watermarks, *result.copied_elsewhere]
    for mark in counted:
        records, size = grown.get(TopicPartition(mark.topic, mark.partition), (0, 0))
        grown[TopicPartition(mark.topic, mark.partition)] = (records + mark.records, size + mark.bytes)
    return grown


def join_results(first: LaneResult, second: LaneResult) -> LaneResult:
    """What a lane did, one result after the other. An error that came again counts once, as it came last."""
    errors = {(error.code, error.topic, error.partition): error for error in (*first.errors, *second.errors)}
    skipped: dict[TopicPartition, SkippedRecords] = {}
    for records in (*first.skipped, *second.skipped):
        tp = TopicPartition(records.topic, records.partition)
        skipped[tp] = replace(skipped[tp], records=skipped[tp].records + records.records) if tp in skipped else records
    return LaneResult(
        first.lane,
        _add_up((*first.watermarks, *second.watermarks)),
        tuple(errors.values()),
        first.transactions + second.transactions,
        first.seconds + second.seconds,
        tuple(skipped[tp] for tp in sorted(skipped)),
        max(first.ledger_end, second.ledger_end),
        _add_up((*first.copied_elsewhere, *second.copied_elsewhere)),
        add_up_shares((*first.batches, *second.batches)),
        add_up_reasons((*first.rewritten, *second.rewritten)),
        tuple(sorted({*first.stopped, *second.stopped})),
        second.ended_for,
    )


def _add_up(counts: Iterable[C]) -> tuple[C, ...]:
    """The last of each partition, with the records and bytes of all."""
    summed: dict[TopicPartition, C] = {}
    for counted in counts:
        tp = TopicPartition(counted.topic, counted.partition)
        before = summed.get(tp)
        summed[tp] = replace(counted, records=counted.records + before.records, bytes=counted.bytes + before.bytes) if before else counted
    return tuple(summed[tp] for tp in sorted(summed))


@dataclass(frozen=True)
class Verdict:
    """`state` is done, nothing to do, or failed. `owed` are source offsets that were planned and are left for the next run; `skipped` are
    records that this run passed over (errors.tolerance=all)."""

    state: str
    errors: tuple[ErrorReport, ...] = ()
    notices: tuple[str, ...] = ()
    records: int = 0
    bytes: int = 0
    owed: int = 0
    skipped: int = 0
    copied_elsewhere: tuple[CopiedElsewhere, ...] = ()
    """What other runs copied meanwhile; `records` and `bytes` are this run's alone."""
    batches: tuple[BatchShare, ...] = ()
    """How the source's batches went, as the lanes tell."""
    rewritten: tuple[RewriteReason, ...] = ()
    """Why batches were rewritten."""
    watermarks: tuple[Watermark, ...] = ()
    """How far the partitions are by the ledger that had work, or that something came to."""
    offset_syncs: int = 0
    """How many offset syncs were written."""

    @property
    def retriable(self) -> bool:
        """Whether every error may mend itself when the run is simply repeated."""
        return all(error.retriable for error in self.errors)

    def __str__(self) -> str:
        owed = f", {self.owed} offsets left for the next run" if self.owed else ""
        owed += f", {self.skipped} records skipped" if self.skipped else ""
        sentences = [*batches_text(self.batches, self.rewritten), *describe_other_runs(self.copied_elsewhere)]
        owed += "".join(f"; {sentence}" for sentence in sentences)
        errors = "".join(f"\n- {error}" for error in self.errors)
        return f"{self.state}: {self.records} records, {self.bytes} bytes copied{owed}{errors}"


_WATERMARK = ("topic", "partition", "source_offset", "target_offset", "records", "bytes")


def to_columns(judged: Verdict) -> dict[str, Any]:
    """The verdict as JSON takes it, with its watermarks by column."""
    document: dict[str, Any] = documents.to_document(replace(judged, watermarks=()))
    return document | {"watermarks": documents.to_columns(_WATERMARK, judged.watermarks)}


def from_columns(document: Mapping[str, Any]) -> Verdict:
    """Gives the verdict whose watermarks stand as columns in the document."""
    judged = documents.from_document(Verdict, {**document, "watermarks": []})
    return replace(judged, watermarks=documents.from_columns(Watermark, document["watermarks"]))


def publish_and_judge(flow: Flow, result: RunResult, run: str | None = None) -> Verdict:
    """What came of a run whose lanes have ended, well or not: by the ledger, with the offset syncs written that are due. `run` is its name
    in the ledger; None: it has none. Raises as `publish`."""
    plan = result.whole_plan
    return verdict(plan, result.results, publish(flow, plan, result.results, run=run))


def verdict(plan: Plan, results: Sequence[LaneResult], published: Published) -> Verdict:
    """Judges a run by what its lanes answered. A lane's error does not count where the planned ends were reached all the same, by whichever
    attempt; unless the lane had reached them and followed."""
    reached = {TopicPartition(mark.topic, mark.partition): mark.source_offset for mark in published.watermarks}
    ranges = [p for p in plan.ranges if p.is_work or reached.get(p.topic_partition, p.start) > p.start]
    unreached = [planned for planned in ranges if reached.get(planned.topic_partition, -1) < planned.end]
    errors = [*plan.errors, *_list_still_true(results, plan, unreached), *published.syncs.errors]
    records = sum(mark.records for mark in published.watermarks)
    moved = any(reached.get(p.topic_partition, p.start) > p.start for p in ranges)
    if any(result.ended_for == HANDED_OVER for result in results):
        pass  # what is left is the next run's, which has the lanes
    elif unreached and not moved and not errors:
        errors.append(NothingMoved.in_a_run(len(unreached), _names(unreached)).report())
    elif waiting := _list_without_turn(unreached, reached, errors):
        errors.append(NothingMoved.for_want_of_budget(len(waiting), _names(waiting)).report())
    skipped = sorted(
        (interval for result in results for interval in result.skipped), key=lambda interval: (interval.topic, interval.partition)
    )
    state = FAILED if errors else DONE if ranges else NOTHING_TO_DO
    counted = {planned.topic_partition for planned in ranges}
    return Verdict(
        state=state,
        errors=tuple(dict.fromkeys(errors)),
        notices=(*plan.notices, *published.disagreements, *published.syncs.notices, *_describe_skipped(skipped)),
        records=records,
        bytes=sum(mark.bytes for mark in published.watermarks),
        owed=sum(planned.end - max(planned.start, reached.get(planned.topic_partition, planned.start)) for planned in unreached),
        skipped=sum(interval.records for interval in skipped),
        copied_elsewhere=published.copied_elsewhere,
        batches=add_up_shares(share for result in results for share in result.batches),
        rewritten=add_up_reasons(why for result in results for why in result.rewritten),
        watermarks=tuple(mark for mark in published.watermarks if (mark.topic, mark.partition) in counted),
        offset_syncs=published.syncs.pairs,
    )


def describe_other_runs(elsewhere: Sequence[CopiedElsewhere]) -> list[str]:
    """What each other run copied meanwhile, in words for a person."""
    sentences = []
    for run in sorted({copied.run for copied in elsewhere}):
        of_run = [copied for copied in elsewhere if copied.run == run]
        records, size = sum(copied.records for copied in of_run), sum(copied.bytes for copied in of_run)
        name = f": {run}" if run else " that has no name (by hand)"
        sentences.append(f"{records} records, {size} bytes of {len(of_run)} partitions were copied meanwhile by another run{name}")
    return sentences


def _list_still_true(results: Iterable[LaneResult], plan: Plan, unreached: list[Range]) -> list[ErrorReport]:
    """The errors of partitions that are behind, and those of whole lanes, topics or the ledger if anything is behind: before its planned
    end, or where its lane stopped following it."""
    planned = {owed.topic_partition for owed in plan.ranges}
    behind = {owed.topic_partition for owed in unreached}.union(*(result.stopped for result in results))
    errors: list[ErrorReport] = []
    for error in (error for result in results for error in result.errors):
        tp = TopicPartition(error.topic or "", -1 if error.partition is None else error.partition)
        if tp in behind or (tp not in planned and behind):
            errors.append(error)
    return errors


def _list_without_turn(unreached: list[Range], reached: Mapping[TopicPartition, int], errors: list[ErrorReport]) -> list[Range]:
    """The partitions that were stuck before and of which this run says nothing: its budget ended before they were tried."""
    explained = {(error.topic, error.partition) for error in errors}
    if any(topic is None for topic, _ in explained):
        return []
    return [
        planned
        for planned in unreached
        if planned.reason == BLOCKED
        and reached.get(planned.topic_partition, planned.start) <= planned.start
        and not {(planned.topic, planned.partition), (planned.topic, None)} & explained
    ]


def _describe_skipped(skipped: Sequence[SkippedRecords]) -> list[str]:
    if not skipped:
        return []
    records, first = sum(interval.records for interval in skipped), skipped[0]
    return [
        f"errors.tolerance=all: {records} records of {len(skipped)} partitions were skipped and are missing on the target; the first is "
        f"{first.topic}-{first.partition}@{first.offset} ({first.reason}). The ledger has all of them."
    ]


def _names(ranges: Sequence[Range]) -> str:
    return ", ".join(f"{planned.topic_partition}@{planned.start}" for planned in ranges[:5]) + (" …" if len(ranges) > 5 else "")
