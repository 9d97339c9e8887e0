"""Waiting until a cluster shows something: brokers follow their controller, and markers their commit, a moment later."""

import time
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def until(check: Callable[[], Result], seconds: float, every: float, enough: Callable[[Result], object] = bool) -> Result:
    """Checks every so many seconds (`every`) until `enough` is true of the result, or time is up; gives the last result.

    It checks at least once, and once more after the last pause. Whoever cannot go on without it asks `enough` again and raises.
    """
    deadline = time.monotonic() + seconds
    while True:
        result = check()
        if enough(result) or time.monotonic() > deadline:
            return result
        time.sleep(every)


LONGEST_THROTTLE_SECONDS = 60.0
"""A broker's quota holds a client back for seconds. A broker that says more is not waited for any longer than this."""


def throttle_seconds(milliseconds: int) -> float:
    """For how long to take a broker at its word that its quota holds us back (KIP-219)."""
    return min(max(0.0, milliseconds / 1000), LONGEST_THROTTLE_SECONDS)
