"""The plan and the verdict of a copy in XCom.

Each task parses its DAG file, which imports this one: what only one task needs is imported where it is needed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kafka_mirror.airflow.tasks import from_xcom, to_xcom

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafka_mirror.copy.plan.model import Plan
    from kafka_mirror.copy.run_result import Verdict

MAX_ENTRIES = 200
"""How many errors, notices and runs go into XCom where all of them are too many for it."""


def plan_to_xcom(plan: Plan) -> dict[str, Any]:
    """The plan's columns."""
    from kafka_mirror.copy.plan.model import to_columns

    offsets = sum(planned.offsets for planned in plan.ranges)
    return to_xcom(to_columns(plan), {"ranges": len(plan.ranges), "offsets": offsets, "errors": len(plan.errors)})


def plan_from_xcom(value: Mapping[str, Any]) -> Plan | None:
    """The plan of a value; None where XCom has only its totals."""
    from kafka_mirror.copy.plan.model import from_columns

    document = from_xcom(value)
    return None if document is None else from_columns(document)


def verdict_to_xcom(judged: Verdict) -> dict[str, Any]:
    """The verdict with its watermarks by column; packed, the verdict without watermarks is beside it."""
    from kafka_mirror.copy.run_result import to_columns

    first = {name: getattr(judged, name)[:MAX_ENTRIES] for name in ("errors", "notices", "copied_elsewhere")}
    return to_xcom(to_columns(judged), to_columns(replace(judged, watermarks=(), **first)))


def verdict_from_xcom(value: Mapping[str, Any]) -> Verdict:
    """The verdict of a value; without watermarks where XCom has no more."""
    from kafka_mirror.copy.run_result import from_columns

    document = from_xcom(value)
    return from_columns(value["totals"] if document is None else document)
