"""The plan in XCom, between the tasks of the `copy` DAG.

Each task parses its DAG file, which imports this one: what only one task needs is imported where it is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kafka_mirror.airflow.tasks import from_xcom, to_xcom

if TYPE_CHECKING:
    from kafka_mirror.config import Flow
    from kafka_mirror.copy.plan.model import Plan

Value = Mapping[str, Any]


def plan_to_xcom(plan: Plan) -> dict[str, Any]:
    """The plan's columns."""
    from kafka_mirror.copy.plan.model import to_columns

    offsets = sum(planned.offsets for planned in plan.ranges)
    totals = {"ranges": len(plan.ranges), "offsets": offsets, "errors": len(plan.errors)}
    return to_xcom(to_columns(plan), totals | ({"by_person": True} if plan.by_person else {}))


def plan_from_xcom(flow: Flow, value: Value, dry_run: bool = False) -> Plan:
    """The plan of a value. Where XCom has only its totals, it is planned again, which the ledger allows at any time."""
    document = from_xcom(value)
    if document is not None:
        from kafka_mirror.copy.plan.model import from_columns

        return from_columns(document)
    from kafka_mirror.copy.plan.run import plan

    return plan(flow, dry_run=dry_run, by_person=value["totals"].get("by_person", False))
