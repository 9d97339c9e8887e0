"""What the tasks of the `copy` DAG tell each other, as it stands in XCom.

Every task of the DAG imports this when it parses its file, so what only one of them needs is imported where it is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from mirror.airflow.xcom import from_xcom, to_xcom
from mirror.errors import ErrorReport

if TYPE_CHECKING:
    from mirror.config import Flow
    from mirror.copy.model import CopiedElsewhere, LaneResult
    from mirror.plan.model import Plan
    from mirror.report.publish import Published
    from mirror.report.verdict import Verdict
    from mirror.sync.offset_syncs import Emitted

KEPT_ERRORS = 200
"""How many errors a verdict keeps that stands in XCom for columns which are too large."""

Value = Mapping[str, Any]


def plan_to_xcom(plan: Plan) -> dict[str, Any]:
    """The plan's columns."""
    from mirror.plan.encode import to_columns

    offsets = sum(planned.offsets for planned in plan.ranges)
    totals = {"ranges": len(plan.ranges), "offsets": offsets, "errors": len(plan.errors)}
    return to_xcom(to_columns(plan), totals | ({"by_person": True} if plan.by_person else {}))


def plan_from_xcom(flow: Flow, value: Value, dry_run: bool = False) -> Plan:
    """The plan again. Where only its totals were kept it is made anew, which the ledger allows at any time."""
    document = from_xcom(value)
    if document is not None:
        from mirror.plan.encode import from_columns

        return from_columns(document)
    from mirror.plan.run import plan

    return plan(flow, dry_run=dry_run, by_person=value["totals"].get("by_person", False))


def results_to_xcom(results: Sequence[LaneResult]) -> dict[str, Any]:
    """The watermarks that the lanes reached, and their errors."""
    from mirror.copy.results import results_to_columns

    return to_xcom(results_to_columns(results), {"lanes": len(results), "records": sum(result.records for result in results)})


def results_from_xcom(value: Value | None) -> list[LaneResult]:
    """The lanes' results again; none if the job ended without, or if only their totals were kept."""
    document = from_xcom(value) if value is not None else None
    if document is None:
        return []
    from mirror.copy.results import results_from_columns

    return results_from_columns(document)


def published_to_xcom(published: Published) -> dict[str, Any]:
    """The ledger's watermarks as columns, and what became of the offset syncs."""
    from mirror.copy.results import watermarks_to_columns

    emitted = published.syncs
    syncs = {
        "pairs": emitted.pairs,
        "partitions": emitted.partitions,
        "notices": list(emitted.notices[:KEPT_ERRORS]),
        "errors": [error.as_dict() for error in emitted.errors[:KEPT_ERRORS]],
    }
    marks, disagreements = published.watermarks, published.disagreements
    document: dict[str, Any] = {"watermarks": watermarks_to_columns(marks), "disagreements": list(disagreements), "offset_syncs": syncs}
    if published.copied_elsewhere:
        document["copied_elsewhere"] = [asdict(each) for each in published.copied_elsewhere]
    return to_xcom(document, {"watermarks": len(marks), "disagreements": len(disagreements), "offset_syncs": syncs})


def verdict_to_xcom(verdict: Verdict) -> dict[str, Any]:
    """A verdict for a run whose columns are too large for the one who shall judge it."""
    errors = [error.as_dict() for error in verdict.errors[:KEPT_ERRORS]]
    totals = {"records": verdict.records, "bytes": verdict.bytes, "owed": verdict.owed, "skipped": verdict.skipped}
    return {"state": verdict.state, "errors": errors, **totals, **_others_in_all(verdict)}


def verdict_from_xcom(plan: Value, results: Value | None, published: Value) -> Verdict:
    """Judges the run by what the tasks before left, or takes the copy's own verdict where their columns were too large."""
    from mirror.copy.results import watermarks_from_columns
    from mirror.plan.encode import from_columns
    from mirror.report.publish import Published
    from mirror.report.verdict import FAILED, Verdict, verdict

    planned, ledger = from_xcom(plan), from_xcom(published)
    syncs = _syncs(ledger if ledger is not None else published["totals"])
    if results is not None and "verdict" in results:
        made = results["verdict"]
        errors = (*(ErrorReport.from_dict(error) for error in made["errors"]), *syncs.errors)
        others = _elsewhere(made)
        state = FAILED if errors else made["state"]
        return Verdict(**{**made, "state": state, "errors": errors, "copied_elsewhere": others}, notices=syncs.notices)
    if planned is None or ledger is None:
        message = "The copy ended without a verdict, and what was planned is too much to stand in XCom."
        return Verdict(FAILED, (ErrorReport("JobFailed", message, retriable=True, next="The next run goes on behind what was committed."),))
    marks = Published(watermarks_from_columns(ledger["watermarks"]), tuple(ledger["disagreements"]), syncs, _elsewhere(ledger))
    return verdict(from_columns(planned), None if results is None else results_from_xcom(results), marks)


def _others_in_all(verdict: Verdict) -> dict[str, Any]:
    """What other runs copied, at most so much of it; nothing where they copied nothing."""
    found = verdict.copied_elsewhere[:KEPT_ERRORS]
    return {"copied_elsewhere": [asdict(each) for each in found]} if found else {}


def _elsewhere(value: Value) -> tuple[CopiedElsewhere, ...]:
    from mirror.copy.model import CopiedElsewhere

    return tuple(CopiedElsewhere(**each) for each in value.get("copied_elsewhere", ()))


def _syncs(published: Value) -> Emitted:
    from mirror.sync.offset_syncs import Emitted

    value = published["offset_syncs"]
    errors = tuple(ErrorReport.from_dict(error) for error in value["errors"])
    return Emitted(value["pairs"], value["partitions"], tuple(value["notices"]), errors)
