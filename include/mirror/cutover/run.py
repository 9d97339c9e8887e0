"""Runs a wave, or rolls it back: both clusters opened, the wave's record found in the control topic or begun there, the steps run."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mirror.config.validate import check_readable
from mirror.cutover.move import Move, move_of, move_without_source
from mirror.cutover.rollback import roll_back_steps
from mirror.cutover.runner import Load, WaveRunner, load_step
from mirror.cutover.steps import DONE, FAILOVER, OPEN, STOPPED, WAITING, StepOptions, StepOutcome
from mirror.cutover.wave import Wave
from mirror.cutover.wave_notebook import WaveNotebook
from mirror.cutover.wave_notes import ControlNotebook, StoredWaves, WaveStore
from mirror.cutover.wave_record import OPENED, ROLLED_BACK, TAKING_BACK, UNDER_WAY, WaveRecord
from mirror.errors import WaveDiffers, WaveIsOpen, WaveRollsBack, WaveUnknown, named_with
from mirror.formats.control import CLOSED
from mirror.sync.flow_clusters import clusters

if TYPE_CHECKING:
    from mirror.config import Flow


@dataclass(frozen=True)
class WaveRun:
    """What a run of a wave came to: how each step ended that ran, and the record as it stands then."""

    record: WaveRecord
    outcomes: tuple[StepOutcome, ...] = ()

    @property
    def state(self) -> str:
        """How the run ended: by its last step, or DONE if there was nothing left to do. In a dry run every stop counts."""
        states = {outcome.state for outcome in self.outcomes}
        return next((state for state in (STOPPED, WAITING) if state in states), DONE)


def stored_waves(flow: "Flow") -> StoredWaves:
    """All waves that the flow's control topic keeps. Raises ControlUnreadable, and what the target answers."""
    check_readable(flow)
    with named_with(flow.name), clusters(flow) as (_, target):
        return WaveStore(flow, target).read()


def stored_wave(stored: StoredWaves, name: str) -> WaveRecord:
    """The wave of this name. Raises WaveUnknown."""
    if name not in stored.waves:
        raise WaveUnknown(name, sorted(stored.waves))
    return stored.waves[name]


def run_wave(
    flow: "Flow", wave: Wave, options: StepOptions, until: str | None = None, only: str | None = None, load: Load = load_step
) -> WaveRun:
    """Runs the steps of a wave that are not done, up to the step `until`, or the step `only` alone; in a dry run nothing is written.

    Raises WaveDiffers for a name under which another wave is noted, WaveRollsBack, WaveRunElsewhere, and what a cluster answers.
    """
    check_readable(flow)
    with named_with(flow.name), _opened(flow, wave, options.mode) as (move, store):
        stored = store.read()
        before = stored.waves.get(options.wave)
        record = _record(wave, options, before, stored)
        if record.state == OPENED:
            return WaveRun(record)
        notes = _notebook(store, options, record, before, stored)
        runner = WaveRunner(flow.name, move, notes, options, _now, load, _moved(move, record, stored))
        outcomes = (runner.run_one(only),) if only is not None else runner.run(until)
        if not options.dry_run and notes.record.is_done(OPEN) and notes.record.state != OPENED:
            notes.write(replace(notes.record, state=OPENED, ended=notes.record.steps[OPEN].ended))
        return WaveRun(notes.record, outcomes)


def roll_back(flow: "Flow", options: StepOptions, load: Load = load_step) -> WaveRun:
    """Takes back what the steps of a wave did, the last first; in a dry run says what it would take back.

    Raises WaveUnknown, WaveIsOpen, WaveRunElsewhere, and what a cluster answers. What it took back before stays taken back: run it again.
    """
    check_readable(flow)
    with named_with(flow.name):
        before = stored_wave(stored_waves(flow), options.wave)
        with _opened(flow, before.wave, before.mode) as (move, store):
            stored = store.read()
            before = stored_wave(stored, options.wave)
            if before.state == OPENED or _moved(move, before, stored):
                raise WaveIsOpen(before.name, f"{flow.target}->{flow.source}", before.topics)
            if before.state == ROLLED_BACK:
                return WaveRun(before)
            record = replace(before, state=TAKING_BACK, run=before.run + 1, runner=options.who)
            notes = _notebook(store, options, record, before, stored)
            outcomes = roll_back_steps(flow.name, move, notes, options, _now, load)
            return WaveRun(notes.record, outcomes)


@contextmanager
def _opened(flow: "Flow", wave: Wave, mode: str) -> Iterator[tuple[Move, WaveStore]]:
    with (move_without_source if mode == FAILOVER else move_of)(flow, wave) as move:
        yield move, WaveStore(flow, move.sides.target)


def _record(wave: Wave, options: StepOptions, before: WaveRecord | None, stored: StoredWaves) -> WaveRecord:
    """The record with which the run begins."""
    if before is None:
        return _new(wave, options, 1)
    if before.state == ROLLED_BACK or (before.state == OPENED and not _stands(before, stored)):
        return replace(_new(wave, options, before.attempt + 1), run=before.run + 1)
    for what, noted, given in (("topics", before.topics, wave.topics), ("groups", before.groups, wave.groups)):
        if sorted(noted) != sorted(given):
            raise WaveDiffers(before.name, what, ",".join(noted) or "of all names", ",".join(given) or "of all names")
    if before.mode != options.mode:
        raise WaveDiffers(before.name, "the mode", before.mode, options.mode)
    if before.state == TAKING_BACK:
        raise WaveRollsBack(before.name)
    return before if before.state == OPENED else replace(before, run=before.run + 1, runner=options.who)


def _new(wave: Wave, options: StepOptions, attempt: int) -> WaveRecord:
    began = _now()
    return WaveRecord(
        options.wave,
        wave.topics,
        wave.groups,
        options.mode,
        options.who,
        options.reason,
        began,
        UNDER_WAY,
        attempt=attempt,
        runner=options.who,
    )


def _moved(move: Move, record: WaveRecord, stored: StoredWaves) -> bool:
    """Whether a topic of the wave is written on the target since it opened: so it is also after an `open` that was killed."""
    moves = map(stored.decisions.moved, move.topics.names)
    return any(decision is not None and decision.wave == record.name for decision in moves)


def _stands(record: WaveRecord, stored: StoredWaves) -> bool:
    """Whether what an open wave did still holds: its topics did not return, or after a failover nobody opened the flow again since."""
    if record.mode != FAILOVER:
        return any(decision.wave == record.name for decision in stored.decisions.moved_topics.values())
    closings = [decision.when for decision in stored.decisions.all if decision.decision == CLOSED]
    return any(when.timestamp() * 1000 <= (record.ended or 0) for when in closings)


def _notebook(store: WaveStore, options: StepOptions, record: WaveRecord, before: WaveRecord | None, stored: StoredWaves) -> WaveNotebook:
    groups = stored.groups.get(record.name, {})
    if options.dry_run:
        return WaveNotebook(record, groups)
    return ControlNotebook(store, options.who, record, before, groups)


def _now() -> int:
    return time.time_ns() // 1_000_000
