"""What a copy did, in XCom: the lanes' results, what was published, the verdict. A task imports it when it has something to tell."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from kafka_mirror.airflow.tasks import from_xcom, to_xcom
from kafka_mirror.copy.job import results_from_columns, results_to_columns, watermarks_from_columns, watermarks_to_columns
from kafka_mirror.copy.model import BatchShare, CopiedElsewhere, LaneResult, RewriteReason, Watermark
from kafka_mirror.copy.plan.model import from_columns, to_columns
from kafka_mirror.copy.publish import Published
from kafka_mirror.copy.run_result import RunResult
from kafka_mirror.copy.verdict import FAILED, Verdict, verdict
from kafka_mirror.errors import ErrorReport, JobFailed
from kafka_mirror.formats.documents import from_document, to_document
from kafka_mirror.groups.offset_syncs import OffsetSyncsResult

MAX_ENTRIES = 200
"""How many errors, notices and runs go into XCom where the columns are too large for it."""

Value = Mapping[str, Any]


def results_to_xcom(results: Sequence[LaneResult]) -> dict[str, Any]:
    """The watermarks that the lanes reached, and their errors."""
    return to_xcom(results_to_columns(results), {"lanes": len(results), "records": sum(result.records for result in results)})


def run_to_xcom(run: RunResult) -> dict[str, Any]:
    """What the lanes of a run that follows did, and all of its plans as one: that of the task `plan` is the first."""
    totals = {"lanes": len(run.results), "records": sum(result.records for result in run.results)}
    return to_xcom(results_to_columns(run.results) | {"plan": to_columns(run.plan_that_moved), "plans": run.plans}, totals)


def run_from_xcom(value: Value | None) -> RunResult | None:
    """Reads what `run_to_xcom` wrote; None for a run that does not follow, and where XCom has only totals."""
    document = from_xcom(value) if value is not None else None
    if document is None or "plan" not in document:
        return None
    return RunResult(from_columns(document["plan"]), tuple(results_from_columns(document)), document["plans"])


def results_from_xcom(value: Value | None) -> list[LaneResult]:
    """The lanes' results of a value; none if the job ended without results, or XCom has only their totals."""
    document = from_xcom(value) if value is not None else None
    if document is None:
        return []
    return results_from_columns(document)


def published_to_xcom(published: Published) -> dict[str, Any]:
    """The ledger's watermarks as columns, and what became of the offset syncs."""
    sync_result = published.syncs
    syncs = {
        "pairs": sync_result.pairs,
        "partitions": sync_result.partitions,
        "notices": list(sync_result.notices[:MAX_ENTRIES]),
        "errors": [to_document(error) for error in sync_result.errors[:MAX_ENTRIES]],
    }
    watermarks, disagreements = published.watermarks, published.disagreements
    document: dict[str, Any] = {
        "watermarks": watermarks_to_columns(watermarks),
        "disagreements": list(disagreements),
        "offset_syncs": syncs,
    }
    if published.copied_elsewhere:
        document["copied_elsewhere"] = [asdict(copied) for copied in published.copied_elsewhere]
    return to_xcom(document, {"watermarks": len(watermarks), "disagreements": len(disagreements), "offset_syncs": syncs})


def watermarks_from_xcom(published: Value) -> tuple[Watermark, ...]:
    """How far the partitions of a run came; none where XCom has only totals."""
    ledger = from_xcom(published)
    return () if ledger is None else tuple(watermarks_from_columns(ledger["watermarks"]))


def verdict_to_xcom(verdict: Verdict) -> dict[str, Any]:
    """The verdict that the copy takes itself where the columns are too large for XCom: the task `verdict` cannot read them."""
    errors = [to_document(error) for error in verdict.errors[:MAX_ENTRIES]]
    totals = {"records": verdict.records, "bytes": verdict.bytes, "owed": verdict.owed, "skipped": verdict.skipped}
    ways = {"batches": [asdict(share) for share in verdict.batches], "rewritten": [asdict(why) for why in verdict.rewritten]}
    optional = {name: rows for name, rows in ways.items() if rows}
    return {"state": verdict.state, "errors": errors, **totals, **_write_elsewhere(verdict), **optional}


def verdict_from_xcom(plan: Value, results: Value | None, published: Value) -> Verdict:
    """The verdict by what the tasks before returned, or the copy's own where their columns were too large for XCom."""
    followed, first, ledger = run_from_xcom(results), from_xcom(plan), from_xcom(published)
    syncs = _syncs_from_xcom(ledger if ledger is not None else published["totals"])
    if results is not None and "verdict" in results:
        document = results["verdict"]
        errors = (*(from_document(ErrorReport, error) for error in document["errors"]), *syncs.errors)
        optional = {
            "copied_elsewhere": _read_elsewhere(document),
            "batches": tuple(BatchShare(**fields) for fields in document.get("batches", ())),
            "rewritten": tuple(RewriteReason(**fields) for fields in document.get("rewritten", ())),
        }
        state = FAILED if errors else document["state"]
        return Verdict(**{**document, "state": state, "errors": errors, **optional}, notices=syncs.notices)
    planned = followed.plan if followed is not None else from_columns(first) if first is not None else None
    if planned is None or ledger is None:
        message = "The copy ended without a verdict, and what was planned is too much to stand in XCom."
        return Verdict(FAILED, (JobFailed(message, next="The next run goes on after what was committed.").report(),))
    from_ledger = Published(watermarks_from_columns(ledger["watermarks"]), tuple(ledger["disagreements"]), syncs, _read_elsewhere(ledger))
    return verdict(planned, None if results is None else results_from_xcom(results), from_ledger)


def _write_elsewhere(verdict: Verdict) -> dict[str, Any]:
    """What other runs copied, at most so much of it; nothing where they copied nothing."""
    runs = verdict.copied_elsewhere[:MAX_ENTRIES]
    return {"copied_elsewhere": [asdict(run) for run in runs]} if runs else {}


def _read_elsewhere(value: Value) -> tuple[CopiedElsewhere, ...]:
    return tuple(CopiedElsewhere(**fields) for fields in value.get("copied_elsewhere", ()))


def _syncs_from_xcom(published: Value) -> OffsetSyncsResult:
    value = published["offset_syncs"]
    errors = tuple(from_document(ErrorReport, error) for error in value["errors"])
    return OffsetSyncsResult(value["pairs"], value["partitions"], tuple(value["notices"]), errors)
