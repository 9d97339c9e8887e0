"""What a command answers for one flow, and the table in which it shows rows to people."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mirror.errors import ErrorReport

DONE, FAILED, UNUSABLE, NOTHING_TO_DO = "done", "failed", "unusable", "nothing to do"
"""States beside those of the verdict. `unusable`: the configuration or the command line has to be corrected first."""


@dataclass(frozen=True)
class Answer:
    """The state, what `--json` gives as the result, the errors, and the text for people."""

    state: str
    result: Any = None
    errors: tuple[ErrorReport, ...] = ()
    text: str = ""
    known: frozenset[str] = frozenset()
    """Of what the command was asked for by name, what this flow knows."""

    def document(self, flow: str | None) -> dict[str, Any]:
        """One entry of `flows` in what `--json` prints; `flow` is None for an answer that concerns no single flow."""
        return {"flow": flow, "state": self.state, "result": self.result, "errors": [error.as_dict() for error in self.errors]}


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """The rows in columns under a head; nothing if there are none."""
    if not rows:
        return []
    cells = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
