"""A plan as JSON takes it: columns instead of a list of objects, which is a fifth of the size. Stands in XCom and in the job's file."""

from collections.abc import Iterable, Mapping
from typing import Any

from mirror.errors import ErrorReport
from mirror.formats.control import Decision, as_document, from_document
from mirror.formats.fields import moment, moment_text
from mirror.plan.model import Plan, Range

_COLUMNS = ("topic", "partition", "topic_id", "start", "end", "reason", "leader_epoch", "records", "bytes")


def to_columns(plan: Plan) -> dict[str, Any]:
    """The plan with its ranges by column. `skip_to` is there for the few ranges that pass over a gap, `decided` for those about which
    somebody decided something, by their place in the columns."""
    columns: dict[str, Any] = {name: [getattr(planned, name) for planned in plan.ranges] for name in _COLUMNS}
    return {
        "flow": plan.flow,
        "config_hash": plan.config_hash,
        "source_cluster_id": plan.source_cluster_id,
        "target_cluster_id": plan.target_cluster_id,
        "ranges": columns,
        "skip_to": {str(index): planned.skip_to for index, planned in enumerate(plan.ranges) if planned.skip_to is not None},
        "decided": {str(index): _documents(planned.decisions) for index, planned in enumerate(plan.ranges) if planned.decisions},
        "errors": [error.as_dict() for error in plan.errors],
        "notices": list(plan.notices),
        "ledger_id": plan.ledger_id,
        "decisions": _documents(plan.decisions),
        **({"time": moment_text(plan.time)} if plan.time else {}),
        **({"into": dict(plan.into), "in_time_order": plan.in_time_order} if plan.into else {}),
        **({"by_person": True} if plan.by_person else {}),
    }


def from_columns(document: Mapping[str, Any]) -> Plan:
    """The opposite of `to_columns`."""
    rows = (dict(zip(_COLUMNS, row, strict=True)) for row in zip(*(document["ranges"][name] for name in _COLUMNS), strict=True))
    return Plan(
        flow=document["flow"],
        ranges=tuple(
            Range(**row, skip_to=document["skip_to"].get(str(index)), decisions=_decisions(document["decided"].get(str(index), ())))
            for index, row in enumerate(rows)
        ),
        errors=tuple(ErrorReport.from_dict(error) for error in document["errors"]),
        notices=tuple(document["notices"]),
        config_hash=document["config_hash"],
        source_cluster_id=document["source_cluster_id"],
        target_cluster_id=document["target_cluster_id"],
        ledger_id=document["ledger_id"],
        decisions=_decisions(document["decisions"]),
        into=document.get("into", {}),
        in_time_order=document.get("in_time_order", True),
        time=moment(document, "time") if "time" in document else None,
        by_person=document.get("by_person", False),
    )


def _documents(decisions: Iterable[Decision]) -> list[dict[str, Any]]:
    return [as_document(each) for each in decisions]


def _decisions(documents: Iterable[Mapping[str, Any]]) -> tuple[Decision, ...]:
    return tuple(from_document(each) for each in documents)
