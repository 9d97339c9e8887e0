"""`status --watch`: looks again and again and redraws the terminal, until Ctrl-C."""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from rich.console import Console

from kafka_mirror.cli.answer import Answer, Piece, Table
from kafka_mirror.cli.rich_output import console, fit_table

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
