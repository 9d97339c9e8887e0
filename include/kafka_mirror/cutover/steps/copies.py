"""The steps `catch-up` and `last-copy`: both copy pass by pass until the wave is far enough, and differ in what is far enough.

`catch-up` runs while applications write, until the lag of every partition is what the wave may have. It audits what is copied so far: once
the fence is closed no producer can write, and the gate is to compare only what came since. The last passes say how fast the wave catches
up, and when it will have caught up. `last-copy` copies to the ends that the write fence noted, and proves by the ledger that it did.

A pass is planned, copied, published and judged as every run of the flow is. Three passes that bring the wave no further end the step,
though each of their errors might mend itself.
"""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

from kafka_mirror.copy.plan.model import Plan
from kafka_mirror.copy.plan.run import plan_context
from kafka_mirror.copy.run import copy_in_process
from kafka_mirror.copy.run_result import RunResult, Verdict, publish_and_judge
from kafka_mirror.cutover.steps.audit_gate import audit_ahead
from kafka_mirror.cutover.steps.fence import find_fence_breaks, group_by_topic, read_fence_ends
from kafka_mirror.cutover.steps.wave_ends import Records, find_other_logs, look_at_source, report_late
from kafka_mirror.cutover.wave.move import Move
from kafka_mirror.cutover.wave.record import WaveNotes
from kafka_mirror.cutover.wave.step import (
    CATCH_UP,
    DONE,
    FENCE,
    LAST_COPY,
    STOPPED,
    WAITING,
    Finding,
    StepOptions,
    StepOutcome,
    make_outcome,
    report_wave_topics,
    stop,
)
from kafka_mirror.errors import ErrorReport, NotCopied, WaveBehind
from kafka_mirror.errors.words import first_few
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.clusters import ledger_of

_FUTILE_PASSES = 3
_PAUSE_SECONDS = 1.0
"""Before the next look where a pass has nothing to copy: the wave is behind all the same while a transaction is open."""
_SAMPLES = 5
"""Over how many passes the rates are taken: the last ones, for producers change theirs."""


def catch_up(move: Move, notes: WaveNotes, options: StepOptions) -> StepOutcome:
    """Copies pass by pass. Done once every partition's lag is `options.max_lag` at most.

    WAITING if it is not at the end of the time, with the rate and when it will be. STOPPED by errors of the wave that no further pass would
    mend, and by a difference that the audit finds. Raises what concerns the whole flow.
    """
    findings = tuple(report_wave_topics(move.wave, move.topics))
    if findings or not move.topics.names:
        return make_outcome(CATCH_UP, findings, facts=notes.read_step(CATCH_UP))
    catching_up = _CatchUp(move, options)
    near = catching_up.end(*catching_up.run())
    if not near.is_done or options.dry_run:
        return near
    ahead = audit_ahead(move, notes, options)
    if not ahead.is_done:
        return catching_up.end(ahead.state, ahead.findings, ahead.lines)
    return catching_up.end(*catching_up.run(), ahead.lines)  # an audit takes its time, and applications went on writing


def last_copy(move: Move, notes: WaveNotes, options: StepOptions) -> StepOutcome:
    """Copies until every partition's watermark is at the end that the fence noted. One pass is enough unless another copy of the flow runs
    beside it, or a broker is moving.

    WAITING if it is not there at the end of its time; STOPPED, with the partitions and why, if it will not get there. Raises what concerns
    the whole flow.
    """
    if options.dry_run and not read_fence_ends(notes.read_step(FENCE)):
        return StepOutcome(LAST_COPY, DONE, ("The wave would be copied to the ends that its write fence notes.",))
    copying = _LastCopy(move, options, notes)
    return copying.end(*copying.run())


# ------------------------------------------------------------ what a pass plans, and how far the wave is


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

    def list_over(self, max_lag: int) -> dict[TopicPartition, int]:
        """The partitions that lag by more than that, with their lag."""
        return {tp: lag for tp, lag in self.lags.items() if lag > max_lag}


class WavePlan(NamedTuple):
    """What a pass would copy of the wave, how far it is behind, and what no further pass would mend."""

    plan: Plan
    sample: WaveLag
    stops: tuple[Finding, ...]


