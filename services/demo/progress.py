"""What a person sees while the demo starts: a line for each step, with the seconds it took."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

_WIDTH = 64
_QUIET_SECONDS = 10.0
_AGAIN = "\r\033[K"
"""Back to the line's beginning, which it empties."""


class Progress:
    """Steps on a stream. On a terminal a step's line shows its seconds and what it waits for; elsewhere long steps add a line at times."""

    def __init__(self, out: TextIO = sys.stdout) -> None:
        self._out = out
        self._terminal = out.isatty()
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        """Since the first step."""
        return time.monotonic() - self._began

    def say(self, text: str = "") -> None:
        """A line of its own."""
        print(text, file=self._out, flush=True)

    @contextmanager
    def step(self, title: str) -> Iterator[Callable[[str], None]]:
        """The block is one step; what it gives takes a word on how far it is."""
        began = said = time.monotonic()
        head, whole_line = f"  {title} ", True
        self._write(head)

        def detail(text: str) -> None:
            nonlocal said, whole_line
            now = time.monotonic()
            if self._terminal:
                self._write(f"{_AGAIN}{head}{text} ({now - began:.0f} s)")
            elif now - said >= _QUIET_SECONDS:
                self._write(f"\n    {text} ({now - began:.0f} s)")
                said, whole_line = now, False

        try:
            yield detail
        except BaseException:
            self._write("\n")
            raise
        end = f"{'':.<{_WIDTH - len(head)}} {time.monotonic() - began:4.1f} s\n"
        self._write(f"{_AGAIN}{head}{end}" if self._terminal else end if whole_line else f"\n{head}{end}")

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()
