"""How fast a flow copies and its source grows, and when it will have caught up. Pure arithmetic over samples of the running totals."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from mirror.offsets.partition import TopicPartition

WINDOW_SECONDS = 300.0
"""Over how long rates are measured at least, once there are samples of so long a time: several runs of the usual copy."""
_SAMPLES = 6
_INTERVALS_TO_KEEP_UP = 2
"""A flow keeps up if what the source had so many copy intervals ago is copied."""

NOTHING_COPIED = "nothing was copied since {seconds:.0f} s"
TOO_SLOW = "the source grows at least as fast as the flow copies"
NOT_YET_MEASURED = "not measured yet"


class Totals(NamedTuple):
    """The running totals of one partition: records and bytes copied, the watermark, and the source's end (None: unknown)."""

    records: int
    bytes: int
    watermark: int
    end: int | None


@dataclass(frozen=True)
class Sample:
    """The totals of all partitions at one moment (Unix seconds)."""

    time: float
    totals: Mapping[TopicPartition, Totals]


@dataclass(frozen=True)
class Throughput:
    """Means per second over the last `seconds`; None where that is not known. `source_offsets` is how fast the source grows."""

    seconds: float = 0.0
    records: float | None = None
    bytes: float | None = None
    source_offsets: float | None = None


NOT_MEASURED = Throughput()


@dataclass(frozen=True)
class CatchUp:
    """In how many seconds everything will be copied, if flow and source go on as in the last minutes.

    0: it is. None: not known yet. Infinity: never, and `reason` says why. Partitions that wait for a person (`waiting`) do not count.
    """

    seconds: float | None = None
    reason: str = NOT_YET_MEASURED
    waiting: int = 0


@dataclass
class Samples:
    """Samples of one flow, the oldest first, spaced so that a few of them cover the window."""

    kept: list[Sample] = field(default_factory=list)

    def add(self, sample: Sample) -> None:
        """Keeps the sample, in place of the newest one if that is not old enough to stand for itself. One of an earlier time (a clock that
        was set back) begins anew."""
        if self.kept and sample.time <= self.kept[-1].time:
            self.kept = []
        if len(self.kept) > 1 and sample.time - self.kept[-2].time < WINDOW_SECONDS / (_SAMPLES - 1):
            self.kept.pop()
        self.kept.append(sample)
        while len(self.kept) > 2 and sample.time - self.kept[1].time >= WINDOW_SECONDS:
            self.kept.pop(0)
