"""Runs a wave, or rolls it back: opens both clusters, finds the wave's record in the control topic or begins it there, runs the steps."""

import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from kafka_mirror.config.validate import check_readable
from kafka_mirror.cutover.failover import steps as failover
from kafka_mirror.cutover.steps import audit_gate, copies, fence, move_groups, open_wave, preflight
from kafka_mirror.cutover.wave.control_notes import Also, ControlNotes, StoredWaves, WaveStore, find_written_since_open
from kafka_mirror.cutover.wave.move import Move, open_move
from kafka_mirror.cutover.wave.record import OPENED, ROLLED_BACK, TAKING_BACK, UNDER_WAY, WaveNotes, WaveRecord, encode_wave, select_facts
from kafka_mirror.cutover.wave.report import WaveReport
from kafka_mirror.cutover.wave.runner import WaveRunner, WaveStep, find_missing_step
from kafka_mirror.cutover.wave.selection import Wave
from kafka_mirror.cutover.wave.step import (
    AUDIT_GATE,
    CATCH_UP,
    DONE,
    FAILOVER,
    FENCE,
    LAST_COPY,
    MOVE_GROUPS,
    OPEN,
    PREFLIGHT,
    STOPPED,
    WAITING,
    StepOptions,
    StepOutcome,
)
from kafka_mirror.errors import WaveDiffers, WaveHeld, WaveIsOpen, WaveRollsBack, WaveUnknown, name_flow_in_errors
from kafka_mirror.ledger.checks import check_closed
from kafka_mirror.ledger.clusters import clusters
from kafka_mirror.ledger.control_records import WAVE, Decision
from kafka_mirror.ledger.decisions import moment_after

if TYPE_CHECKING:
    from kafka_mirror.config import Flow

_PLANNED = (
    WaveStep(PREFLIGHT, preflight.step),
    WaveStep(CATCH_UP, copies.catch_up),
    WaveStep(FENCE, fence.step, lambda move, notes, _options: fence.find_fence_breaks(move, notes), fence.rollback),
    WaveStep(LAST_COPY, copies.last_copy),
    WaveStep(AUDIT_GATE, audit_gate.step, audit_gate.find_audit_breaks),
    WaveStep(MOVE_GROUPS, move_groups.step, move_groups.find_changes, move_groups.rollback),
    WaveStep(OPEN, open_wave.step, take_back=open_wave.rollback),
)
_FAILOVER = (
    WaveStep(PREFLIGHT, failover.run_preflight),
    WaveStep(MOVE_GROUPS, failover.move_groups, take_back=move_groups.rollback),
    WaveStep(OPEN, failover.close, take_back=failover.roll_back_close),
)


def get_steps(mode: str) -> tuple[WaveStep, ...]:
    """The steps of a wave of this mode."""
    return _FAILOVER if mode == FAILOVER else _PLANNED


@dataclass(frozen=True)
class WaveRun:
    """What a run of a wave came to: how each step ended that ran, and the record as it stands then."""

    record: WaveRecord
    outcomes: tuple[StepOutcome, ...] = ()
    is_drill: bool = False
    """Whether it is a dry run of the steps."""

    @property
    def state(self) -> str:
        """How the run ended: by its last step, or DONE if there was nothing left to do.

        A drill is stopped by what would stop the wave. That nothing is fenced, so that producers write and members read, is what a drill
        expects: it does not wait for that, and counts no stop of the steps after the fence, which follow from it.
        """
        if self.is_drill:
            order = self.record.order
            steps = order[: order.index(FENCE) + 1] if FENCE in order else order
            return STOPPED if any(outcome.state == STOPPED and outcome.step in steps for outcome in self.outcomes) else DONE
        states = {outcome.state for outcome in self.outcomes}
        return next((state for state in (STOPPED, WAITING) if state in states), DONE)


def read_waves(flow: "Flow") -> StoredWaves:
    """All waves that the flow's control topic keeps. Raises ControlUnreadable, and what the target answers."""
    check_readable(flow)
    with name_flow_in_errors(flow.name), clusters(flow) as (_, target):
        return WaveStore(flow, target).read()


def get_wave(stored: StoredWaves, name: str) -> WaveRecord:
    """The wave of this name. Raises WaveUnknown."""
    if name not in stored.waves:
        raise WaveUnknown(name, sorted(stored.waves))
    return stored.waves[name]


def report_wave(flow: "Flow", stored: StoredWaves, name: str) -> WaveReport:
    """The report of a wave, with what stands on the source since it opened. Raises WaveUnknown."""
    record = get_wave(stored, name)
    groups = select_facts(stored.groups.get(name, {}), record.attempt)
    return WaveReport(flow.name, record, groups, find_written_since_open(flow, stored, name))


