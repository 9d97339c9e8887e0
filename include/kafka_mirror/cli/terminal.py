"""What is written for people: plain text into a pipe or a file, on a terminal by `rich_output`; and how far a long step is.

Progress is on standard error. The first line says what begins. What takes longer than a moment gets a bar, which a thread of its own
draws; whatever happens to it, the step goes on. With --verbose the log says how far it is, for a bar would break its lines.
"""

import logging
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, TextIO

from kafka_mirror.cli.answer import Piece, Table
from kafka_mirror.errors import ErrorReport
from kafka_mirror.errors.words import duration, visible

if TYPE_CHECKING:
    from rich.progress import Progress


def _rich() -> ModuleType:
    """What writes to a terminal; a pipe does not pay for it."""
    from kafka_mirror.cli import rich_output

    return rich_output


def is_terminal(stream: TextIO) -> bool:
    """Whether a person looks at it."""
    return stream.isatty()


def say_flow(flow: str, state: str) -> None:
    """Says of which flow the next lines are, and what became of it if `state` is not empty, on standard output."""
    if is_terminal(sys.stdout):
        _rich().show_flow(flow, state)
    else:
        sys.stdout.write(f"{flow}: {state}".rstrip() + "\n")


def say(pieces: Iterable[Piece]) -> None:
    """Writes lines and tables to standard output."""
    for piece in pieces:
        if isinstance(piece, Table) and is_terminal(sys.stdout):
            _rich().show_table(piece)
        else:
            sys.stdout.write(f"{visible(str(piece))}\n")


def say_error(flow: str | None, error: ErrorReport) -> None:
    """Writes an error to standard error: one line, so that a command in it can be copied, however wide the terminal is."""
    where = f"{flow}: " if flow else ""
    if is_terminal(sys.stderr):
        _rich().show_error(where, error)
    else:
        sys.stderr.write(visible(f"{where}{error}\n"))


_MOMENT_SECONDS = 3.0
_END_SECONDS = 1.0
"""For how long the end of a step waits for the thread, which may be in the middle of a question."""
_RATE_SECONDS = 60.0
"""Over how long the rate is taken."""

Positions = Callable[[], Generator[int, None, None]]
"""Gives, each time it is asked, how many of the offsets are done."""
Sample = tuple[float, int]

log = logging.getLogger(__name__)


class Counter:
    """Counts what several threads do."""

    def __init__(self) -> None:
        self._value = 0
        self._lock = threading.Lock()

    def add(self, number: int) -> None:
        """Counts this many more."""
        with self._lock:
            self._value += number

    def follow(self) -> Generator[int, None, None]:
        """The count, each time as it is then."""
        while True:
            yield self._value


@contextmanager
def progress(
    begins: str, offsets: int, positions: Positions | None = None, every: float = 0.5, lasts: float | None = None
) -> Iterator[None]:
    """Shows how far the block is, while it runs: `begins` says what it does with how many `offsets`. It asks for the position every `every`
    seconds; without `positions` it is unknown, and only the time is shown. A block that `lasts` a number of seconds ends with them, and not
    with its offsets."""
    if not is_terminal(sys.stderr) or logging.getLogger("kafka_mirror").isEnabledFor(logging.INFO):
        yield
        return
    sys.stderr.write(f"{begins}\n")
    sys.stderr.flush()
    bar, ended = _rich().bar(), threading.Event()
    thread = threading.Thread(target=_draw, args=(bar, offsets, positions, every, lasts, ended), name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(_END_SECONDS)
        _stop(bar)


def _draw(bar: "Progress", offsets: int, positions: Positions | None, every: float, lasts: float | None, ended: threading.Event) -> None:
    if ended.wait(_MOMENT_SECONDS):
        return
    began = time.monotonic() - _MOMENT_SECONDS
    samples = deque([(began, 0)])
    try:
        task = bar.add_task("", total=lasts or (offsets if positions else None))
        bar.start()
        with closing(positions() if positions else Counter().follow()) as values:
            while not ended.is_set():
                done, now = next(values), time.monotonic()
                add(samples, (now, done))
                if lasts is not None:
                    words = f"{done:,} offsets{rate_text(samples)}, {duration(max(0.0, lasts - (now - began)))} left"
                    bar.update(task, completed=min(now - began, lasts), description=words)
                else:
                    words = outlook(samples, offsets) if positions else duration(now - began)
                    bar.update(task, completed=min(done, offsets), description=words)
                ended.wait(every)
    except Exception as failure:  # noqa: BLE001 — the step must not fail because its progress is unknown
        log.warning("How far it is cannot be shown any more: %s", failure)
        _stop(bar)


def _stop(bar: "Progress") -> None:
    """Takes the bar away; a second time it does nothing."""
    try:
        bar.stop()
    except Exception as failure:  # noqa: BLE001 — as above: a terminal that is gone is no reason to fail
        log.warning("The progress cannot be taken off the terminal: %s", failure)


def add(samples: deque[Sample], newest: Sample) -> None:
    """Adds a sample, a time (seconds) and how many offsets were done then, and drops those that say nothing of the rate: it is that of the
    last minute, and begins with the first movement, for Spark takes its time to start."""
    samples.append(newest)
    while len(samples) > 1 and (samples[1][0] < newest[0] - _RATE_SECONDS or samples[1][1] == samples[0][1]):
        samples.popleft()


def outlook(samples: Sequence[Sample], offsets: int) -> str:
    """How many of the offsets are done, how many come in a second, and how long the others will take."""
    done, rate = samples[-1][1], _rate(samples)
    remaining = f", {duration((offsets - done) / rate)} left" if rate > 0 and done < offsets else ""
    return f"{min(done, offsets):,} of {offsets:,} offsets{rate_text(samples)}{remaining}"


def rate_text(samples: Sequence[Sample]) -> str:
    """How many offsets come in a second, to be said after how many are done; nothing while none come."""
    rate = _rate(samples)
    return f", {rate:,.0f} a second" if rate > 0 else ""


def _rate(samples: Sequence[Sample]) -> float:
    (first, before), (now, done) = samples[0], samples[-1]
    return (done - before) / (now - first) if now > first else 0.0
