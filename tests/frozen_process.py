"""Ends a process of pytest that stands still in C code with Python's lock held, where no handler of a signal runs.

pytest-timeout ends a test that hangs by a signal, which Python has to take up. So a minute after a test's limit a thread of C, that of
faulthandler, writes the stack of each thread and ends the process. With xdist the test is red then, and another worker takes the rest.
"""

import faulthandler
import os
from collections.abc import Generator

import pytest

GRACE_SECONDS = 60.0
"""For pytest-timeout, and for the fixtures that it lets end."""
_STDERR = pytest.StashKey[int]()


def pytest_configure(config: pytest.Config) -> None:
    """Keeps standard error as it is now; during a test it leads into what pytest captures, which ends with the process."""
    config.stash[_STDERR] = os.dup(2)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Watches one test, its fixtures included."""
    faulthandler.dump_traceback_later(limit_seconds(item) + GRACE_SECONDS, exit=True, file=item.config.stash[_STDERR])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


def limit_seconds(item: pytest.Item) -> float:
    """What pytest-timeout gives the test, by its mark or by the setting."""
    mark = item.get_closest_marker("timeout")
    return float(mark.args[0] if mark is not None and mark.args else item.config.getini("timeout"))
