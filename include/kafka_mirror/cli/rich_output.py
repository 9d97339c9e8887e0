"""What a terminal shows: tables that fit its width, colours, bars, and `status --watch`, which redraws it. A pipe does not import it, for
`rich` takes its time. NO_COLOR takes the colours away."""

import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table as RichTable
from rich.text import Text

from kafka_mirror.cli.answer import DONE, FAILED, NOTHING_TO_DO, UNUSABLE, WAITING, Answer, Piece, Table
from kafka_mirror.errors import ErrorReport
from kafka_mirror.errors.base import separate_next
from kafka_mirror.errors.words import visible
from kafka_mirror.status.status import GONE, INTENDED, OPEN_TRANSACTION, PROGRESSING, UNKNOWN, UP_TO_DATE

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


def show_flow(flow: str, state: str) -> None:
    """Writes a flow's name and state to standard output."""
    said = (" ", (state, _style(state))) if state else ()
    console(sys.stdout).print(Text.assemble((flow, "bold"), ":", *said), soft_wrap=True)


def show_table(table: Table) -> None:
    """Writes a table to standard output."""
    console(sys.stdout).print(fit_table(table))


def show_error(where: str, error: ErrorReport) -> None:
    """Writes an error to standard error: one line, so that a command in it can be copied, however wide the terminal is."""
    text = Text.assemble(where, (error.code, f"bold {_BAD}"), f": {visible(error.message)}")
    if error.next:
        text.append(f"{separate_next(error.message)}Next: ", "bold")
        for words, is_command in error.step.pieces:
            text.append(visible(words), _COMMAND if is_command else "")
    console(sys.stderr).print(text, soft_wrap=True)


def console(stream: TextIO) -> Console:
    """The terminal of standard output or standard error."""
    return Console(file=stream, highlight=False, markup=False, emoji=False)


def fit_table(table: Table) -> RichTable:
    """The table for the terminal's width: numbers stay whole, and other cells that do not fit run on in the next line of their column."""
    result = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for place, name in enumerate(table.head):
        numbers = all(_NUMBER.fullmatch(row[place]) for row in table.rows)
        result.add_column(Text(name), justify="right" if numbers else "left", overflow="fold", no_wrap=numbers)
    for row in table.rows:
        result.add_row(*(Text(cell, _style(cell) if name == _STATE else "") for name, cell in zip(table.head, row, strict=True)))
    return result


def _style(state: str) -> str:
    return _STYLES.get(state, _BAD)


def bar() -> Progress:
    """A bar on standard error, which goes when it is stopped."""
    columns = (SpinnerColumn(), BarColumn(bar_width=20), TextColumn("{task.description}"))
    return Progress(*columns, console=console(sys.stderr), transient=True, redirect_stdout=False, refresh_per_second=4)


_FEWEST_ROWS = 3
"""How many rows a table has in any case, however low the terminal is."""

Answers = Sequence[tuple[str | None, Answer]]


def watch(
    seconds: float, look: Callable[[], Answers], tell: Callable[[Answers], int], pause: Callable[[float], object] = time.sleep
) -> int:
    """Looks, clears the terminal, tells what was seen, and so on. Ctrl-C ends it: the code of what stands on the terminal then.

    Raises KeyboardInterrupt before anything stands there.
    """
    code = None
    try:
        while True:
            answers, terminal = look(), console(sys.stdout)
            terminal.clear()
            code = tell(fit_answers(answers, terminal))
            terminal.print(f"{datetime.now(UTC):%H:%M:%S} UTC, again in {seconds:g} s; Ctrl-C ends it.", style="dim")
            pause(seconds)
    except KeyboardInterrupt:
        if code is None:
            raise
        return code


def fit_answers(answers: Answers, terminal: Console) -> Answers:
    """The answers with as many rows of their tables as the terminal has room for, and how many others there are."""
    tables = [piece for _, answer in answers for piece in answer.pieces if isinstance(piece, Table)]
    words = [str(piece) for _, answer in answers for piece in (*answer.pieces, *answer.errors) if not isinstance(piece, Table)]
    # One line each: a flow, a table's head, what is said of the rows that are left out; one each for our own last line and the cursor.
    taken = len(answers) + 2 * len(tables) + sum(-(-len(line) // terminal.width) for line in words) + 2
    lines = (terminal.height - taken) // max(len(tables), 1)

    def cut(piece: Piece) -> list[Piece]:
        """The piece, as long as there is room; a table with fewer rows, and how many it lacks."""
        if not isinstance(piece, Table):
            return [piece]
        rows = piece.rows[: max(lines, _FEWEST_ROWS)]
        # Some rows are of several lines.
        while len(rows) > _FEWEST_ROWS and len(terminal.render_lines(fit_table(replace(piece, rows=rows)))) - 1 > lines:
            rows = rows[:-1]
        hidden_rows = len(piece.rows) - len(rows)
        return [replace(piece, rows=rows), f"… and {hidden_rows:,} more rows"] if hidden_rows else [piece]

    return [(flow, replace(answer, text=[part for piece in answer.pieces for part in cut(piece)])) for flow, answer in answers]
