"""The log of what was measured: one table a benchmark in RESULTS.md, each run a dated row at its end."""

import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

RESULTS = Path(__file__).with_name("RESULTS.md")


def append(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], write: bool = True, file: Path = RESULTS) -> None:
    """Prints rows and adds them to the table under a title, which is made if it is not there; the first two columns are filled in. Raises
    ValueError if the table there has other columns, or a row another number of cells."""
    rows, names = list(rows), ("when (UTC)", "cores", *columns)
    if wrong := [row for row in rows if len(row) != len(columns)]:
        raise ValueError(f"«{title}» has {len(columns)} columns, and a row of {len(wrong[0])} cells: {' | '.join(wrong[0])}")
    when = f"{datetime.now(UTC):%Y-%m-%d %H:%M}"
    fresh = ["| " + " | ".join((when, str(os.cpu_count()), *row)) + " |" for row in rows]
    print(title, *fresh, sep="\n", flush=True)
    if not write:
        return
    text = file.read_text(encoding="utf-8") if file.exists() else "# Measured\n"
    before, heading, after = text.partition(f"\n## {title}\n")
    head = f"\n| {' | '.join(names)} |\n"
    if not heading:
        before, heading = text.rstrip() + "\n", f"\n## {title}\n"
        after = head + "|" + "---|" * len(names) + "\n"
    elif not after.startswith(head):
        raise ValueError(f"The table «{title}» in {file} has other columns than {', '.join(names)}; give the new one another title.")
    table, next_heading, rest = after.partition("\n## ")
    file.write_text(before + heading + table.rstrip() + "\n" + "\n".join(fresh) + "\n" + next_heading + rest, encoding="utf-8")


def spread(values: Sequence[float], digits: int = 1) -> str:
    """The median, with the smallest and the largest in brackets if there are several."""
    middle = f"{median(values):.{digits}f}"
    return middle if len(values) == 1 else f"{middle} ({min(values):.{digits}f}–{max(values):.{digits}f})"


def median(values: Sequence[float]) -> float:
    """The middle value; of an even number, the mean of the two in the middle."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
