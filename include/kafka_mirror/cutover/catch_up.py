"""The step `catch-up`: copies until no partition of the wave is further behind than the wave may be, and audits what is copied so far.

The audit belongs here and not behind the fence alone: there nobody may write, and the gate has only to compare what came since.
"""

import time
from dataclasses import dataclass, field, replace
from typing import Any

from kafka_mirror.copy.run import copy_in_process
from kafka_mirror.cutover.audit_gate import audit_ahead
from kafka_mirror.cutover.catch_up_forecast import WaveLag, catch_up_forecast, forecast_text
from kafka_mirror.cutover.copy_pass import Copier, WavePlan, copy_wave, plan_wave, red
from kafka_mirror.cutover.findings import Finding, stop, wave_findings
from kafka_mirror.cutover.move import Move
from kafka_mirror.cutover.steps import CATCH_UP, DONE, STOPPED, WAITING, StepOptions, StepOutcome, WaveNotes, ended
from kafka_mirror.errors import WaveBehind
from kafka_mirror.errors.words import first_few

_FUTILE_PASSES = 3
"""So many passes with errors and without any progress are red, though each error might mend itself."""
_SAMPLES = 5
"""Over so many passes the rates are taken: the last ones, for producers change theirs."""
_PAUSE_SECONDS = 1.0
"""Before the next look where a pass has nothing to copy: the wave is behind all the same while a transaction is open."""


def step(move: Move, notes: WaveNotes, options: StepOptions, copy: Copier = copy_in_process) -> StepOutcome:
    """Copies pass by pass. Done once every partition's lag is `options.max_lag` at most.

    WAITING if it is not at the end of the time, with the rate and when it will be. STOPPED by errors of the wave that no further pass would
    mend, and by a difference that the audit finds. Raises what concerns the whole flow.
    """
    findings = tuple(wave_findings(move.wave, move.topics))
    if findings or not move.topics.names:
        return ended(CATCH_UP, findings, facts=notes.of_step(CATCH_UP))
    near = _CatchUp(move, options, copy).run()
    if not near.is_done or options.dry_run:
        return near
    ahead = audit_ahead(move, notes, options)
    if not ahead.is_done:
        return replace(near, state=ahead.state, lines=(*near.lines, *ahead.lines), findings=(*near.findings, *ahead.findings))
    # An audit takes its time, and applications went on writing.
    again = _CatchUp(move, options, copy).run()
    sums = {name: near.facts[name] + again.facts[name] for name in ("passes", "records")}
    return replace(again, lines=(*ahead.lines, *again.lines), facts={**again.facts, **sums})


@dataclass
class _CatchUp:
    """The passes of one step, and what they brought."""

    move: Move
    options: StepOptions
    copy: Copier
    began: float = field(default_factory=time.monotonic)
    samples: list[WaveLag] = field(default_factory=list)
    passes: int = 0
    records: int = 0
    futile: int = 0
    lines: list[str] = field(default_factory=list)

    def run(self) -> StepOutcome:
        """Pass after pass."""
        while True:
            planned = plan_wave(self.move, self.options.dry_run)
            self._say(planned.sample)
            if planned.stops:
                return self._outcome(STOPPED, planned.stops)
            if not planned.sample.over(self.options.max_lag):
                return self._outcome(DONE)
            if self.options.dry_run:
                self.lines.append(f"It would be copied until no partition is more than {self.options.max_lag:,} records behind.")
                return self._outcome(DONE)
            if time.monotonic() - self.began >= self.options.timeout:
                return self._outcome(WAITING, (self._late(planned.sample),))
            stops = self._pass(planned)
            if stops:
                return self._outcome(STOPPED, stops)

    def _pass(self, planned: WavePlan) -> tuple[Finding, ...]:
        """Copies once; what stops the step."""
        if not planned.plan.has_work:
            time.sleep(_PAUSE_SECONDS)
            return ()
        judged = copy_wave(self.move, planned, self.options, CATCH_UP, self.copy)
        self.passes += 1
        self.records += judged.records
        self.futile = self.futile + 1 if judged.errors and not judged.records else 0
        final = [error for error in judged.errors if not error.retriable]
        for error in judged.errors:
            self.options.progress(str(error))
        if self.futile >= _FUTILE_PASSES:
            return red(judged.errors)
        return red(final)

    def _say(self, sample: WaveLag) -> None:
        """Says how far the wave is, and when it will be far enough."""
        self.samples = [*self.samples, sample][-_SAMPLES:]
        text = forecast_text(sample, catch_up_forecast(self.samples, self.options.max_lag))
        self.options.progress(text)
        self.lines.append(text)

    def _late(self, sample: WaveLag) -> Finding:
        over = sample.over(self.options.max_lag)
        lags = first_few([f"{tp} ({lag:,})" for tp, lag in sorted(over.items())])
        return stop(WaveBehind(f"After {self.options.timeout:g} s {len(over)} partitions", self.options.max_lag, lags))

    def _outcome(self, state: str, findings: tuple[Finding, ...] = ()) -> StepOutcome:
        sample = self.samples[-1]
        forecast = catch_up_forecast(self.samples, self.options.max_lag)
        facts: dict[str, Any] = {
            "lag": sample.total,
            "most_lag": sample.most,
            "passes": self.passes,
            "records": self.records,
            "seconds": round(time.monotonic() - self.began, 3),
            "records_per_second": round(forecast.copied) if forecast else None,
            "seconds_left": None if forecast is None or forecast.seconds is None else round(forecast.seconds, 1),
        }
        named = tuple(finding.of_flow(self.move.flow.name) for finding in findings)
        return StepOutcome(CATCH_UP, state, tuple(self.lines[-3:]), named, facts)
