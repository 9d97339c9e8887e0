"""The step `catch-up`: copies until the lag of every partition is what the wave may have, and audits what is copied so far.

The audit belongs before the fence too: once that is closed no producer can write, and the gate is to compare only what came since. The last
passes say how fast the wave catches up, and when it will have caught up.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kafka_mirror.cutover.steps.audit_gate import audit_ahead
from kafka_mirror.cutover.steps.copy_pass import WaveCopy, WaveLag, WaveLook, plan_wave
from kafka_mirror.cutover.wave.findings import Finding, stop, wave_findings
from kafka_mirror.cutover.wave.move import Move
from kafka_mirror.cutover.wave.notebook import WaveNotes
from kafka_mirror.cutover.wave.step import CATCH_UP, DONE, StepOptions, StepOutcome, ended
from kafka_mirror.errors import WaveBehind
from kafka_mirror.errors.words import first_few
from kafka_mirror.formats.offsets.partition import TopicPartition


@dataclass(frozen=True)
class Forecast:
    """Rates in offsets a second: what the copy brings, and what producers add. `seconds`: in how many the wave will have caught up, None if
    it will not at this rate, or that is unknown yet."""

    copied: float
    added: float
    seconds: float | None


def catch_up_forecast(samples: Sequence[WaveLag], max_lag: int) -> Forecast | None:
    """By the first and the last of some samples; None where they are fewer than two, or no time lies between them.

    A partition counts with its lag beyond `max_lag`. Partitions are copied side by side, so the whole excess goes down at the
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
    lag = f"The wave lags by {sample.total:,} records, by {sample.most:,} in one partition at most"
    if forecast is None:
        return f"{lag}."
    rates = f"{forecast.copied:,.0f} records/s are copied, {forecast.added:,.0f} records/s are written"
    if forecast.seconds is None:
        return f"{lag}; {rates}: at this rate it will not catch up."
    return f"{lag}; {rates}: at this rate it has caught up in {forecast.seconds:,.0f} s."


def _growth(before: Mapping[TopicPartition, int], after: Mapping[TopicPartition, int]) -> int:
    return sum(offset - before[tp] for tp, offset in after.items() if tp in before)


_SAMPLES = 5
"""Over how many passes the rates are taken: the last ones, for producers change theirs."""


def step(move: Move, notes: WaveNotes, options: StepOptions) -> StepOutcome:
    """Copies pass by pass. Done once every partition's lag is `options.max_lag` at most.

    WAITING if it is not at the end of the time, with the rate and when it will be. STOPPED by errors of the wave that no further pass would
    mend, and by a difference that the audit finds. Raises what concerns the whole flow.
    """
    findings = tuple(wave_findings(move.wave, move.topics))
    if findings or not move.topics.names:
        return ended(CATCH_UP, findings, facts=notes.of_step(CATCH_UP))
    catching_up = _CatchUp(move, options)
    near = catching_up.run()
    if not near.is_done or options.dry_run:
        return near
    ahead = audit_ahead(move, notes, options)
    if not ahead.is_done:
        return catching_up.outcome(ahead.state, ahead.findings, ahead.lines)
    again = catching_up.run()  # an audit takes its time, and applications went on writing
    return catching_up.outcome(again.state, again.findings, ahead.lines)


class _CatchUp:
    """The passes of one step, with what each showed of the wave's lag."""

    def __init__(self, move: Move, options: StepOptions) -> None:
        self._move = move
        self._options = options
        self._copy = WaveCopy(move, options, CATCH_UP, waits_for_work=True)
        self._samples: list[WaveLag] = []
        self._lines: list[str] = []

    def run(self) -> StepOutcome:
        """Pass after pass."""
        state, findings = self._copy.until_near(self._look)
        if self._options.dry_run and state == DONE and self._samples[-1].over(self._options.max_lag):
            self._lines.append(f"It would be copied until no partition lags by more than {self._options.max_lag:,} records.")
        return self.outcome(state, findings)

    def _look(self) -> WaveLook:
        """Plans the next pass; says how far the wave is, and when it will be far enough."""
        planned = plan_wave(self._move, self._options.dry_run)
        sample = planned.sample
        self._samples = [*self._samples, sample][-_SAMPLES:]
        text = forecast_text(sample, catch_up_forecast(self._samples, self._options.max_lag))
        self._options.progress(text)
        self._lines.append(text)
        return WaveLook(sample.watermarks, tuple(self._find_late(sample)), planned)

    def _find_late(self, sample: WaveLag) -> Sequence[Finding]:
        over = sample.over(self._options.max_lag)
        if not over:
            return ()
        lags = first_few([f"{tp} ({lag:,})" for tp, lag in sorted(over.items())])
        return (stop(WaveBehind(f"After {self._copy.seconds:,.0f} s {len(over)} partitions", self._options.max_lag, lags)),)

    def outcome(self, state: str, findings: Sequence[Finding], first: Sequence[str] = ()) -> StepOutcome:
        """How the step ended. `first`: lines that come before those of the passes."""
        sample = self._samples[-1]
        forecast = catch_up_forecast(self._samples, self._options.max_lag)
        facts: dict[str, Any] = {
            "lag": sample.total,
            "most_lag": sample.most,
            "passes": self._copy.passes,
            "records": self._copy.records,
            "seconds": round(self._copy.seconds, 3),
            "records_per_second": round(forecast.copied) if forecast else None,
            "seconds_left": None if forecast is None or forecast.seconds is None else round(forecast.seconds, 1),
        }
        return StepOutcome(CATCH_UP, state, (*first, *self._lines[-3:]), tuple(findings), facts)