def run_wave(flow: "Flow", wave: Wave, options: StepOptions, until: str | None = None, only: str | None = None) -> WaveRun:
    """Runs the steps of a wave that are not done, up to the step `until`, or the step `only` alone; in a dry run nothing is written.

    Raises WaveDiffers for a name under which another wave is noted, WaveHeld for topics that another wave holds, FlowClosed after a
    failover, WaveRollsBack, WaveRunElsewhere, and what a cluster answers.
    """
    check_readable(flow)
    with name_flow_in_errors(flow.name), open_move(flow, wave, options.mode) as move:
        store = WaveStore(flow, move.sides.target)
        stored = store.read()
        before = stored.waves.get(options.wave)
        record = _begin_record(wave, options, before, stored)
        if record.state == OPENED:
            return WaveRun(record)
        if only is not None and not options.dry_run:
            taken_back_by = before.runner if before is not None and before.state == ROLLED_BACK else ""
            if stopped := find_missing_step(record, only, flow.name, taken_back_by):  # the wave is not taken for it, nor begun again
                return WaveRun(before or record, (stopped,))
        notes = _keep_notes(move, store, options, record, before, stored, partial(_take_from_runs, move, record, options.who))
        runner = WaveRunner(flow.name, move, notes, options, _read_clock, get_steps(record.mode), stored.is_moved(record))
        outcomes = (runner.run_one(only),) if only is not None else runner.run(until)
        if not options.dry_run and notes.record.is_done(OPEN) and notes.record.state != OPENED:
            notes.write(replace(notes.record, state=OPENED, ended=notes.record.steps[OPEN].ended))
        return WaveRun(notes.record, outcomes, is_drill=options.dry_run and only is None)


def roll_back(flow: "Flow", options: StepOptions) -> WaveRun:
    """Takes back what the steps of a wave did, the last first; in a dry run says what it would take back.

    Raises WaveUnknown, WaveIsOpen, WaveHeld, WaveRunElsewhere, and what a cluster answers. What it took back before stays taken back: run
    it again.
    """
    check_readable(flow)
    with name_flow_in_errors(flow.name):
        before = get_wave(read_waves(flow), options.wave)
        with open_move(flow, before.wave, before.mode) as move:
            store = WaveStore(flow, move.sides.target)
            stored = store.read()
            before = get_wave(stored, options.wave)
            if before.state == ROLLED_BACK:
                return WaveRun(before)
            record = replace(before, state=TAKING_BACK, run=before.run + 1, runner=options.who)
            notes = _keep_notes(move, store, options, record, before, stored, partial(_may_roll_back, move, before))
            outcomes = WaveRunner(flow.name, move, notes, options, _read_clock, get_steps(record.mode)).take_back()
            return WaveRun(notes.record, outcomes)


def _begin_record(wave: Wave, options: StepOptions, before: WaveRecord | None, stored: StoredWaves) -> WaveRecord:
    """The record with which the run begins."""
    who, why = options.who, options.reason
    new = WaveRecord(options.wave, wave.topics, wave.groups, options.mode, who, why, _read_clock(), UNDER_WAY, runner=who)
    if before is None:
        return new
    if before.state == ROLLED_BACK or (before.state == OPENED and not stored.is_standing(before)):
        return replace(new, attempt=before.attempt + 1, run=before.run + 1)
    for what, noted, given in (("topics", before.topics, wave.topics), ("groups", before.groups, wave.groups)):
        if sorted(noted) != sorted(given):
            raise WaveDiffers(before.name, what, ",".join(noted) or "of all names", ",".join(given) or "of all names")
    if before.mode != options.mode:
        raise WaveDiffers(before.name, "the mode", before.mode, options.mode)
    if before.state == TAKING_BACK:
        raise WaveRollsBack(before.name)
    return before if before.state == OPENED else replace(before, run=before.run + 1, runner=who)


def _take_from_runs(move: Move, record: WaveRecord, who: str, stored: StoredWaves) -> list[Decision]:
    """The records of planned waves that a failover takes from their runs. Raises WaveHeld if another wave holds a topic, and FlowClosed."""
    is_failover = record.mode == FAILOVER
    others = stored.list_under_way(record.name, move.topics.names)
    for other, topics in others:
        if not is_failover or other.mode == FAILOVER:
            raise WaveHeld(record.name, "run", other.name, other.state, sorted(topics))
    if not is_failover:
        check_closed(stored.decisions)
        for topic, other_name in stored.find_standing(record.name, move.topics.names).items():
            raise WaveHeld(record.name, "run", other_name, OPENED, [topic])
    when = moment_after(stored.decisions, (), datetime.now(UTC))
    taken = [replace(other, run=other.run + 1, runner=who) for other, _ in others]
    return [Decision(WAVE, who, when, record.why, wave.name, document=encode_wave(wave)) for wave in taken]


def _may_roll_back(move: Move, before: WaveRecord, stored: StoredWaves) -> list[Decision]:
    """Nothing to write. Raises WaveIsOpen, and WaveHeld while a failover is under way that may stand on what would be taken back."""
    flow = move.flow
    if stored.is_open(before):
        raise WaveIsOpen(before.name, f"{flow.target}->{flow.source}", before.topics)
    for other, topics in stored.list_under_way(before.name, move.topics.names):
        if other.mode == FAILOVER:
            raise WaveHeld(before.name, "rolled back", other.name, other.state, sorted(topics))
    return []


def _keep_notes(
    move: Move, store: WaveStore, options: StepOptions, record: WaveRecord, before: WaveRecord | None, stored: StoredWaves, also: Also
) -> WaveNotes:
    topics = move.topics.names
    if options.dry_run:
        also(stored)
        return WaveNotes(record, stored.groups.get(record.name), stored.find_standing(record.name, topics))
    return ControlNotes(store, options.who, record, before, stored, topics, also)


def _read_clock() -> int:
    return time.time_ns() // 1_000_000
