"""What a flow's properties allow before an alert is sent."""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kafka_mirror.config.deadlines import BY_BEATS, BY_COPIES, LEAST_SECONDS, hand_over_seconds, lag_seconds

if TYPE_CHECKING:
    from kafka_mirror.config import Flow


@dataclass(frozen=True)
class Limits:
    """Seconds, but for `lag_records`, and `growth`, how many times as big an alert must be to be sent again; None: never."""

    lag: float | None = LEAST_SECONDS
    lag_records: int | None = None
    progress: float | None = LEAST_SECONDS
    copy: float | None = LEAST_SECONDS
    heartbeats: float | None = LEAST_SECONDS
    unreachable: float | None = 300
    for_seconds: float = 30
    repeat: float | None = None
    growth: float | None = 4

    @property
    def of_page(self) -> "Limits":
        """The limits of what is shown: the page shows it also where no alert is to be sent."""
        return replace(self, copy=math.inf if self.copy is None else self.copy, unreachable=self.unreachable or 0.0)


AT_ONE_LOOK = Limits(lag=None, progress=None, copy=math.inf, heartbeats=None)
"""For a single look that knows of no other: how long anything waits is not judged."""


def limits_of(flow: "Flow") -> Limits:
    """The limits of a flow, with defaults that follow its intervals."""
    by_copies, by_beats = BY_COPIES.seconds(flow), BY_BEATS.seconds(flow)
    return Limits(
        lag=lag_seconds(flow),
        lag_records=_limit(flow.value("mirror.deadline.lag.records")),
        progress=_limit(flow.value("mirror.deadline.progress.seconds"), by_copies),
        copy=_limit(flow.value("mirror.deadline.copy.seconds"), by_copies),
        heartbeats=_limit(flow.value("mirror.deadline.heartbeats.seconds"), by_beats),
        unreachable=_limit(flow.value("mirror.deadline.unreachable.seconds")),
        for_seconds=flow.value("mirror.alert.lasting.seconds"),
        repeat=_limit(flow.value("mirror.alert.repeat.seconds")),
        growth=factor if (factor := flow.value("mirror.alert.growth.factor")) >= 2 else None,
    )


def run_seconds(flow: "Flow", what: str) -> int | None:
    """How long a run of the flow's DAG `what` may take; None: as long as it takes, as one that beats until the next goes on."""
    seconds: int | None = _limit(flow.value("mirror.deadline.run.seconds"))
    if seconds is None or (what == "heartbeats" and flow.value("mirror.heartbeats.trigger")):
        return None
    return seconds + _copy_seconds(flow) if what == "copy" else seconds


def _copy_seconds(flow: "Flow") -> int:
    """For how long a run copies, and hands over; one that a person starts while two others hand over waits for one of them besides."""
    return int(flow.value("mirror.run.max.seconds") + 2 * hand_over_seconds(flow))


def _limit(value: int | None, default: int | None = None) -> int | None:
    """-1 stands for no limit."""
    if value is None:
        return default
    return None if value < 0 else value
