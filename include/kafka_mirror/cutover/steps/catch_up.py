"""The step `catch-up`: copies until the lag of every partition is what the wave may have, and audits what is copied so far.

The audit belongs before the fence too: once that is closed no producer can write, and the gate is to compare only what came since. The last
passes say how fast the wave catches up, and when it will have caught up.

A pass is planned, copied, published and judged as every run of the flow is; `last-copy` shares the loop. Three passes that bring the wave
no further end the step, though each of their errors might mend itself.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

from kafka_mirror.copy.plan.model import Plan
from kafka_mirror.copy.plan.run import plan_context
from kafka_mirror.copy.publish import publish
from kafka_mirror.copy.run import copy_in_process
from kafka_mirror.copy.verdict import Verdict, verdict
from kafka_mirror.cutover.steps.audit_gate import audit_ahead
from kafka_mirror.cutover.wave.findings import Finding, report_wave_topics, stop
from kafka_mirror.cutover.wave.move import Move
from kafka_mirror.cutover.wave.record import WaveNotes
from kafka_mirror.cutover.wave.step import CATCH_UP, DONE, STOPPED, WAITING, StepOptions, StepOutcome, make_outcome
from kafka_mirror.errors import ErrorReport, NotCopied, WaveBehind
from kafka_mirror.errors.words import first_few
from kafka_mirror.formats.offsets.partition import TopicPartition

_FUTILE_PASSES = 3
_PAUSE_SECONDS = 1.0
"""Before the next look where a pass has nothing to copy: the wave is behind all the same while a transaction is open."""


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
        """The lag of the partition that lags most."""
        return max(self.lags.values(), default=0)

    def over(self, max_lag: int) -> dict[TopicPartition, int]:
        """The partitions that lag by more than that, with their lag."""
        return {tp: lag for tp, lag in self.lags.items() if lag > max_lag}


@dataclass(frozen=True)
class WavePlan:
    """What a pass would copy of the wave, how far it is behind, and what is wrong with it."""

    plan: Plan
    sample: WaveLag
    errors: tuple[ErrorReport, ...]
    unseen: tuple[TopicPartition, ...]
    """Partitions of the wave that the plan says nothing about: paused, without a leader, or without a remote partition."""

    @property
    def stops(self) -> tuple[Finding, ...]:
        """What no further pass would mend."""
        return (*(stop(error) for error in self.errors if not error.retriable), *_unseen(self.unseen, self.plan))


class WaveLook(NamedTuple):
    """How far a wave is: where each partition's copy stands, and why that is not far enough (empty: it is). `planned`: what a pass would
    copy, if the look was a plan."""

    positions: Mapping[TopicPartition, int | None]
    late: tuple[Finding, ...]
    planned: WavePlan | None = None


@dataclass
class WaveCopy:
    """The passes of one step, and what they brought."""

    move: Move
    options: StepOptions
    step: str
    waits_for_work: bool = False
    """Whether a plan without anything to copy is waited out; else it counts as a pass."""
    began: float = field(default_factory=time.monotonic)
    passes: int = 0
    records: int = 0

    def until_near(self, look: Callable[[], WaveLook]) -> tuple[str, tuple[Finding, ...]]:
        """Copies until a look says that the wave is far enough: the state of the step, and what stops it. A dry run looks once.

        It is WAITING at the end of its time, and STOPPED by what no further pass would mend. Raises what concerns the whole flow.
        """
        positions, errors, futile = None, tuple[ErrorReport, ...](), 0
        while True:
            latest = look()
            if latest.planned is not None and latest.planned.stops:
                return STOPPED, latest.planned.stops
            if not latest.late or self.options.dry_run:
                return DONE, ()
            futile = futile + 1 if latest.positions == positions else 0
            if futile >= _FUTILE_PASSES or any(not error.retriable for error in errors):
                return STOPPED, (*latest.late, *map(stop, errors))
            if self.seconds >= self.options.timeout:
                return WAITING, (*latest.late, *map(stop, errors))
            planned = latest.planned or plan_wave(self.move, dry_run=False)
            if planned.stops:
                return STOPPED, (*latest.late, *planned.stops)
            if self.waits_for_work and not planned.plan.has_work:
                positions = None
                time.sleep(_PAUSE_SECONDS)
                continue
            positions, errors = latest.positions, self._pass(planned)

    @property
    def seconds(self) -> float:
        """How long the step has been at it."""
        return time.monotonic() - self.began

    def _pass(self, planned: WavePlan) -> tuple[ErrorReport, ...]:
        judged = self.copy(planned)
        self.passes += 1
        self.records += judged.records
        for error in judged.errors:
            self.options.progress(str(error))
        return judged.errors

    def copy(self, planned: WavePlan) -> Verdict:
        """One pass: copies what was planned, writes the offset syncs, and judges by the ledger; the errors are those of the wave."""
        flow, run = self.move.flow, f"{self.step} of the wave {self.options.wave} / {datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        results = copy_in_process(flow, planned.plan, run)
        judged = verdict(planned.plan, results, publish(flow, planned.plan, results, run=run))
        return replace(judged, errors=select_errors(judged.errors, frozenset(self.move.topics.names)))


def plan_wave(move: Move, dry_run: bool) -> WavePlan:
    """Plans the flow's copy, and takes of it what is the wave's. Raises what concerns the whole flow."""
    wave = frozenset(move.topics.names)
    context = plan_context(move.flow, dry_run, by_person=True)
    plan = replace(context.plan, ranges=tuple(planned for planned in context.plan.ranges if planned.topic in wave))
    starts = {planned.topic_partition: planned.start for planned in plan.ranges}
    records = {tp: record.watermark for tp, record in context.ledger.records.items() if tp.topic in wave}
    ends = {tp: partition.end for tp, partition in context.source.items() if tp.topic in wave}
    sample = WaveLag(time.monotonic(), {tp: mark for tp, mark in {**starts, **records}.items() if tp in ends}, ends)
    unseen = tuple(tp for tp in move.source_partitions() if tp not in sample.watermarks)
    return WavePlan(plan, sample, select_errors(plan.errors, wave), unseen)


def select_errors(errors: Collection[ErrorReport], topics: Collection[str]) -> tuple[ErrorReport, ...]:
    """The errors of these topics, and those of the whole flow."""
    return tuple(error for error in dict.fromkeys(errors) if error.topic is None or error.topic in topics)


def _unseen(partitions: Collection[TopicPartition], plan: Plan) -> tuple[Finding, ...]:
    """What is said of partitions that are not planned, with the plan's notices about their topics, which say why."""
    if not partitions:
        return ()
    topics = {tp.topic for tp in partitions}
    why = "".join(f" {notice}" for notice in plan.notices if any(notice.startswith(topic) for topic in topics))
    return (stop(NotCopied(first_few(sorted(partitions)), why)),)


@dataclass(frozen=True)
class Forecast:
    """Rates in offsets a second: what the copy brings, and what producers add. `seconds`: in how many the wave will have caught up, None if
    it will not at this rate, or that is unknown yet."""

    copied: float
    added: float
    seconds: float | None


def forecast_catch_up(samples: Sequence[WaveLag], max_lag: int) -> Forecast | None:
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


def show_forecast(sample: WaveLag, forecast: Forecast | None) -> str:
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
    findings = tuple(report_wave_topics(move.wave, move.topics))
    if findings or not move.topics.names:
        return make_outcome(CATCH_UP, findings, facts=notes.of_step(CATCH_UP))
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
        text = show_forecast(sample, forecast_catch_up(self._samples, self._options.max_lag))
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
        forecast = forecast_catch_up(self._samples, self._options.max_lag)
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
