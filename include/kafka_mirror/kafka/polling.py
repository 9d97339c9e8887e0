"""Waiting until a cluster shows something: brokers follow their controller, and markers their commit, a moment later. And what is done
again and again beside other work.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Result = TypeVar("Result")

log = logging.getLogger(__name__)


def poll_until(check: Callable[[], Result], seconds: float, every: float, enough: Callable[[Result], object] = bool) -> Result:
    """Checks once in `every` seconds until `enough` is true of the result, or time is up; gives the last result.

    It checks at least once, and once more after the last pause. A caller that cannot go on without it asks `enough` again and raises.
    """
    deadline = time.monotonic() + seconds
    while True:
        result = check()
        if enough(result) or time.monotonic() > deadline:
            return result
        time.sleep(every)


@contextmanager
def repeat_meanwhile(
    what: str, seconds: float, do: Callable[[], bool], otherwise: str, patience: float, *, at_once: bool = False
) -> Iterator[None]:
    """Does something every `seconds`, or `at_once` too, in a thread of its own while the block lasts, until it gives False. If it
    raises, the log says so with `otherwise`, and it is done again the next time. At the end of the block it has `patience` seconds to
    end."""
    ended = threading.Event()
    thread = threading.Thread(target=repeat, args=(do, seconds, otherwise, ended, at_once), name=what, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(patience)


def repeat(do: Callable[[], bool], seconds: float, otherwise: str, ended: threading.Event, at_once: bool = False) -> None:
    """What the thread of `repeat_meanwhile` does, until `ended` is set."""
    pause = 0.0 if at_once else seconds
    while not ended.wait(pause):
        pause = seconds
        try:
            if not do():
                return
        except Exception as failure:  # noqa: BLE001 — the block goes on without it, and `otherwise` says what makes up for it
            log.warning("%s: %s: %s", otherwise, type(failure).__name__, failure)


LONGEST_THROTTLE_SECONDS = 60.0
"""A broker's quota holds a client back for seconds. A broker that says more is not waited for any longer than this."""


def throttle_seconds(milliseconds: int) -> float:
    """For how long to take a broker at its word that its quota holds us back (KIP-219)."""
    return min(max(0.0, milliseconds / 1000), LONGEST_THROTTLE_SECONDS)
