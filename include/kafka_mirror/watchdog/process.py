"""The watchdog itself: a small process that waits for signs of life, and ends the process that owes them.

It runs as a program of its own, with the standard library alone, so nothing of the mirror or of a Kafka client can hold it up. Standard
input carries lines of JSON: `[process, seconds, text]` means "if no other line comes within this many seconds, write this text and end this
process"; `null` means that no process is watched. The end of standard input ends the watchdog.
"""

import json
import os
import resource
import select
import signal
import sys
import time

_STEP_SECONDS = 1.0
"""It counts steps and not the clock, which jumps when a whole machine was suspended: then the process could give no sign of life either."""
_DUMP_SECONDS = 2.0
"""For so long a process may write its stacks."""


def watch() -> None:
    """Reads lines until the input ends, or until one was not followed by another in time."""
    order: tuple[int, float, str] | None = None
    waited, text = 0.0, b""
    while True:
        patience = None if order is None else max(0.0, order[1] - waited)
        if order is None or patience is None or _readable(min(patience, _STEP_SECONDS)):
            read = os.read(0, 65536)
            if not read:
                return
            *lines, text = (text + read).split(b"\n")
            if lines:
                sign = json.loads(lines[-1])
                order, waited = sign and (int(sign[0]), float(sign[1]), str(sign[2])), 0.0
        elif patience <= _STEP_SECONDS:
            end(order[0], order[2])
            return
        else:
            waited += _STEP_SECONDS


def end(process: int, text: str) -> None:
    """Says why, lets the process write the stack of each thread (SIGQUIT, see `watchdog`), and kills it with what it started."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
    try:
        group = process if os.getpgid(process) == process else 0
        if hasattr(resource, "prlimit"):
            resource.prlimit(process, resource.RLIMIT_CORE, (0, 0))  # a core file would hold the clusters' passwords
        os.kill(process, signal.SIGQUIT)
        until = time.monotonic() + _DUMP_SECONDS
        while (seconds := until - time.monotonic()) > 0 and _readable(seconds) and os.read(0, 65536):
            pass  # a process that lives goes on giving signs; the end of input is its own
        if group:
            os.killpg(group, signal.SIGKILL)
        else:
            os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return  # it has ended by itself


def _readable(seconds: float) -> bool:
    return bool(select.select([0], [], [], seconds)[0])


if __name__ == "__main__":
    watch()
