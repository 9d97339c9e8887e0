"""What may be missing on the target, as the report of a failover shows it to people. Pure."""

from collections.abc import Iterator

from kafka_mirror.cutover.failover.missing_document import MissingListing
from kafka_mirror.cutover.failover.missing_records import MissingRecords, moment_of

_HEAD = (
    "| partition | copied up to | may be missing | at most | end known at | from | nobody knows of what was written after |",
    "|---|---|---|---|---|---|---|",
)


def missing_page(missing: MissingListing, max_rows: int) -> Iterator[str]:
    """The lines: a table with so many rows at most, and a sentence for all that has no row."""
    rows, unlisted = missing.partitions[:max_rows], missing.left_out
    yield from ("", "## What may be missing on the target", "", *_HEAD)
    yield from map(_row, rows)
    more = len(missing.partitions) - len(rows)
    if more:
        yield f"\n{more:,} more partitions are in the JSON of this report."
    if unlisted.partitions:
        since = (
            "" if unlisted.complete_until is None else f"; what was written there after {moment_of(unlisted.complete_until)} nobody knows"
        )
        said = f"The wave's record has no room for {unlisted.partitions:,} more partitions"
        yield f"\n{said}: at most {unlisted.offsets:,} records are known to be missing in them{since}."


def _row(of: MissingRecords) -> str:
    places = f"{of.watermark}..{of.end.offset - 1}" if of.offsets else "–"
    end_time = "–" if of.end.time is None else moment_of(of.end.time)
    unknown = "not noted" if of.complete_until is None else moment_of(of.complete_until)
    return f"| {of.source} | {of.watermark} | {places} | {of.offsets:,} | {end_time} | {of.end.origin} | {unknown} |"
