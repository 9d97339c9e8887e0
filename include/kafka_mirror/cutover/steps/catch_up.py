"""The step `catch-up`: copies until no partition of the wave is further behind than the wave may be, and audits what is copied so far.

The audit belongs before the fence too: once it is closed nobody may write, and the gate has only to compare what came since.
"""

from collections.abc import Sequence
from typing import Any

from kafka_mirror.copy.run import copy_in_process
from kafka_mirror.cutover.steps.audit_gate import audit_ahead
from kafka_mirror.cutover.steps.catch_up_forecast import WaveLag, catch_up_forecast, forecast_text
from kafka_mirror.cutover.steps.copy_pass import Copier, WaveCopy, WaveLook, plan_wave
from kafka_mirror.cutover.wave.findings import Finding, stop, wave_findings
from kafka_mirror.cutover.wave.move import Move
from kafka_mirror.cutover.wave.step import CATCH_UP, DONE, StepOptions, StepOutcome, WaveNotes, ended
from kafka_mirror.errors import WaveBehind
from kafka_mirror.errors.words import first_few

_SAMPLES = 5
"""Over how many passes the rates are taken: the last ones, for producers change theirs."""


def step(move: Move, notes: WaveNotes, options: StepOptions, copy: Copier = copy_in_process) -> StepOutcome:
    """Copies pass by pass. Done once every partition's lag is `options.max_lag` at most.

    WAITING if it is not at the end of the time, with the rate and when it will be. STOPPED by errors of the wave that no further pass would
    mend, and by a difference that the audit finds. Raises what concerns the whole flow.
    """
    findings = tuple(wave_findings(move.wave, move.topics))
    if findings or not move.topics.names:
        return ended(CATCH_UP, findings, facts=notes.of_step(CATCH_UP))
    catching_up = _CatchUp(move, options, copy)
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

    def __init__(self, move: Move, options: StepOptions, copy: Copier) -> None:
        self._move = move
        self._options = options
        self._copy = WaveCopy(move, options, CATCH_UP, copy, waits_for_work=True)
        self._samples: list[WaveLag] = []
        self._lines: list[str] = []

    def run(self) -> StepOutcome:
        """Pass after pass."""
        state, findings = self._copy.until_near(self._look)
        if self._options.dry_run and state == DONE and self._samples[-1].over(self._options.max_lag):
            self._lines.append(f"It would be copied until no partition is more than {self._options.max_lag:,} records behind.")
        return self.outcome(state, findings)

    def _look(self) -> WaveLook:
        """Plans the next pass; says how far the wave is, and when it will be far enough."""
        planned = plan_wave(self._move, self._options.dry_run)
        sample = planned.sample
        self._samples = [*self._samples, sample][-_SAMPLES:]
        text = forecast_text(sample, catch_up_forecast(self._samples, self._options.max_lag))
        self._options.progress(text)
        self._lines.append(text)
        return WaveLook(sample.watermarks, tuple(self._late(sample)), planned)

    def _late(self, sample: WaveLag) -> Sequence[Finding]:
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
        named = tuple(finding.of_flow(self._move.flow.name) for finding in findings)
        return StepOutcome(CATCH_UP, state, (*first, *self._lines[-3:]), named, facts)
