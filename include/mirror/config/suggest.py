"""The nearest known name to one that nobody knows."""

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like this one, or None if none is like it."""
    close = difflib.get_close_matches(name, list(known), n=5, cutoff=0.6)
    # Swapped letters are the commonest slip, and difflib does not know it: to it 'esat' is as near to 'west' as to 'east'.
    return min(close, key=lambda candidate: edits(name, candidate), default=None)


def edits(one: str, other: str) -> int:
    """How many characters to insert, delete, change or swap with their neighbour (optimal string alignment distance)."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, here in enumerate(one, start=1):
        before, above, row = row, before, [i]
        for j, there in enumerate(other, start=1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (here != there)))
            if i > 1 and j > 1 and (here, there) == (other[j - 2], one[i - 2]):
                row[j] = min(row[j], above[j - 2] + 1)
    return row[-1]
