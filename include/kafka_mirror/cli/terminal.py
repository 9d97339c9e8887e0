"""What is written for people: plain text into a pipe or a file, and on a terminal tables that fit its width, with colours.

On a terminal, NO_COLOR takes the colours away, as everywhere. `rich` is imported only where there is one.
"""

import re
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

from kafka_mirror.cli.answer import DONE, FAILED, NOTHING_TO_DO, UNUSABLE, WAITING, Piece, Table
from kafka_mirror.errors import ErrorReport
from kafka_mirror.errors.base import before_next
from kafka_mirror.errors.display import visible
from kafka_mirror.status.status import GONE, INTENDED, OPEN_TRANSACTION, PROGRESSING, UNKNOWN, UP_TO_DATE

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

_NUMBER = re.compile(r"[-+]?[\d,.]+|-|")
_STATE = "state"
_COMMAND, _GOOD, _OPEN, _QUIET, _BAD = "cyan", "green", "yellow", "dim", "red"
_STYLES = {
    **dict.fromkeys(PROGRESSING | INTENDED | {OPEN_TRANSACTION, UNKNOWN, WAITING}, _OPEN),
    **dict.fromkeys((DONE, UP_TO_DATE, "in force"), _GOOD),
    **dict.fromkeys((NOTHING_TO_DO, GONE, "used up"), _QUIET),
    **dict.fromkeys((FAILED, UNUSABLE), _BAD),
}
"""The colour of a state, be it a flow's, a partition's or a decision's; one that is not here needs a person."""


def is_terminal(stream: TextIO) -> bool:
    """Whether a person looks at it."""
    return stream.isatty()


def say_flow(flow: str, state: str) -> None:
    """Says of which flow the next lines are, and what became of it if `state` is not empty, on standard output."""
    if is_terminal(sys.stdout):
        from rich.text import Text

        said = (" ", (state, _style(state))) if state else ()
        console(sys.stdout).print(Text.assemble((flow, "bold"), ":", *said), soft_wrap=True)
    else:
        sys.stdout.write(f"{flow}: {state}".rstrip() + "\n")


def say(pieces: Iterable[Piece]) -> None:
    """Writes lines and tables to standard output."""
    for piece in pieces:
        if isinstance(piece, Table) and is_terminal(sys.stdout):
            console(sys.stdout).print(fitted(piece))
        else:
            sys.stdout.write(f"{visible(str(piece))}\n")


def say_error(flow: str | None, error: ErrorReport) -> None:
    """Writes an error to standard error: one line, so that a command in it can be copied, however wide the terminal is."""
    where = f"{flow}: " if flow else ""
    if is_terminal(sys.stderr):
        console(sys.stderr).print(_coloured(where, error), soft_wrap=True)
    else:
        sys.stderr.write(visible(f"{where}{error}\n"))


def console(stream: TextIO) -> "Console":
    """The terminal behind standard output or standard error."""
    from rich.console import Console

    return Console(file=stream, highlight=False, markup=False, emoji=False)


def fitted(table: Table) -> "RichTable":
    """The table for the terminal's width: numbers stay whole, and other cells that do not fit run on in the next line of their column."""
    from rich.table import Table as RichTable
    from rich.text import Text

    result = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for place, name in enumerate(table.head):
        numbers = all(_NUMBER.fullmatch(row[place]) for row in table.rows)
        result.add_column(Text(name), justify="right" if numbers else "left", overflow="fold", no_wrap=numbers)
    for row in table.rows:
        result.add_row(*(Text(cell, _style(cell) if name == _STATE else "") for name, cell in zip(table.head, row, strict=True)))
    return result


def _coloured(where: str, error: ErrorReport) -> "Text":
    from rich.text import Text

    text = Text.assemble(where, (error.code, f"bold {_BAD}"), f": {visible(error.message)}")
    if error.next:
        text.append(f"{before_next(error.message)}Next: ", "bold")
        for words, is_command in error.step.pieces:
            text.append(visible(words), _COMMAND if is_command else "")
    return text


def _style(state: str) -> str:
    return _STYLES.get(state, _BAD)
