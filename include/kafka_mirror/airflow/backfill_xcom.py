"""What a backfill's run is asked for, and the values in XCom between its tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from airflow.sdk import get_current_context

from kafka_mirror.airflow.backfill_runs import interval_between
from kafka_mirror.airflow.compat import last_data_interval
from kafka_mirror.airflow.tasks import from_xcom, pull, to_xcom
from kafka_mirror.backfill.model import BackfillPart, BackfillRequest, Resolution, TimeInterval, time_interval
from kafka_mirror.config import Flow
from kafka_mirror.errors import JobFailed, UsageError
from kafka_mirror.formats.documents import from_document, to_document

MAX_ENTRIES = 200
"""How many errors, notices and notes of what could not be had XCom has at most; the task's log has all of them."""

Value = Mapping[str, Any]


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


def resolution_to_xcom(resolution: Resolution) -> dict[str, Any]:
    """The offsets that the times come to, as a value for XCom."""
    return to_xcom(resolution.as_document(), resolution.totals)


def resolution_of(flow: Flow) -> Resolution:
    """The result of this run's task `resolve`; where it was too large for XCom, the source is asked again. Raises JobFailed without one."""
    value = pull("resolve")
    if value is None:
        raise JobFailed(f"{flow.name}: the times have no offsets, so nothing was done.", next="The log of the task resolve says why.")
    document = from_xcom(value)
    if document is not None:
        return Resolution.from_document(document)
    from kafka_mirror.backfill.resolve import resolve

    return resolve(flow, request(flow))


def part_to_xcom(part: BackfillPart) -> dict[str, Any]:
    """A part, with at most MAX_ENTRIES of its errors, notices and notes."""
    shortened = replace(part, errors=part.errors[:MAX_ENTRIES], notices=part.notices[:MAX_ENTRIES], not_had=part.not_had[:MAX_ENTRIES])
    return to_xcom(to_document(shortened), {"records": part.records, "bytes": part.bytes, "owed": part.owed, "offsets": part.offsets})


def part_from_xcom(value: Value | None) -> BackfillPart:
    """The part of a value: only its figures where it was too large, and an empty part if its task returned nothing."""
    if value is None:
        return BackfillPart()
    document = from_xcom(value)
    return from_document(BackfillPart, document) if document is not None else BackfillPart(**value["totals"])
