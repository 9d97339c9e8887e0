"""What came of a run, and whether it was good: by the ledger, not by what attempts said about themselves."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

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
)
from kafka_mirror.copy.plan.model import BLOCKED, Plan, Range
from kafka_mirror.copy.publish import Published, publish
from kafka_mirror.copy.run_result import RunResult, batches_text
from kafka_mirror.errors import ErrorReport, NothingMoved
from kafka_mirror.formats import documents
from kafka_mirror.formats.offsets.partition import TopicPartition

DONE, NOTHING_TO_DO, FAILED = "done", "nothing to do", "failed"


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
    errors = [*plan.errors, *_is_still_true(results, plan, unreached), *published.syncs.errors]
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
    runs = sorted({copied.run for copied in elsewhere})
    return [_describe_run(run, [copied for copied in elsewhere if copied.run == run]) for run in runs]


def _describe_run(run: str, elsewhere: Sequence[CopiedElsewhere]) -> str:
    records, size = sum(copied.records for copied in elsewhere), sum(copied.bytes for copied in elsewhere)
    name = f": {run}" if run else " that has no name (by hand)"
    return f"{records} records, {size} bytes of {len(elsewhere)} partitions were copied meanwhile by another run{name}"


def _is_still_true(results: Iterable[LaneResult], plan: Plan, unreached: list[Range]) -> list[ErrorReport]:
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
