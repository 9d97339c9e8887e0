"""Takes back what the steps of a wave did, the last first, by what they noted before they did it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol, cast

from kafka_mirror.cutover.runner import Load, load_step, named, said
from kafka_mirror.cutover.steps import UNDONE, StepOptions, StepOutcome, WaveNotes
from kafka_mirror.cutover.wave_notebook import WaveNotebook
from kafka_mirror.cutover.wave_record import ROLLED_BACK, TAKEN_BACK


class UndoneModule(Protocol):
    """What a module of a step has that a roll back takes back."""

    def rollback(self, move: Any, notes: WaveNotes, options: StepOptions) -> StepOutcome:
        """Takes back what the step noted; a second time it does nothing."""


def roll_back_steps(
    flow: str, move: Any, notes: WaveNotebook, options: StepOptions, now: Callable[[], int], load: Load = load_step
) -> tuple[StepOutcome, ...]:
    """Calls the `rollback` of each step that noted something, and stops at the first that cannot take back all; in a dry run each says
    what it would do. At the end the wave is noted as rolled back."""
    outcomes: list[StepOutcome] = []
    for step in UNDONE:
        note = notes.record.steps.get(step)
        if note is None or note.state == TAKEN_BACK:
            continue
        options.progress(f"{step} {'would be' if options.dry_run else 'is'} taken back.")
        outcome = named(cast(UndoneModule, load(step, notes.record.mode)).rollback(move, notes, options), flow)
        outcomes.append(outcome)
        options.progress(said(outcome, options.dry_run))
        if options.dry_run:
            continue
        notes.end_step(outcome, now(), TAKEN_BACK if outcome.is_done else None)
        if not outcome.is_done:
            return tuple(outcomes)
    if not options.dry_run:
        notes.write(replace(notes.record, state=ROLLED_BACK, ended=now()))
    return tuple(outcomes)
