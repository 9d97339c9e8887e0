"""Says whether everything up to a time is on the target: the offsets that the time comes to, held against the ledger. Writes nothing."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kafka_mirror.backfill.live import live_slice
from kafka_mirror.backfill.model import BackfillPart, BackfillRequest, Resolution, TimeInterval, moment_of
from kafka_mirror.backfill.resolve import resolve
from kafka_mirror.config import Flow
from kafka_mirror.errors import ErrorReport


@dataclass(frozen=True)
class Arrival:
    """How much of what the source has from before a time is on the target. Without a resolution the time is not over, and no cluster was
    asked."""

    flow: str
    up_to: int
    resolution: Resolution | None = None
    live: BackfillPart = field(default_factory=BackfillPart)

    @property
    def errors(self) -> tuple[ErrorReport, ...]:
        """What keeps partitions from being complete."""
        return tuple(dict.fromkeys((*(self.resolution.errors if self.resolution else ()), *self.live.errors)))

    @property
    def not_had(self) -> tuple[str, ...]:
        """What is not copied because a person wants it so, or because its remote topic is not there yet."""
        left_out = self.resolution.not_had if self.resolution else ()
        return tuple(dict.fromkeys((*left_out, *(self.live.not_had if self.live.owed else ()))))

    @property
    def is_complete(self) -> bool:
        """Whether the copy has passed the time in each partition."""
        return self.resolution is not None and not (self.live.owed or self.errors or self.not_had)

    @property
    def totals(self) -> dict[str, Any]:
        """The figures for XCom. `provisional` counts the partitions to which records from before the time may still come: the source has
        none from after it."""
        resolution = self.resolution.totals if self.resolution else {}
        return {"up_to": moment_of(self.up_to), **{name: resolution.get(name, 0) for name in ("partitions", "offsets", "provisional")}}

    def __str__(self) -> str:
        moment = moment_of(self.up_to)
        if self.resolution is None:
            return f"{self.flow}: {moment} is not over."
        if self.is_complete:
            return f"{self.flow}: everything up to {moment} is on the target: {self.totals['offsets']:,} offsets."
        reasons = [*(str(error).splitlines()[0] for error in self.errors), *self.not_had]
        return f"{self.flow}: of what is older than {moment}, {self.live.owed:,} offsets are not on the target." + "".join(
            f"\n- {reason}" for reason in reasons
        )


def find_arrival(flow: Flow, topics: Sequence[str], up_to: int) -> Arrival:
    """How far the target is from having everything up to a time (Unix milliseconds); without topics: of all topics of the flow.

    Raises what concerns the whole flow, and UsageError for a topic that the flow does not mirror.
    """
    if time.time() * 1000 < up_to:
        return Arrival(flow.name, up_to)
    request = BackfillRequest(TimeInterval(0, up_to), tuple(topics), history=False)
    resolution = resolve(flow, request)
    arrival = Arrival(flow.name, up_to, resolution, live_slice(flow, resolution, lambda _plan: (), dry_run=True))
    # The second look leaves out what somebody paused after the first one, so a third one says whether anything is paused.
    return replace(arrival, resolution=resolve(flow, request)) if arrival.is_complete else arrival
