"""Lane results as JSON takes them: columns, in the job's result file and in XCom alike."""

from collections.abc import Iterable, Mapping
from typing import Any

from mirror.copy.model import CopiedElsewhere, LaneResult, SkippedRecords, Watermark
from mirror.errors import ErrorReport

_WATERMARK = ("topic", "partition", "source_offset", "target_offset", "records", "bytes")
_SKIPPED = ("topic", "partition", "offset", "records", "reason")
_ELSEWHERE = ("topic", "partition", "records", "bytes", "run")
_LANE = ("lane", "watermarks", "errors", "transactions", "seconds", "skipped", "ledger_end")


def watermarks_to_columns(watermarks: Iterable[Watermark]) -> dict[str, list[Any]]:
    """The watermarks as one list a field, all of one length: far smaller than a list of objects."""
    marks = list(watermarks)
    return {name: [getattr(mark, name) for mark in marks] for name in _WATERMARK}


def watermarks_from_columns(columns: Mapping[str, list[Any]]) -> tuple[Watermark, ...]:
    """The opposite of `watermarks_to_columns`."""
    return tuple(Watermark(*row) for row in zip(*(columns[name] for name in _WATERMARK), strict=True))


def results_to_columns(results: Iterable[LaneResult]) -> dict[str, Any]:
    """All lanes' watermarks in one table, all errors in one list, and so on, in the lanes' order; `lanes` says how many are whose."""
    results = list(results)
    skipped = [each for result in results for each in result.skipped]
    rows = [
        (each.lane, len(each.watermarks), len(each.errors), each.transactions, round(each.seconds, 3), len(each.skipped), each.ledger_end)
        for each in results
    ]
    elsewhere = [(each.lane, found) for each in results for found in each.copied_elsewhere]
    document: dict[str, Any] = {
        "watermarks": watermarks_to_columns(mark for each in results for mark in each.watermarks),
        "errors": [error.as_dict() for each in results for error in each.errors],
        "skipped": {name: [getattr(each, name) for each in skipped] for name in _SKIPPED},
        "lanes": {name: [row[place] for row in rows] for place, name in enumerate(_LANE)},
    }
    if elsewhere:
        columns: dict[str, list[Any]] = {name: [getattr(found, name) for _, found in elsewhere] for name in _ELSEWHERE}
        document["copied_elsewhere"] = {"lane": [lane for lane, _ in elsewhere], **columns}
    return document


def results_from_columns(document: Mapping[str, Any]) -> list[LaneResult]:
    """The opposite of `results_to_columns`."""
    marks = iter(watermarks_from_columns(document["watermarks"]))
    errors = iter([ErrorReport.from_dict(error) for error in document["errors"]])
    skipped = iter([SkippedRecords(*row) for row in zip(*(document["skipped"][name] for name in _SKIPPED), strict=True)])
    elsewhere = _copied_elsewhere(document.get("copied_elsewhere"))
    lanes = {"ledger_end": [0] * len(document["lanes"]["lane"]), **document["lanes"]}  # an older mirror's workers do not tell it
    return [
        LaneResult(
            lane,
            tuple(next(marks) for _ in range(reached)),
            tuple(next(errors) for _ in range(failed)),
            transactions,
            seconds,
            tuple(next(skipped) for _ in range(passed_over)),
            ledger_end,
            tuple(elsewhere.get(lane, ())),
        )
        for lane, reached, failed, transactions, seconds, passed_over, ledger_end in zip(*(lanes[name] for name in _LANE), strict=True)
    ]


def _copied_elsewhere(columns: Mapping[str, list[Any]] | None) -> dict[int, list[CopiedElsewhere]]:
    """By lane; nothing where no lane found anything, and of an older mirror's workers, who do not look for it."""
    found: dict[int, list[CopiedElsewhere]] = {}
    for lane, *row in zip(*(columns[name] for name in ("lane", *_ELSEWHERE)), strict=True) if columns else ():
        found.setdefault(lane, []).append(CopiedElsewhere(*row))
    return found
