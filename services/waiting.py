"""Waits for what a test expects: until it is there, and at most as long as a busy machine may take."""

import time
from collections.abc import Callable
from typing import Any

PATIENCE = 120.0
"""Seconds for one answer of a service that does little to give it: a deadline for answers that never come, and no measure of speed."""

ADMIN_TIMEOUT_MS = "30000"
"""`admin.timeout.ms` of flows between healthy clusters: longer than a busy machine may pause, less than the default of a minute."""

_FIRST, _LONGEST = 0.01, 0.4
"""Seconds between two looks: at first few, then more, for each look takes processor time from others."""


def eventually(look: Callable[[], Any], what: str = "it", seconds: float = PATIENCE, longest: float = _LONGEST) -> Any:
    """Calls `look` until it gives something, and gives that; fails with `what` after `seconds`. `longest`: seconds between two calls."""
    deadline, pause = time.monotonic() + seconds, _FIRST
    while not (answer := look()):
        assert time.monotonic() < deadline, f"{what} did not come within {seconds:g} s"
        time.sleep(pause)
        pause = min(1.3 * pause, longest)
    return answer
