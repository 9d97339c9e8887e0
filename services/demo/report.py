"""What the demo says at its end."""

from collections.abc import Sequence

from services.demo.verify import Row

_HEAD = ("topic", "partition", "source end", "watermark", "records", "lag")


def table(rows: Sequence[Row]) -> list[str]:
    """One line a partition and one with the sums. Numbers stand right-aligned."""
    cells = [(row.topic, *(f"{n:,}" for n in (row.partition, row.source_end, row.watermark, row.records, row.lag))) for row in rows]
    sums = ("all", "", "", "", f"{sum(row.records for row in rows):,}", f"{sum(row.lag for row in rows):,}")
    widths = [max(len(line[column]) for line in (_HEAD, *cells, sums)) for column in range(len(_HEAD))]
    rule = "  ".join("-" * width for width in widths)
    return [_line(_HEAD, widths), rule, *(_line(row, widths) for row in cells), rule, _line(sums, widths)]


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = (
        cell.ljust(width) if column == 0 else cell.rjust(width) for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join((first, *others)).rstrip()
