"""Waiting for what a test expects: until it is there, and at most as long as a busy machine may take."""

import time
from collections.abc import Callable
from typing import Any

PATIENCE = 120.0
"""Seconds for one answer of a service that does little to give it: a deadline for what does not come at all, never a measure of speed."""

ADMIN_TIMEOUT_MS = "30000"
"""`admin.timeout.ms` of flows between clusters that are well: more than a machine may stand still, less than the default of a minute."""

_FIRST, _LONGEST = 0.01, 0.4  # seconds between two looks: soon for what comes at once, rarely for what costs others time


def eventually(found: Callable[[], Any], what: str = "it", seconds: float = PATIENCE, longest: float = _LONGEST) -> Any:
    """What `found` gives as soon as it is something; `what` is said when it does not come within `seconds`. `longest`: seconds between
    two looks at most."""
    deadline, pause = time.monotonic() + seconds, _FIRST
    while not (answer := found()):
        assert time.monotonic() < deadline, f"{what} did not come within {seconds:g} s"
        time.sleep(pause)
        pause = min(1.3 * pause, longest)
    return answer
