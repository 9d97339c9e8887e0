"""`status --watch`: looks again and again and redraws the terminal, until Ctrl-C."""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kafka_mirror.cli.answer import Answer, Piece, Table
from kafka_mirror.cli.terminal import console, fitted, is_terminal
from kafka_mirror.errors import UsageError
from kafka_mirror.errors.next_step import own

if TYPE_CHECKING:
    from rich.console import Console

DEFAULT_SECONDS = 5.0
_LEAST_SECONDS, _MOST_SECONDS = 1.0, 3600.0
_FEWEST_ROWS = 3
"""How many rows a table has in any case, however low the terminal is."""

Answers = Sequence[tuple[str | None, Answer]]


def add_arguments(command: argparse.ArgumentParser) -> None:
    """What the command takes."""
    command.add_argument(
        "--watch",
        nargs="?",
        metavar="SECONDS",
        type=_seconds,
        const=DEFAULT_SECONDS,
        help=f"look again after this many seconds ({DEFAULT_SECONDS:g} if none are given) and redraw the terminal, until Ctrl-C",
    )


def check_watch(options: argparse.Namespace) -> None:
    """Raises UsageError where there is no terminal to redraw."""
    if getattr(options, "watch", None) is not None and (options.json or not is_terminal(sys.stdout)):
        raise UsageError(
            f"The command line cannot be used: {options.command} --watch redraws a terminal, and the output goes somewhere else.",
            next=("Call it as often as you like: ", own(f"{options.command} --json"), "."),
        )


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
            code = tell(fitting(answers, terminal))
            terminal.print(f"{datetime.now(UTC):%H:%M:%S} UTC, again in {seconds:g} s; Ctrl-C ends it.", style="dim")
            pause(seconds)
    except KeyboardInterrupt:
        if code is None:
            raise
        return code


def fitting(answers: Answers, terminal: "Console") -> Answers:
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
        while len(rows) > _FEWEST_ROWS and len(terminal.render_lines(fitted(replace(piece, rows=rows)))) - 1 > lines:
            rows = rows[:-1]
        hidden_rows = len(piece.rows) - len(rows)
        return [replace(piece, rows=rows), f"… and {hidden_rows:,} more rows"] if hidden_rows else [piece]

    return [(flow, replace(answer, text=[part for piece in answer.pieces for part in cut(piece)])) for flow, answer in answers]


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not _LEAST_SECONDS <= seconds <= _MOST_SECONDS:
        raise argparse.ArgumentTypeError(f"must be a number of seconds from {_LEAST_SECONDS:g} to {_MOST_SECONDS:g} (it is {text!r})")
    return seconds
