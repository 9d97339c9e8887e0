"""What the newest audit of a flow found, as the page tells it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mirror.audit.model import DIFFERENT, EQUAL, AuditResult
from mirror.web.access import AirflowView
from mirror.web.words import number, plural

_SHOWN = 10


@dataclass(frozen=True)
class LastAudit:
    """`level` as of a flow's state; `differences` are sentences, the first of each partition, no more than ten of `different`."""

    level: str
    words: str
    time: datetime | None = None
    run: tuple[str, str] | None = None
    different: int = 0
    differences: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    left_out: int = 0


def last_audit(view: AirflowView) -> LastAudit | None:
    """The newest audit; None if there was none yet."""
    if view.audit is None:
        return None
    try:
        if "columns" in view.audit:
            return _whole(AuditResult.from_document(view.audit), view)
        return _totals(view.audit, view)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        return LastAudit("unknown", "The newest audit left a document that this version cannot read.", run=view.audit_run)


def _whole(result: AuditResult, view: AirflowView) -> LastAudit:
    told = _totals(result.totals, view)
    return LastAudit(
        told.level,
        told.words,
        result.time,
        view.audit_run,
        told.different,
        tuple(str(each) for each in result.differences[:_SHOWN]),
        tuple(str(each) for each in result.errors[:_SHOWN]),
        told.left_out,
    )


def _totals(totals: Mapping[str, Any], view: AirflowView) -> LastAudit:
    state, different = totals["state"], int(totals["different"])
    records, partitions = number(totals["source_records"]), plural(int(totals["partitions"]), "partition")
    if state == EQUAL:
        words = f"Equal: {records} records of {partitions}, record by record on both sides."
    elif state == DIFFERENT:
        words = (
            f"Different in {plural(different, 'partition')} of {int(totals['partitions']):,}; {records} records of the source were read."
        )
    else:
        words = f"Nothing could be compared in {partitions}."
    unproven = int(totals["unproven"])
    if state == EQUAL and unproven:
        words += f" Of {plural(unproven, 'partition')} nothing could be compared."
    level = {EQUAL: "fine" if not unproven else "behind", DIFFERENT: "stuck"}.get(state, "unknown")
    return LastAudit(level, words, run=view.audit_run, different=different, left_out=int(totals["left_out"]))
