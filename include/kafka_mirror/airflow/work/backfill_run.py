"""One run of the backfill DAG: what it is asked for, what its tasks hand on, and the other runs of the same backfill.

Airflow does not tell a task which of its backfills the run belongs to. They are the runs of type `backfill` whose data intervals follow
each other without a hole. No callback says that a backfill has ended, so the last run sends the summary of the range: each run pushes its
own summary and then looks whether all others have pushed theirs. Two runs that end at the same moment both find all summaries; each pushes
a mark before it sends, and the one with the earlier date sends. The summary is sent at least once.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from airflow.sdk import get_current_context

from kafka_mirror.airflow.compat import last_data_interval, newest_run
from kafka_mirror.airflow.tasks import clear_number, from_xcom, pull, to_xcom
from kafka_mirror.backfill.model import (
    MISSING,
    BackfillPart,
    BackfillRequest,
    BackfillSummary,
    RangeSummary,
    Resolution,
    TimeInterval,
    time_interval,
)
from kafka_mirror.backfill.resolve import resolve
from kafka_mirror.config import Flow
from kafka_mirror.errors import JobFailed, UsageError
from kafka_mirror.formats.documents import from_document, to_document

MAX_ENTRIES = 200
"""How many errors, notices and notes of what could not be had XCom has at most; the task's log has all of them."""

SUMMARY, NOTIFIED = "summary", "sent"
"""XCom keys of the task `summary`: the summary of its run, and the mark of the run that sends the summary of the range."""

_END_STATES = ("success", "failed")
_MAX_RUNS = 4000


def request(flow: Flow) -> BackfillRequest:
    """What this run is asked for: its parameters, and the times of `from` and `to`, else of its data interval, else of the last interval of
    the schedule that has ended (a run by hand without a logical date). Raises UsageError."""
    params = get_current_context()["params"]
    return BackfillRequest(
        times=_times(flow, params),
        topics=tuple(params.get("topics") or ()),
        into=params.get("into") or None,
        order=params.get("order") or None,
        accept_wild=True if params.get("accept_wild_timestamps") else None,
        history=history_is_requested(),
    )


def history_is_requested() -> bool:
    """Whether this run may write history: one of Airflow's backfills, or a run that somebody triggered with a parameter about history.

    A scheduled run writes none: it would put newer history in front of all that somebody asks for later.
    """
    context: Any = get_current_context()
    params = context["params"]
    return context["dag_run"].run_type == "backfill" or any(params.get(name) for name in ("history", "into", "order"))


def _times(flow: Flow, params: Mapping[str, Any]) -> TimeInterval:
    start, end = params.get("from"), params.get("to")
    if start and end:
        return time_interval(str(start), str(end))
    if start or end:
        raise UsageError("Of the parameters from and to one is missing.", next="Give both, or none for the run's own data interval.")
    run: Any = get_current_context()["dag_run"]
    if run.data_interval_start is not None and run.data_interval_end is not None:
        return interval_between(run.data_interval_start, run.data_interval_end)
    return interval_between(*last_data_interval(flow.value("mirror.backfill.schedule"), run.run_after))


def resolution_of(flow: Flow) -> Resolution:
    """The result of this run's task `resolve`; where it was too large for XCom, the source is asked again. Raises JobFailed without one."""
    value = pull("resolve")
    if value is None:
        raise JobFailed(f"{flow.name}: the times have no offsets, so nothing was done.", next="The log of the task resolve says why.")
    document = from_xcom(value)
    if document is not None:
        return Resolution.from_document(document)
    return resolve(flow, request(flow))


def part_to_xcom(part: BackfillPart) -> dict[str, Any]:
    """A part, with at most MAX_ENTRIES of its errors, notices and notes."""
    shortened = replace(part, errors=part.errors[:MAX_ENTRIES], notices=part.notices[:MAX_ENTRIES], not_had=part.not_had[:MAX_ENTRIES])
    return to_xcom(to_document(shortened), {"records": part.records, "bytes": part.bytes, "owed": part.owed, "offsets": part.offsets})


def part_from_xcom(value: Mapping[str, Any] | None) -> BackfillPart:
    """The part of a value: only its figures where it was too large, and an empty part if its task returned nothing."""
    if value is None:
        return BackfillPart()
    document = from_xcom(value)
    return from_document(BackfillPart, document) if document is not None else BackfillPart(**value["totals"])


def interval_between(start: datetime, end: datetime) -> TimeInterval:
    """The time interval of a run's data interval."""
    return TimeInterval(round(start.timestamp() * 1000), round(end.timestamp() * 1000))


# ---------------------------------------------------------------- the runs of one backfill


def range_to_tell(summary: BackfillSummary) -> RangeSummary | None:
    """The summary that this run has to send: of the whole date range, if all its runs have ended and no other run sends it; of a run by
    hand, its own. None if it has none to send; a scheduled run never has."""
    run: Any = get_current_context()["dag_run"]
    if run.run_type != "backfill":
        return None if run.run_type == "scheduled" else RangeSummary(summary.flow, (summary,))
    others = [*_forwards(run), *_backwards(run)]
    summaries: dict[str, BackfillSummary] = {run.run_id: summary}
    for other in others:
        other_summary = _summary_of(other, summary.flow)
        if other_summary is None:
            return None
        summaries[other.run_id] = other_summary
    notified_runs = {run_id for other in others if (mark := _pull(other, NOTIFIED)) is not None for run_id in mark["runs"]}
    new = {run_id: of_run for run_id, of_run in summaries.items() if run_id == run.run_id or run_id not in notified_runs}
    get_current_context()["ti"].xcom_push(NOTIFIED, {"cleared": clear_number(run), "runs": sorted(new)})
    earlier = (other for other in others if other.run_id in new and other.logical_date < run.logical_date)
    if any(_pull(other, NOTIFIED) is not None for other in earlier):
        return None
    return RangeSummary(summary.flow, tuple(sorted(new.values(), key=lambda of_run: of_run.times.start)))


def list_unfinished_before(run: Any) -> Iterator[Any]:
    """The runs of the same backfill in front of this one, the latest first, up to the first one that has ended."""
    for earlier_run in _backwards(run):
        if earlier_run.state in _END_STATES:
            return
        yield earlier_run


def previous_run(run: Any) -> Any:
    """The run, of any type, whose data interval ends where this one's begins; None if there is none."""
    previous = newest_run(run.dag_id, run.logical_date) if run.logical_date is not None else None
    return previous if previous is not None and previous.data_interval_end == run.data_interval_start else None


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
        after = newest_run(run.dag_id, run.data_interval_end + timedelta(milliseconds=1))
        if after is None or after.run_type != "backfill" or after.data_interval_start != run.data_interval_end:
            return
        yield after
        run = after
