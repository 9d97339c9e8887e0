"""What a command answers for one flow, and the tables in which it shows rows to people."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kafka_mirror.errors import ErrorReport
from kafka_mirror.errors.words import visible
from kafka_mirror.formats.documents import to_document

DONE, FAILED, UNUSABLE, NOTHING_TO_DO, WAITING = "done", "failed", "unusable", "nothing to do", "waiting"
"""States beside those of the verdict. `unusable`: the configuration or the command line must be corrected first. `waiting`: for people or
for the clusters, after which the same command goes on."""


@dataclass(frozen=True)
class Table:
    """Rows under a head. As text its columns are as wide as their widest cell; `kafka_mirror.cli.terminal` fits it into a terminal."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        lines = (self.head, *self.rows)
        widths = [max(len(line[column]) for line in lines) for column in range(len(self.head))]
        return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines)


Piece = str | Table
"""What people read is made of: a line, and rows."""


@dataclass(frozen=True)
class Answer:
    """The state, what `--json` gives as the result, the errors, and the text for people."""

    state: str
    result: Any = None
    errors: tuple[ErrorReport, ...] = ()
    text: str | Sequence[Piece] = ()
    known_names: frozenset[str] = frozenset()
    """Of what the command was asked for by name, what this flow knows."""

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The text, piece by piece."""
        return ((self.text,) if self.text else ()) if isinstance(self.text, str) else tuple(self.text)

    def as_document(self, flow: str | None) -> dict[str, Any]:
        """One entry of `flows` in what `--json` prints; `flow` is None for an answer that concerns no single flow."""
        return {"flow": flow, "state": self.state, "result": self.result, "errors": to_document(self.errors)}


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[Piece]:
    """The rows under a head as one piece of an answer; nothing if there are none."""
    return [Table(tuple(head), tuple(tuple(visible(str(cell), keep="") for cell in row) for row in rows))] if rows else []
