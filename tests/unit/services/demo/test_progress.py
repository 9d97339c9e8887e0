"""The lines that a person sees while the demo starts."""

import io
import re

import pytest

from services.demo import progress as module
from services.demo.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_step_is_one_line_with_its_seconds() -> None:
    out = io.StringIO()
    with Progress(out).step("PostgreSQL") as say:
        say("not long enough to be worth a line")
    assert re.fullmatch(r"  PostgreSQL \.+  0\.\d s\n", out.getvalue())


def test_long_step_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_QUIET_SECONDS", 0.0)
    out = io.StringIO()
    with Progress(out).step("copy") as say:
        say("1 of 2")
    assert re.fullmatch(r"  copy \n    1 of 2 \(0 s\)\n  copy \.+  0\.\d s\n", out.getvalue())


def test_terminal_shows_progress_in_the_same_line() -> None:
    out = Terminal()
    with Progress(out).step("copy") as say:
        say("1 of 2")
    assert out.getvalue().count("\n") == 1
    assert "copy 1 of 2 (0 s)\r" in out.getvalue()


def test_failed_step_ends_its_line_without_seconds() -> None:
    out = io.StringIO()
    with pytest.raises(KeyboardInterrupt), Progress(out).step("copy"):
        raise KeyboardInterrupt
    assert out.getvalue() == "  copy \n"
