"""The runs of one of Airflow's backfills, as far as a task may know them: none is told which backfill it belongs to.

They are the runs of type `backfill` whose data intervals touch, one after the other. A backfill has no end that calls anybody, so the run
that ends last tells people: each leaves its summary first and then looks whether all others have theirs. Two that end at the same moment
both see that; then the mark that each leaves before it tells decides, and the earlier date has the word. It is told at least once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from airflow.sdk import get_current_context

from mirror.backfill.summary import MISSING, RangeSummary, Summary
from mirror.backfill.tiling import TimeInterval

if TYPE_CHECKING:
    from datetime import datetime

SUMMARY, TOLD = "summary", "told"
"""Keys under which the task `summary` leaves what became of its run, and that it told people of a whole range."""

_ENDED = ("success", "failed")
_MOST = 4000


def range_to_tell(summary: Summary) -> RangeSummary | None:
    """The whole date range, if all its runs have ended and nobody else tells it; of a run by hand its own interval. None: there is nothing
    to tell now, or, of a scheduled run, ever."""
    run: Any = get_current_context()["dag_run"]
    if run.run_type != "backfill":
        return None if run.run_type == "scheduled" else RangeSummary(summary.flow, (summary,))
    return _of_backfill(summary, run)


def unfinished_before(run: Any) -> Iterator[Any]:
    """The runs of the same backfill with earlier intervals that follow each other and have not ended, the latest first."""
    for each in _backwards(run):
        if each.state in _ENDED:
            return
        yield each


def before(run: Any) -> Any:
    """The run with the interval in front of this one's, of whatever type; None if there is none."""
    found = _latest_before(run.dag_id, run.logical_date) if run.logical_date is not None else None
    return found if found is not None and found.data_interval_end == run.data_interval_start else None


def _of_backfill(summary: Summary, run: Any) -> RangeSummary | None:
    found: dict[str, Summary] = {run.run_id: summary}
    others = []
    for each in (*_forwards(run), *_backwards(run)):
        ended = _summary_of(each, summary.flow)
        if ended is None:
            return None
        others.append(each)
        found[each.run_id] = ended
    told = {each.run_id: mark for each in others if (mark := _pull(each, TOLD)) is not None}
    earlier = {run_id for mark in told.values() for run_id in mark["runs"]}
    fresh = {run_id: each for run_id, each in found.items() if run_id == run.run_id or run_id not in earlier}
    context = get_current_context()
    context["ti"].xcom_push(TOLD, {"cleared": run.clear_number or 0, "runs": sorted(fresh)})
    rivals = [each for each in others if each.run_id in fresh and each.logical_date < run.logical_date and _pull(each, TOLD) is not None]
    if rivals:
        return None
    return RangeSummary(summary.flow, tuple(sorted(fresh.values(), key=lambda each: each.times.start)))


def _summary_of(run: Any, flow: str) -> Summary | None:
    """What a run left; None if it has not ended. One that ended without a word has no result."""
    left = _pull(run, SUMMARY)
    if left is not None:
        return Summary.from_document(left["summary"])
    if run.state not in _ENDED:
        return None
    return Summary(flow, TimeInterval(_milliseconds(run.data_interval_start), _milliseconds(run.data_interval_end)), MISSING)


def _pull(run: Any, key: str) -> Any:
    """What the task `summary` of another run left under a key, if it is of the run as it was cleared last."""
    left = get_current_context()["ti"].xcom_pull(dag_id=run.dag_id, task_ids="summary", run_id=run.run_id, key=key)
    return left if left is not None and left["cleared"] == (run.clear_number or 0) else None


def _backwards(run: Any) -> Iterator[Any]:
    for _ in range(_MOST):
        earlier = before(run)
        if earlier is None or earlier.run_type != "backfill":
            return
        yield earlier
        run = earlier


def _forwards(run: Any) -> Iterator[Any]:
    from datetime import timedelta

    for _ in range(_MOST):
        after = _latest_before(run.dag_id, run.data_interval_end + timedelta(milliseconds=1))
        if after is None or after.run_type != "backfill" or after.data_interval_start != run.data_interval_end:
            return
        yield after
        run = after


def _latest_before(dag_id: str, time: datetime) -> Any:
    """The run with the latest logical date in front of a time. The Task SDK asks it for the own run only, the execution API for any."""
    from airflow.sdk.execution_time import task_runner
    from airflow.sdk.execution_time.comms import GetPreviousDagRun

    answer = task_runner.SUPERVISOR_COMMS.send(GetPreviousDagRun(dag_id=dag_id, logical_date=time))
    return getattr(answer, "dag_run", None)


def _milliseconds(time: datetime) -> int:
    return round(time.timestamp() * 1000)
