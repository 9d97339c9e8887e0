"""Watches the ends of a wave's partitions until nobody writes to them any more, and asks who does."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kafka_mirror.cutover.steps.fence_writers import FenceWatch
from kafka_mirror.cutover.steps.quiet_period import QuietPeriod, first_look, next_look
from kafka_mirror.cutover.steps.source_truth import LogsLook
from kafka_mirror.cutover.steps.writer_survey import EndWatch, Producers, survey_writers
from kafka_mirror.cutover.steps.writers import Writers
from kafka_mirror.cutover.wave.step import StepOptions
from kafka_mirror.errors import MirrorError
from kafka_mirror.errors.words import first_few
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import LogOffsets
from kafka_mirror.kafka.producers import active_producers

if TYPE_CHECKING:
    from kafka_mirror.config import Flow

_LOOKS_A_PERIOD = 10
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.2, 1.0
_SAY_EVERY_SECONDS = 10.0


@dataclass
class EndsWatcher:
    """One watch over all partitions of a wave: one request to each leader a look, however many partitions there are."""

    flow: "Flow"
    source: Cluster
    partitions: Sequence[TopicPartition]
    ask_all: Callable[[], LogsLook]
    """Asks every bootstrap server of the source: what one of them tells is enough to wait, and not to end."""
    refused: dict[str, MirrorError] = field(default_factory=dict)
    """Why the producers of a topic could not be asked for, by topic."""

    def until_quiet(self, options: StepOptions, waits: bool) -> tuple[FenceWatch, bool]:
        """What was seen, and whether the wave was quiet for `options.quiet_seconds`.

        With `waits` it goes on until then, for `options.timeout` seconds at most; else it watches for one such period alone. Raises what
        concerns the source as a whole.
        """
        quiet = options.quiet_seconds
        pause = min(max(quiet / _LOOKS_A_PERIOD, _SHORTEST_PAUSE), _LONGEST_PAUSE)
        earlier = active_producers(self.source, self.partitions, self.refused)
        ends, say = EndWatch(self.source, self.partitions), _Saying(options.progress)
        period = first_look(self.partitions, self._offsets(), time.monotonic())
        deadline = period.begun + (max(options.timeout, quiet) if waits else quiet)
        while True:
            if period.lasts(quiet, time.monotonic()):
                watch = self._survey(period, earlier, ends)
                if watch.period.lasts(quiet, time.monotonic()) and not watch.contradictions:
                    return watch, True
                period = watch.period
            if time.monotonic() >= deadline:
                return self._survey(period, earlier, ends, quiet), False
            time.sleep(pause)
            period = self._look(period)
            say.period(period, quiet)

    def _survey(self, period: QuietPeriod, earlier: Producers, ends: EndWatch, recent: float = 0.0) -> FenceWatch:
        """The producers of now, then the ends once more, as all servers have them: what was written until the answer about the producers
        shows."""
        writers: Writers = survey_writers(self.flow, self.source, self.partitions, ends, self.refused)
        look = self.ask_all()
        offsets = {tp: state.log for tp, state in look.logs.items() if state.log is not None and tp in period.partitions}
        period = next_look(period, offsets, time.monotonic())
        now = time.monotonic()
        growth = period.growth_after(now - recent - _LONGEST_PAUSE)
        return FenceWatch(period, growth, now - period.begun, earlier, writers, look.stops, look.warnings)

    def _look(self, period: QuietPeriod) -> QuietPeriod:
        offsets = self._offsets()
        return next_look(period, offsets, time.monotonic())

    def _offsets(self) -> dict[TopicPartition, LogOffsets]:
        return self.source.log_offsets(self.partitions, {})


@dataclass
class _Saying:
    """Says now and then what the step waits for."""

    progress: Callable[[str], None]
    said: float = 0.0

    def period(self, period: QuietPeriod, quiet: float) -> None:
        """What keeps the wave from being quiet, unless it was said just now."""
        now = time.monotonic()
        if period.lasts(quiet, now) or now - self.said < _SAY_EVERY_SECONDS:
            return
        self.said = now
        moving = sorted(period.growth_after(period.since - quiet))
        reasons = [
            f"{first_few(moving)} still grew" if moving else "",
            f"transactions are open in {first_few(sorted(period.open_from))}" if period.open_from else "",
            f"nobody tells where {first_few(sorted(period.silent))} ends" if period.silent else "",
        ]
        why = "; ".join(filter(None, reasons)) or "nothing moves"
        self.progress(f"Quiet for {now - period.since:.1f} of {quiet:g} s: {why}.")
