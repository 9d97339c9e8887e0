"""Lane results as JSON: what a job hands back, and the columns that stand in XCom."""

from collections.abc import Iterable, Mapping
from typing import Any

from mirror.copy.model import LaneResult, Watermark
from mirror.errors import ErrorReport

WATERMARK_COLUMNS = ("topic", "partition", "source_offset", "target_offset", "records", "bytes")


def watermark_columns(watermarks: Iterable[Watermark]) -> dict[str, list[Any]]:
    """The watermarks as one list a field, all of one length: far smaller than a list of objects."""
    marks = list(watermarks)
    return {name: [getattr(mark, name) for mark in marks] for name in WATERMARK_COLUMNS}


def watermarks_of(columns: Mapping[str, list[Any]]) -> tuple[Watermark, ...]:
    """The opposite of `watermark_columns`."""
    return tuple(Watermark(*row) for row in zip(*(columns[name] for name in WATERMARK_COLUMNS), strict=True))


def result_document(result: LaneResult) -> dict[str, Any]:
    """One lane's result as JSON takes it."""
    return {
        "lane": result.lane,
        "watermarks": watermark_columns(result.watermarks),
        "errors": [error.as_dict() for error in result.errors],
        "transactions": result.transactions,
        "seconds": round(result.seconds, 3),
    }


def result_of(document: Mapping[str, Any]) -> LaneResult:
    """The opposite of `result_document`."""
    return LaneResult(
        lane=document["lane"],
        watermarks=watermarks_of(document["watermarks"]),
        errors=tuple(ErrorReport(**error) for error in document["errors"]),
        transactions=document["transactions"],
        seconds=document["seconds"],
    )
