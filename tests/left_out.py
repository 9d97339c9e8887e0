"""Says at the end of a run which tests it left to other commands; with several workers each tells the one that reports."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest

COMMANDS = {"faults": "make faults", "release": "make test-release", "kerberos": "make kerberos"}
"""Which command runs what has a mark."""
_TOLD = "left_out"
_LEFT: dict[str, str] = {}
"""The command that runs a test, by the test."""


def command_of(marks: Iterable[str]) -> str | None:
    """The command that runs a test with these marks, if it is not `make test`."""
    return next((COMMANDS[mark] for mark in marks if mark in COMMANDS), None)


def lines(left: Mapping[str, str]) -> Iterator[str]:
    """A line for each command: how many tests of which files it runs."""
    for command in sorted(set(left.values())):
        files = Counter(test.partition("::")[0] for test, where in left.items() if where == command)
        yield f"{files.total()} tests run in `{command}`: {', '.join(f'{file} ({count})' for file, count in sorted(files.items()))}"


def pytest_deselected(items: Iterable[pytest.Item]) -> None:
    """Keeps those that a mark leaves to another command."""
    for item in items:
        if (command := command_of(mark.name for mark in item.iter_markers())) is not None:
            _LEFT[item.nodeid] = command


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker tells what it left out."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput[_TOLD] = _LEFT


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Takes what a worker told. One that crashed told nothing."""
    _LEFT.update(getattr(node, "workeroutput", {}).get(_TOLD, {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says it."""
    if _LEFT:
        terminalreporter.section("left to other commands")
        for line in lines(_LEFT):
            terminalreporter.line(line)