def plan_wave(move: Move, dry_run: bool) -> WavePlan:
    """Plans the flow's copy, and takes of it what is the wave's. Raises what concerns the whole flow."""
    wave = frozenset(move.topics.names)
    context = plan_context(move.flow, dry_run, by_person=True)
    plan = replace(context.plan, ranges=tuple(planned for planned in context.plan.ranges if planned.topic in wave))
    starts = {planned.topic_partition: planned.start for planned in plan.ranges}
    records = {tp: record.watermark for tp, record in context.ledger.records.items() if tp.topic in wave}
    ends = {tp: partition.end for tp, partition in context.source.items() if tp.topic in wave}
    sample = WaveLag(time.monotonic(), {tp: mark for tp, mark in {**starts, **records}.items() if tp in ends}, ends)
    stops = (stop(error) for error in select_errors(plan.errors, wave) if not error.retriable)
    unplanned = [tp for tp in move.list_partitions() if tp not in sample.watermarks]
    return WavePlan(plan, sample, (*stops, *report_unplanned(unplanned, plan.notices)))


def select_errors(errors: Collection[ErrorReport], topics: Collection[str]) -> tuple[ErrorReport, ...]:
    """The errors of these topics, and those of the whole flow."""
    return tuple(error for error in dict.fromkeys(errors) if error.topic is None or error.topic in topics)


def report_unplanned(partitions: Sequence[TopicPartition], notices: Sequence[str]) -> Iterator[Finding]:
    """A stop for partitions that the plan says nothing about: paused, without a leader, or without a remote partition. The plan's notices
    about their topics say why."""
    if partitions:
        topics = {tp.topic for tp in partitions}
        why = "".join(f" {notice}" for notice in notices if any(notice.startswith(topic) for topic in topics))
        yield stop(NotCopied(first_few(partitions), why))


# ------------------------------------------------------------ the loop


class WaveLook(NamedTuple):
    """How far a wave is: where each partition's copy stands, why that is not far enough (empty: it is), and what no further pass would
    mend. `planned`: what a pass would copy, if the look was a plan."""

    positions: Mapping[TopicPartition, int | None]
    late: tuple[Finding, ...]
    stops: tuple[Finding, ...]
    planned: WavePlan | None = None


class WaveCopy:
    """The passes of one step, and what they brought."""

    step: str
    waits_for_work: bool
    """Whether a plan without anything to copy is waited out; else it counts as a pass."""

    def __init__(self, move: Move, options: StepOptions) -> None:
        self.move = move
        self.options = options
        self.began = time.monotonic()
        self.passes = self.records = 0

    def look(self) -> WaveLook:
        """How far the wave is now."""
        raise NotImplementedError

    def run(self) -> tuple[str, tuple[Finding, ...]]:
        """Copies until a look says that the wave is far enough: the state of the step, and what stops it. A dry run looks once.

        It is WAITING at the end of its time, and STOPPED by what no further pass would mend. Raises what concerns the whole flow.
        """
        positions, errors, futile = None, tuple[ErrorReport, ...](), 0
        while True:
            latest = self.look()
            if latest.stops:
                return STOPPED, latest.stops
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
            judged = self.copy(planned.plan)
            self.passes += 1
            self.records += judged.records
            positions, errors = latest.positions, judged.errors
            for error in errors:
                self.options.progress(str(error))

    @property
    def seconds(self) -> float:
        """How long the step has been at it."""
        return time.monotonic() - self.began

    def copy(self, plan: Plan) -> Verdict:
        """One pass: copies what was planned, writes the offset syncs, and judges by the ledger; the errors are those of the wave."""
        flow, run = self.move.flow, f"{self.step} of the wave {self.options.wave} / {datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        judged = publish_and_judge(flow, RunResult(plan, tuple(copy_in_process(flow, plan, run))), run)
        return replace(judged, errors=select_errors(judged.errors, frozenset(self.move.topics.names)))


