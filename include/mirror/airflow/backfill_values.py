"""What the tasks of the `backfill` DAG ask of their run, and what they tell each other, as it stands in XCom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from airflow.sdk import get_current_context

from mirror.airflow.context import pull
from mirror.airflow.xcom import from_xcom, to_xcom
from mirror.backfill.model import Part, Request, Resolution
from mirror.backfill.tiling import TimeInterval
from mirror.backfill.times import time_interval
from mirror.config import Flow
from mirror.errors import JobFailed, UsageError

KEPT = 200
"""How many errors, and how many notes of what could not be had, a part keeps in XCom; all of them are in the task's log."""

Value = Mapping[str, Any]


def request(flow: Flow) -> Request:
    """What this run is asked for: its parameters, and the times of `from` and `to`, else of its data interval, else of the last interval of
    the schedule that has ended (a run by hand without a logical date). Raises UsageError."""
    params = get_current_context()["params"]
    return Request(
        times=_times(flow, params),
        topics=tuple(params.get("topics") or ()),
        into=params.get("into") or None,
        order=params.get("order") or None,
        accept_wild=True if params.get("accept_wild_timestamps") else None,
        history=history_is_asked_for(),
    )


def history_is_asked_for() -> bool:
    """Whether somebody wants this run to write history: it is of one of Airflow's backfills, or was triggered with one of the parameters
    about history. A run by the schedule that wrote some would put newer history in front of all that is asked for later."""
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
        return TimeInterval(_milliseconds(run.data_interval_start), _milliseconds(run.data_interval_end))
    return _last_ended(flow.value("mirror.backfill.schedule"), run.run_after)


def _last_ended(schedule: str, now: datetime) -> TimeInterval:
    import pendulum
    from airflow.timetables.interval import CronDataIntervalTimetable

    found = CronDataIntervalTimetable(schedule, "UTC").infer_manual_data_interval(run_after=pendulum.instance(now))
    return TimeInterval(_milliseconds(found.start), _milliseconds(found.end))


def _milliseconds(time: datetime) -> int:
    return round(time.timestamp() * 1000)


def resolution_to_xcom(resolution: Resolution) -> dict[str, Any]:
    """The offsets that the times come to, kept for the rest of the run."""
    return to_xcom(resolution.as_document(), resolution.totals)


def resolution_of(flow: Flow) -> Resolution:
    """What the task `resolve` of this run found; asked for anew where it was too much to be kept. Raises JobFailed without one."""
    value = pull("resolve")
    if value is None:
        raise JobFailed(f"{flow.name}: the times have no offsets, so nothing was done.", next="The log of the task resolve says why.")
    document = from_xcom(value)
    if document is not None:
        return Resolution.from_document(document)
    from mirror.backfill.resolve import resolve

    return resolve(flow, request(flow))


def part_to_xcom(part: Part) -> dict[str, Any]:
    """A part, small enough to be kept as it is."""
    kept = replace(part, errors=part.errors[:KEPT], notices=part.notices[:KEPT], not_had=part.not_had[:KEPT])
    return to_xcom(kept.as_document(), {"records": part.records, "bytes": part.bytes, "owed": part.owed, "offsets": part.offsets})


def part_from_xcom(value: Value | None) -> Part:
    """The part again; one that did nothing if its task left nothing, and its figures alone where it was too large."""
    if value is None:
        return Part()
    document = from_xcom(value)
    return Part.from_document(document) if document is not None else Part(**value["totals"])
