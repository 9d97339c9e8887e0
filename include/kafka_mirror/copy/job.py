"""The copy as a Spark job, by one plan or following; and what its lanes did as columns, as XCom takes them."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any, TypeVar

from kafka_mirror.config import Flow
from kafka_mirror.copy.follow import Following
from kafka_mirror.copy.model import BatchShare, CopiedElsewhere, LaneResult, RewriteReason, SkippedRecords, Watermark
from kafka_mirror.copy.plan.model import Plan
from kafka_mirror.copy.run import copy_on_spark
from kafka_mirror.copy.run_result import RunResult
from kafka_mirror.errors import ErrorReport, JobFailed
from kafka_mirror.formats import documents
from kafka_mirror.formats.documents import columns, from_document, rows_of, to_document
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.spark.driver import Spark
from kafka_mirror.spark.run import SparkRunner

STEP = "copy"
DRIVER_DIED = JobFailed(
    "The Spark job ended while its lanes copied or followed.",
    next="Look at the job's output above; what was committed is in the ledger, and the next run goes on after it.",
).report()
_WATERMARK = ("topic", "partition", "source_offset", "target_offset", "records", "bytes")
_SKIPPED = ("topic", "partition", "offset", "records", "reason")
_ELSEWHERE = ("lane", "topic", "partition", "records", "bytes", "run")
_SHARE = ("lane", "way", "batches", "records")
_REASON = ("lane", "reason", "batches", "topic", "partition")
_STOPPED = ("lane", "topic", "partition")
_ENDED = ("lane", "ended_for")
_LANE = ("lane", "watermarks", "errors", "transactions", "seconds", "skipped", "ledger_end")

Row = TypeVar("Row")


@dataclass(frozen=True)
class CopyWork:
    """What a job copies. `run` names the run in the ledger."""

    plan: Plan
    run: str = ""


@dataclass(frozen=True)
class FollowWork(CopyWork):
    """What a job copies first, before it follows `until` a time, in seconds since the epoch."""

    until: float = 0.0


def copy_plan(spark: Spark, flow: Flow, work: CopyWork) -> tuple[LaneResult, ...]:
    """The job: copies the plan's ranges, and says what each lane did."""
    return tuple(copy_on_spark(flow, work.plan, work.run, spark))


