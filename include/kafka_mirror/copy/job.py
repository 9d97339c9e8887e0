"""The copy as a Spark job: its plan goes in, its lanes' results come out.

Both are JSON, the results as columns, in the job's files and in XCom alike.
"""

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any, TypeVar

from kafka_mirror.config import Flow
from kafka_mirror.copy.model import BatchShare, CopiedElsewhere, LaneResult, RewriteReason, SkippedRecords, Watermark
from kafka_mirror.copy.run_result import RunResult
from kafka_mirror.errors import ErrorReport, JobFailed
from kafka_mirror.formats import documents
from kafka_mirror.formats.documents import columns, from_document, rows_of, to_document
from kafka_mirror.offsets.partition import TopicPartition
from kafka_mirror.plan.model import Plan, from_columns, to_columns
from kafka_mirror.spark.files import JobFiles, job_directory, read_answer, write_private
from kafka_mirror.spark.start import JOBS, LOCAL_MASTER
from kafka_mirror.spark.submit import Job, submit

_WATERMARK = ("topic", "partition", "source_offset", "target_offset", "records", "bytes")
_SKIPPED = ("topic", "partition", "offset", "records", "reason")
_ELSEWHERE = ("lane", "topic", "partition", "records", "bytes", "run")
_SHARE = ("lane", "way", "batches", "records")
_REASON = ("lane", "reason", "batches", "topic", "partition")
_STOPPED = ("lane", "topic", "partition")
_ENDED = ("lane", "ended_for")
_LANE = ("lane", "watermarks", "errors", "transactions", "seconds", "skipped", "ledger_end")

Row = TypeVar("Row")


def watermarks_to_columns(watermarks: Iterable[Watermark]) -> dict[str, list[Any]]:
    """The watermarks as one list a field, all of one length: far smaller than a list of objects."""
    return documents.to_columns(_WATERMARK, watermarks)


def watermarks_from_columns(columns: Mapping[str, list[Any]]) -> tuple[Watermark, ...]:
    """The opposite of `watermarks_to_columns`."""
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
    """The opposite of `results_to_columns`."""
    marks = iter(watermarks_from_columns(document["watermarks"]))
    errors = iter([from_document(ErrorReport, error) for error in document["errors"]])
    skipped = iter(documents.from_columns(SkippedRecords, document["skipped"]))
    # What no lane has is left out.
    elsewhere = _by_lane(CopiedElsewhere, _ELSEWHERE, document.get("copied_elsewhere"))
    shares = _by_lane(BatchShare, _SHARE, document.get("batches"))
    reasons = _by_lane(RewriteReason, _REASON, document.get("rewritten"))
    stopped = _by_lane(TopicPartition, _STOPPED, document.get("stopped"))
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


def _by_lane(row_type: Callable[..., Row], names: Sequence[str], document: Mapping[str, list[Any]] | None) -> dict[int, list[Row]]:
    """The rows of a table whose first column is the lane."""
    by_lane: dict[int, list[Row]] = {}
    for lane, *row in rows_of(names, document) if document else ():
        by_lane.setdefault(lane, []).append(row_type(*row))
    return by_lane


@contextmanager
def job_files(plan: Plan) -> Iterator[JobFiles]:
    """`job_directory` with a plan."""
    with job_directory(to_columns(plan)) as files:
        yield files


def read_plan(path: Path) -> Plan:
    """The plan that the submitter wrote."""
    return from_columns(json.loads(path.read_text(encoding="utf-8")))


def write_results(path: Path, results: Iterable[LaneResult]) -> None:
    """Hands the lanes' results back to the submitter."""
    write_private(path, {"results": results_to_columns(results)})


def run_to_columns(result: RunResult) -> dict[str, Any]:
    """A run that follows: its lanes' results, and what all of its plans were together."""
    failure = to_document(result.failure)
    return {"results": results_to_columns(result.results), "plan": to_columns(result.plan), "plans": result.plans, "failure": failure}


def run_from_columns(document: Mapping[str, Any]) -> RunResult:
    """The opposite of `run_to_columns`."""
    failure = from_document(ErrorReport, document["failure"]) if document["failure"] else None
    results = tuple(results_from_columns(document["results"]))
    return RunResult(from_columns(document["plan"]), results, document["plans"], failure)


def keep_run(path: Path, result: RunResult) -> None:
    """Writes down how far a run is that follows. Should its driver die, its submitter knows what it was to copy."""
    failure = JobFailed(
        "The Spark job ended while its lanes copied or followed.",
        next="Look at the job's output above; what was committed is in the ledger, and the next run goes on behind it.",
    )
    write_run(path, replace(result, failure=failure.report()))


def write_run(path: Path, result: RunResult) -> None:
    """Hands a run that followed back to the submitter."""
    write_private(path, run_to_columns(result))


def read_run(path: Path, detail: str = "") -> RunResult:
    """What a run that followed did. Raises as `read_answer`."""
    return run_from_columns(read_answer(path, detail))


def read_results(path: Path, detail: str = "") -> list[LaneResult]:
    """What the lanes did. Raises as `read_answer`."""
    return results_from_columns(read_answer(path, detail)["results"])


JOB = JOBS / "copy_ranges.py"


def arguments(files: JobFiles, flow: str, run: str, due: float | None = None) -> list[str]:
    """The job's own arguments. `run` names the run in the ledger; `due` says that it follows, and until when by the monotonic clock: while
    this process lives."""
    following = () if due is None else (str(time.time() + due - time.monotonic()), str(os.getpid()))
    return [str(files.plan), str(files.result), flow, run, *following]


def copy_with_spark(flow: Flow, plan: Plan, run: str = "", master: str = LOCAL_MASTER) -> list[LaneResult]:
    """Copies the plan's ranges through a Spark job whose driver is on this host, and returns what each lane did.

    `master` is the Spark cluster. The job's output goes to our standard error. Raises what the job reports, and JobFailed when it ends
    without a result.
    """
    with job_files(plan) as files:
        job = Job(JOB, f"mirror copy {plan.flow}", arguments(files, plan.flow, run))
        return read_results(files.result, submit(job, files, flow, master))


def follow_with_spark(flow: Flow, plan: Plan, run: str, master: str, due: float) -> RunResult:
    """The same for a run that follows until `due`, by the monotonic clock. Ctrl-C ends the job at once: the ledger says what it copied."""
    with job_files(plan) as files:
        job = Job(JOB, f"mirror copy {plan.flow}", arguments(files, plan.flow, run, due))
        try:
            return read_run(files.result, submit(job, files, flow, master))
        except KeyboardInterrupt:
            return replace(read_run(files.result), failure=None) if files.result.exists() else RunResult(plan)