class _CatchUp(WaveCopy):
    """Far enough is a lag of `max_lag` in each partition. Each look is a plan, and a sample of the rates."""

    step = CATCH_UP
    waits_for_work = True

    def __init__(self, move: Move, options: StepOptions) -> None:
        super().__init__(move, options)
        self._samples: list[WaveLag] = []
        self._lines: list[str] = []

    def look(self) -> WaveLook:
        """Plans the next pass; says how far the wave is, and when it will be far enough."""
        planned, most = plan_wave(self.move, self.options.dry_run), self.options.max_lag
        sample = planned.sample
        self._samples = [*self._samples, sample][-_SAMPLES:]
        text = show_forecast(sample, forecast_catch_up(self._samples, most))
        self.options.progress(text)
        self._lines.append(text)
        over = sample.list_over(most)
        if over and self.options.dry_run and not planned.stops:
            self._lines.append(f"It would be copied until no partition lags by more than {most:,} records.")
        lags = first_few([f"{tp} ({lag:,})" for tp, lag in sorted(over.items())])
        late = (stop(WaveBehind(f"After {self.seconds:,.0f} s {len(over)} partitions", most, lags)),) if over else ()
        return WaveLook(sample.watermarks, late, planned.stops, planned)

    def end(self, state: str, findings: tuple[Finding, ...], first: Sequence[str] = ()) -> StepOutcome:
        """How the step ended. `first`: lines that come before those of the passes."""
        sample, forecast = self._samples[-1], forecast_catch_up(self._samples, self.options.max_lag)
        facts: dict[str, Any] = {
            "lag": sample.total,
            "most_lag": sample.most,
            "passes": self.passes,
            "records": self.records,
            "seconds": round(self.seconds, 3),
            "records_per_second": round(forecast.copied) if forecast else None,
            "seconds_left": None if forecast is None or forecast.seconds is None else round(forecast.seconds, 1),
        }
        return StepOutcome(CATCH_UP, state, (*first, *self._lines[-3:]), findings, facts)


class _LastCopy(WaveCopy):
    """Far enough is the end that the write fence noted, in the log that it was noted of. A lane that cannot be read has copied nothing, so
    its partitions are late."""

    step = LAST_COPY
    waits_for_work = False

    def __init__(self, move: Move, options: StepOptions, notes: WaveNotes) -> None:
        super().__init__(move, options)
        self._notes = notes
        self._ends = read_fence_ends(notes.read_step(FENCE))
        self._ledger_records: Records = {}
        self._late: dict[TopicPartition, int | None] = {}

    def look(self) -> WaveLook:
        """What the source shows, and then what the ledger says."""
        source = look_at_source(self.move)
        self._ledger_records = ledger_of(self.move.flow, self.move.sides.target).read().records
        marks = {tp: record.watermark for tp, record in self._ledger_records.items()}
        self._late = {tp: marks.get(tp) for tp, end in self._ends.items() if marks.get(tp) != end}
        if self._late:
            self.options.progress(f"{len(self._late)} partitions are not at the end that the write fence noted.")
        stops = (*find_fence_breaks(self.move, self._notes, source), *find_other_logs(self.move, source.logs, self._ledger_records))
        return WaveLook(self._late, tuple(report_late(marks, self._ends)), stops)

    def end(self, state: str, findings: tuple[Finding, ...]) -> StepOutcome:
        """How the step ended; if it copied all, with the proof."""
        lines, proof = tuple[str, ...](), dict[str, Any]()
        if state == DONE and self.options.dry_run:
            lines = (f"{len(self._late)} partitions would be copied to the end that the write fence noted.",)
        elif state == DONE:
            said = f"{len(self._ends)} partitions are copied to the exact end that the write fence noted"
            lines = (f"{said}; {self.records:,} records were missing.",)
            copied = {tp: self._ledger_records[tp] for tp in self._ends}
            proof = {
                "watermarks": group_by_topic({tp: record.watermark for tp, record in copied.items()}),
                # Where the next record goes on the target is the first place that the source does not have.
                "target_next": group_by_topic({tp: record.target_next for tp, record in copied.items()}),
            }
        return StepOutcome(LAST_COPY, state, lines, findings, {"records": self.records, **proof, "seconds": round(self.seconds, 3)})


# ------------------------------------------------------------ how fast, and when


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
    excess = sum(lag - max_lag for lag in last.list_over(max_lag).values())
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