def follow_plans(spark: Spark, flow: Flow, work: FollowWork) -> RunResult:
    """The job of a run that follows: what came of all of its plans. Should its driver die, its submitter knows what it was to copy.

    On a Spark that stays it takes half of the cores, so that the next run has the other half to take over with. One core is no place for
    both: there the lanes end when their run is due.
    """

    def copy(now: Flow, planned: Plan, max_bytes: int) -> Sequence[LaneResult]:
        if not spark.is_shared:
            return copy_on_spark(now, planned, work.run, spark, max_bytes)
        cores = spark.cores()
        half = replace(spark, cores=lambda: max(1, cores // 2))
        return copy_on_spark(now, planned if cores > 1 else replace(planned, hand_over_for=0.0), work.run, half, max_bytes)

    def keep(result: RunResult) -> None:
        spark.keep(replace(result, failure=DRIVER_DIED))

    due = work.until - time.time() + time.monotonic()
    hand_over = work.plan.hand_over_for
    return Following(flow, RunResult(work.plan), work.run, due, spark.wait, plan=work.plan, hand_over=hand_over, keep=keep).run(copy)


def copy_with_spark(runner: SparkRunner, flow: Flow, plan: Plan, run: str) -> list[LaneResult]:
    """Copies the plan's ranges by a job, and returns what each lane did. Raises as `SparkRunner.run`."""
    return list(runner.run(copy_plan, flow, CopyWork(plan, run), STEP))


def follow_with_spark(runner: SparkRunner, flow: Flow, plan: Plan, run: str, due: float) -> RunResult:
    """Copies and follows by a job until `due`, by the monotonic clock. The run before it hands its lanes over, so only an earlier try of
    this run is interrupted. Raises as `SparkRunner.run`."""
    return runner.run(follow_plans, flow, FollowWork(plan, run, time.time() + due - time.monotonic()), STEP, run)


def watermarks_to_columns(watermarks: Iterable[Watermark]) -> dict[str, list[Any]]:
    """The watermarks as one list a field, all of one length: far smaller than a list of objects."""
    return documents.to_columns(_WATERMARK, watermarks)


def watermarks_from_columns(columns: Mapping[str, list[Any]]) -> tuple[Watermark, ...]:
    """Gives the watermarks that were written as columns, in the same order."""
    return documents.from_columns(Watermark, columns)


def results_to_columns(results: Iterable[LaneResult]) -> dict[str, Any]:
    """All lanes' watermarks in one table, all errors in one list, and so on, in the lanes' order; `lanes` says how many are whose."""
    results = list(results)
    rows = [
        (
            result.lane,
            len(result.watermarks),
            len(result.errors),
            result.transactions,
            round(result.seconds, 3),
            len(result.skipped),
            result.ledger_end,
        )
        for result in results
    ]
    optional = {
        "copied_elsewhere": (_ELSEWHERE, [(result.lane, *astuple(copied)) for result in results for copied in result.copied_elsewhere]),
        "batches": (_SHARE, [(result.lane, *astuple(share)) for result in results for share in result.batches]),
        "rewritten": (_REASON, [(result.lane, *astuple(why)) for result in results for why in result.rewritten]),
        "stopped": (_STOPPED, [(result.lane, *tp) for result in results for tp in result.stopped]),
        "ended_for": (_ENDED, [(result.lane, result.ended_for) for result in results if result.ended_for]),
    }
    document: dict[str, Any] = {
        "watermarks": watermarks_to_columns(mark for result in results for mark in result.watermarks),
        "errors": [to_document(error) for result in results for error in result.errors],
        "skipped": documents.to_columns(_SKIPPED, (skipped for result in results for skipped in result.skipped)),
        "lanes": columns(_LANE, rows),
    }
    return document | {name: columns(names, rows) for name, (names, rows) in optional.items() if rows}


def results_from_columns(document: Mapping[str, Any]) -> list[LaneResult]:
    """Gives what each lane did, out of the columns of all lanes."""
    marks = iter(watermarks_from_columns(document["watermarks"]))
    errors = iter([from_document(ErrorReport, error) for error in document["errors"]])
    skipped = iter(documents.from_columns(SkippedRecords, document["skipped"]))
    # What no lane has is left out.
    elsewhere = _sort_by_lane(CopiedElsewhere, _ELSEWHERE, document.get("copied_elsewhere"))
    shares = _sort_by_lane(BatchShare, _SHARE, document.get("batches"))
    reasons = _sort_by_lane(RewriteReason, _REASON, document.get("rewritten"))
    stopped = _sort_by_lane(TopicPartition, _STOPPED, document.get("stopped"))
    ended_for = dict(rows_of(_ENDED, document["ended_for"])) if "ended_for" in document else {}
    return [
        LaneResult(
            lane,
            tuple(next(marks) for _ in range(reached)),
            tuple(next(errors) for _ in range(failed)),
            transactions,
            seconds,
            tuple(next(skipped) for _ in range(passed_over)),
            ledger_end,
            tuple(elsewhere.get(lane, ())),
            tuple(shares.get(lane, ())),
            tuple(reasons.get(lane, ())),
            tuple(stopped.get(lane, ())),
            ended_for.get(lane, ""),
        )
        for lane, reached, failed, transactions, seconds, passed_over, ledger_end in rows_of(_LANE, document["lanes"])
    ]


def _sort_by_lane(row_type: Callable[..., Row], names: Sequence[str], document: Mapping[str, list[Any]] | None) -> dict[int, list[Row]]:
    """The rows of a table whose first column is the lane."""
    by_lane: dict[int, list[Row]] = {}
    for lane, *row in rows_of(names, document) if document else ():
        by_lane.setdefault(lane, []).append(row_type(*row))
    return by_lane
