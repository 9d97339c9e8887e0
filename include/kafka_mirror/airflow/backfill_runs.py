"""The runs of one of Airflow's backfills. Airflow does not tell a task which backfill its run belongs to.

They are the runs of type `backfill` whose data intervals follow each other without a hole. No callback says that a backfill has ended, so
the last run sends the summary of the range: each run pushes its own summary and then looks whether all others have pushed theirs. Two runs
that end at the same moment both find all summaries; each pushes a mark before it sends, and the one with the earlier date sends. The
summary is sent at least once.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import get_current_context

from kafka_mirror.airflow.compat import run_before
from kafka_mirror.backfill.model import TimeInterval
from kafka_mirror.backfill.summary import MISSING, BackfillSummary, RangeSummary
from kafka_mirror.formats.documents import from_document

if TYPE_CHECKING:
    from datetime import datetime

SUMMARY, NOTIFIED = "summary", "sent"
"""XCom keys of the task `summary`: the summary of its run, and the mark of the run that sends the summary of the range."""

_END_STATES = ("success", "failed")
_MAX_RUNS = 4000


def range_to_tell(summary: BackfillSummary) -> RangeSummary | None:
    """The summary that this run has to send: of the whole date range, if all its runs have ended and no other run sends it; of a run by
    hand, its own. None if it has none to send; a scheduled run never has."""
    run: Any = get_current_context()["dag_run"]
    if run.run_type != "backfill":
        return None if run.run_type == "scheduled" else RangeSummary(summary.flow, (summary,))
    return _range_of_backfill(summary, run)


def list_unfinished_before(run: Any) -> Iterator[Any]:
    """The runs of the same backfill in front of this one, the latest first, up to the first one that has ended."""
    for earlier_run in _backwards(run):
        if earlier_run.state in _END_STATES:
            return
        yield earlier_run


def previous_run(run: Any) -> Any:
    """The run, of any type, whose data interval ends where this one's begins; None if there is none."""
    previous = run_before(run.dag_id, run.logical_date) if run.logical_date is not None else None
    return previous if previous is not None and previous.data_interval_end == run.data_interval_start else None


def _range_of_backfill(summary: BackfillSummary, run: Any) -> RangeSummary | None:
    summaries: dict[str, BackfillSummary] = {run.run_id: summary}
    others = []
    for other in (*_forwards(run), *_backwards(run)):
        other_summary = _summary_of(other, summary.flow)
        if other_summary is None:
            return None
        others.append(other)
        summaries[other.run_id] = other_summary
    marks = {other.run_id: mark for other in others if (mark := _pull(other, NOTIFIED)) is not None}
    notified_runs = {run_id for mark in marks.values() for run_id in mark["runs"]}
    new_summaries = {
        run_id: summary_of_run for run_id, summary_of_run in summaries.items() if run_id == run.run_id or run_id not in notified_runs
    }
    context = get_current_context()
    context["ti"].xcom_push(NOTIFIED, {"cleared": clear_number(run), "runs": sorted(new_summaries)})
    rivals = [
        other
        for other in others
        if other.run_id in new_summaries and other.logical_date < run.logical_date and _pull(other, NOTIFIED) is not None
    ]
    if rivals:
        return None
    return RangeSummary(summary.flow, tuple(sorted(new_summaries.values(), key=lambda new: new.times.start)))


def _summary_of(run: Any, flow: str) -> BackfillSummary | None:
    """The summary of a run; None if the run has not ended. A run that ended without a summary has the state `no result`."""
    value = _pull(run, SUMMARY)
    if value is not None:
        return from_document(BackfillSummary, value["summary"])
    if run.state not in _END_STATES:
        return None
    return BackfillSummary(flow, interval_between(run.data_interval_start, run.data_interval_end), MISSING)


def _pull(run: Any, key: str) -> Any:
    """What the task `summary` of another run pushed under a key; None if it did so before somebody cleared the run."""
    value = get_current_context()["ti"].xcom_pull(dag_id=run.dag_id, task_ids="summary", run_id=run.run_id, key=key)
    return value if value is not None and value["cleared"] == clear_number(run) else None


def _backwards(run: Any) -> Iterator[Any]:
    for _ in range(_MAX_RUNS):
        previous = previous_run(run)
        if previous is None or previous.run_type != "backfill":
            return
        yield previous
        run = previous


def _forwards(run: Any) -> Iterator[Any]:
    for _ in range(_MAX_RUNS):
        after = run_before(run.dag_id, run.data_interval_end + timedelta(milliseconds=1))
        if after is None or after.run_type != "backfill" or after.data_interval_start != run.data_interval_end:
            return
        yield after
        run = after


def interval_between(start: datetime, end: datetime) -> TimeInterval:
    """The time interval of a run's data interval."""
    return TimeInterval(round(start.timestamp() * 1000), round(end.timestamp() * 1000))


def clear_number(run: Any) -> int:
    """How often somebody cleared the run: what it pushed before counts no more."""
    return int(run.clear_number or 0)
