"""Waiting for what a test expects: until it is there, and at most as long as a busy machine may take."""

import time
from collections.abc import Callable
from typing import Any

PATIENCE = 120.0
"""Seconds for one answer of a service that does little to give it: a deadline for what does not come at all, never a measure of speed."""


def eventually(found: Callable[[], Any], what: str = "it", seconds: float = PATIENCE, every: float = 0.05) -> Any:
    """What `found` gives as soon as it is something; `what` is said when it does not come within `seconds`."""
    deadline = time.monotonic() + seconds
    while not (answer := found()):
        assert time.monotonic() < deadline, f"{what} did not come within {seconds:g} s"
        time.sleep(every)
    return answer
