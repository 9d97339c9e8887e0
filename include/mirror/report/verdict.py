"""Whether a run was good: by the ledger, not by what attempts said about themselves."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mirror.copy.model import CopiedElsewhere, LaneResult, SkippedRecords
from mirror.errors import ErrorReport, JobFailed, NothingMoved
from mirror.offsets.partition import TopicPartition
from mirror.plan.model import BLOCKED, Plan, Range
from mirror.report.publish import Published

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

    @property
    def retriable(self) -> bool:
        """Whether every error may mend itself when the run is simply repeated."""
        return all(error.retriable for error in self.errors)

    def __str__(self) -> str:
        owed = f", {self.owed} offsets left for the next run" if self.owed else ""
        owed += f", {self.skipped} records skipped" if self.skipped else ""
        owed += "".join(f"; {told}" for told in others_told(self.copied_elsewhere))
        errors = "".join(f"\n- {error}" for error in self.errors)
        return f"{self.state}: {self.records} records, {self.bytes} bytes copied{owed}{errors}"


def verdict(plan: Plan, answers: Iterable[LaneResult] | None, published: Published) -> Verdict:
    """Judges a run by what its lanes answered, None if the job ended without a word. A lane's error does not count where the planned ends
    were reached all the same, by whichever attempt."""
    results = list(answers or ())
    reached = {TopicPartition(mark.topic, mark.partition): mark.source_offset for mark in published.watermarks}
    left = [planned for planned in plan.ranges if reached.get(planned.topic_partition, -1) < planned.end]
    errors = [*plan.errors, *_still_true(results, plan, left), *published.syncs.errors]
    records = sum(mark.records for mark in published.watermarks)
    moved = any(reached.get(p.topic_partition, p.start) > p.start for p in plan.ranges)
    if left and answers is None:
        errors.append(_no_result(left).report())
    elif left and not moved and not errors:
        errors.append(_nothing_moved(left).report())
    elif waiting := _without_turn(left, reached, errors):
        errors.append(_no_turn(waiting).report())
    skipped = sorted((each for result in results for each in result.skipped), key=lambda each: (each.topic, each.partition))
    state = FAILED if errors else DONE if plan.ranges else NOTHING_TO_DO
    return Verdict(
        state=state,
        errors=tuple(dict.fromkeys(errors)),
        notices=(*plan.notices, *published.disagreements, *published.syncs.notices, *_skipped_notice(skipped)),
        records=records,
        bytes=sum(mark.bytes for mark in published.watermarks),
        owed=sum(planned.end - max(planned.start, reached.get(planned.topic_partition, planned.start)) for planned in left),
        skipped=sum(each.records for each in skipped),
        copied_elsewhere=published.copied_elsewhere,
    )


def others_told(found: Sequence[CopiedElsewhere]) -> list[str]:
    """What each other run copied meanwhile, as a person is told."""
    runs = sorted({each.run for each in found})
    return [_told(run, [each for each in found if each.run == run]) for run in runs]


def _told(run: str, found: Sequence[CopiedElsewhere]) -> str:
    records, size = sum(each.records for each in found), sum(each.bytes for each in found)
    name = f": {run}" if run else " that has no name (by hand, or an older mirror)"
    return f"{records} records, {size} bytes of {len(found)} partitions were copied meanwhile by another run{name}"


def _still_true(results: list[LaneResult], plan: Plan, left: list[Range]) -> list[ErrorReport]:
    """The errors of partitions that are behind, and those of whole lanes, topics or the ledger if anything is behind."""
    planned = {each.topic_partition for each in plan.ranges}
    behind = {each.topic_partition for each in left}
    errors: list[ErrorReport] = []
    for error in (error for result in results for error in result.errors):
        tp = TopicPartition(error.topic or "", -1 if error.partition is None else error.partition)
        if tp in behind or (tp not in planned and behind):
            errors.append(error)
    return errors


def _without_turn(left: list[Range], reached: Mapping[TopicPartition, int], errors: list[ErrorReport]) -> list[Range]:
    """The partitions that were stuck before and of which this run says nothing: its budget ended before they were tried."""
    told = {(error.topic, error.partition) for error in errors}
    if any(topic is None for topic, _ in told):
        return []
    return [
        planned
        for planned in left
        if planned.reason == BLOCKED
        and reached.get(planned.topic_partition, planned.start) <= planned.start
        and not {(planned.topic, planned.partition), (planned.topic, None)} & told
    ]


def _skipped_notice(skipped: Sequence[SkippedRecords]) -> list[str]:
    if not skipped:
        return []
    records, first = sum(each.records for each in skipped), skipped[0]
    return [
        f"errors.tolerance=all: {records} records of {len(skipped)} partitions were skipped and are missing on the target; the first is "
        f"{first.topic}-{first.partition}@{first.offset} ({first.reason}). The ledger has all of them."
    ]


def _no_result(left: list[Range]) -> JobFailed:
    return JobFailed(
        f"The copy ended without a result, and {len(left)} partitions did not come to where it was planned ({_shown(left)}).",
        next="The log of the task copy says why it ended; the next run goes on behind what was committed.",
    )


def _nothing_moved(left: list[Range]) -> NothingMoved:
    return NothingMoved(
        f"{len(left)} partitions had work and none of them moved ({_shown(left)}).",
        next="Look at the copy task's log; the next run tries again.",
    )


def _no_turn(left: list[Range]) -> NothingMoved:
    return NothingMoved(
        f"{len(left)} partitions are stuck and were not tried again, for the run's budget was spent ({_shown(left)}).",
        next="What each is stuck at says python -m mirror status; the next runs try them in turn, the least recently tried first. "
        "A larger mirror.run.max.seconds lets a run try more of them.",
    )


def _shown(ranges: Sequence[Range]) -> str:
    return ", ".join(f"{planned.topic_partition}@{planned.start}" for planned in ranges[:5]) + (" …" if len(ranges) > 5 else "")
