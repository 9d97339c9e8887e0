"""How fast a wave catches up, and when it will have caught up. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kafka_mirror.formats.offsets.partition import TopicPartition


@dataclass(frozen=True)
class WaveLag:
    """How far the copy of each partition had come at one moment (seconds of one clock), and where its source log ended then.

    The lag counts offsets, as everywhere: an upper bound of the records that are missing.
    """

    time: float
    watermarks: Mapping[TopicPartition, int]
    ends: Mapping[TopicPartition, int]

    @property
    def lags(self) -> dict[TopicPartition, int]:
        """By partition."""
        return {tp: max(0, end - self.watermarks[tp]) for tp, end in self.ends.items() if tp in self.watermarks}

    @property
    def total(self) -> int:
        """Of all partitions together."""
        return sum(self.lags.values())

    @property
    def most(self) -> int:
        """Of the partition that is the furthest behind."""
        return max(self.lags.values(), default=0)

    def over(self, max_lag: int) -> dict[TopicPartition, int]:
        """The partitions that are further behind than that, with their lag."""
        return {tp: lag for tp, lag in self.lags.items() if lag > max_lag}


@dataclass(frozen=True)
class Forecast:
    """Rates in offsets a second: what the copy brings, and what producers add. `seconds`: in how many the wave will have caught up, None if
    it will not at this rate, or nobody can tell yet."""

    copied: float
    added: float
    seconds: float | None


def catch_up_forecast(samples: Sequence[WaveLag], max_lag: int) -> Forecast | None:
    """By the first and the last of some samples; None where they are fewer than two, or no time lies between them.

    A partition counts with what it is behind beyond `max_lag`. Partitions are copied side by side, so the whole excess goes down at the
    rate at which the whole lag does.
    """
    if len(samples) < 2 or samples[-1].time <= samples[0].time:
        return None
    first, last = samples[0], samples[-1]
    seconds = last.time - first.time
    copied, added = _growth(first.watermarks, last.watermarks) / seconds, _growth(first.ends, last.ends) / seconds
    excess = sum(lag - max_lag for lag in last.over(max_lag).values())
    if not excess:
        return Forecast(copied, added, 0.0)
    return Forecast(copied, added, excess / (copied - added) if copied > added else None)


def forecast_text(sample: WaveLag, forecast: Forecast | None) -> str:
    """Lag, rate, and when the wave will have caught up, for people."""
    behind = f"The wave is {sample.total:,} records behind, {sample.most:,} in one partition at most"
    if forecast is None:
        return f"{behind}."
    rates = f"{forecast.copied:,.0f} records/s are copied, {forecast.added:,.0f} records/s are written"
    if forecast.seconds is None:
        return f"{behind}; {rates}: at this rate it will not catch up."
    return f"{behind}; {rates}: at this rate it has caught up in {forecast.seconds:,.0f} s."


def _growth(before: Mapping[TopicPartition, int], after: Mapping[TopicPartition, int]) -> int:
    return sum(offset - before[tp] for tp, offset in after.items() if tp in before)
