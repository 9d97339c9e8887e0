"""A whole backfill by hand: times to offsets, the live part, history, slice after slice until nothing is left."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from kafka_mirror.backfill.history import history_slice
from kafka_mirror.backfill.live import Copy, live_slice
from kafka_mirror.backfill.model import BackfillPart, BackfillRequest, Resolution
from kafka_mirror.backfill.resolve import resolve
from kafka_mirror.config import Flow

_PAUSE_SECONDS = 5.0
_IN_VAIN = 3
"""How many slices in a row may come no further before it is left to a person."""


@dataclass(frozen=True)
class BackfillOutcome:
    """The outcome of a backfill: its resolution, and its live and its history part."""

    resolution: Resolution
    live: BackfillPart
    history: BackfillPart


def run_backfill(flow: Flow, request: BackfillRequest, copy: Copy, dry_run: bool = False, run: str | None = None) -> BackfillOutcome:
    """Brings the interval to the target, exactly once, however often and beside whatever else it is run; a second run copies nothing.

    With `dry_run` it says what would be copied and writes nothing. What concerns a partition is in the parts' errors, and stops no other.
    Raises what concerns the whole flow.
    """
    resolution = resolve(flow, request)
    live = run_until_done(lambda: live_slice(flow, resolution, copy, dry_run, run), dry_run)
    history = run_until_done(lambda: history_slice(flow, request, resolution, copy, dry_run), dry_run)
    return BackfillOutcome(resolution, live, history)


def run_until_done(one: Callable[[], BackfillPart], dry_run: bool, wait: Callable[[float], object] = time.sleep) -> BackfillPart:
    """Runs slices until nothing is owed or none gets any further; a dry run runs one.

    A partition that only a person can mend keeps none of the others waiting. What is retriable (a copy that took a lane over, a broker that
    is away) is tried again after a pause.
    """
    done = one()
    moved, in_vain = bool(done.records), 0
    while done.owed and not dry_run and (moved or (in_vain < _IN_VAIN and all(error.retriable for error in done.errors))):
        if any(error.retriable for error in done.errors):
            wait(_PAUSE_SECONDS)
        before, done = done.owed, done.add(one())
        moved = done.owed < before
        in_vain = 0 if moved else in_vain + 1
    return done
