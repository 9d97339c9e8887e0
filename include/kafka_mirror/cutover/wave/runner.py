"""Runs the steps of one wave in their order, each from what the clusters show now, and notes how each ended; or takes them back."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kafka_mirror.cutover.wave.record import ROLLED_BACK, TAKEN_BACK, WaveNotes, WaveRecord
from kafka_mirror.cutover.wave.step import (
    FENCE,
    MOVE_GROUPS,
    OPEN,
    STEPS,
    STOP,
    STOPPED,
    Finding,
    StepOptions,
    StepOutcome,
    show_state,
    stop,
    with_flow,
)
from kafka_mirror.errors import MirrorError, StepBefore, WaveRunElsewhere


@dataclass(frozen=True)
class WaveStep:
    """One step of a cutover. It works on a `move`, and finds out from the clusters and the notes what is left to do.

    `find_breaks` is there if the step's result can be broken later (the fence by a writer, the audit by records that came since): it gives
    why, and nothing as long as the result holds. It is a short question without waiting, which is asked before each later step.
    `take_back` is what a roll back does about the step; a second time it does nothing.
    """

    name: str
    run: Callable[[Any, WaveNotes, StepOptions], StepOutcome]
    find_breaks: Callable[[Any, WaveNotes, StepOptions], tuple[Finding, ...]] | None = None
    take_back: Callable[[Any, WaveNotes, StepOptions], StepOutcome] | None = None


@dataclass
class WaveRunner:
    """One run of one wave. `move` is what steps work on; `now` gives milliseconds UTC."""

    flow: str
    move: Any
    notes: WaveNotes
    options: StepOptions
    now: Callable[[], int]
    steps: Sequence[WaveStep]
    is_moved: bool = False
    """Whether the wave's topics are written on the target already: `open` was killed, and only it is left. The way back may have written to
    the source since, so nothing in front of it is asked again."""

    def run(self, until: str | None = None) -> tuple[StepOutcome, ...]:
        """Runs what is left to do, in a dry run all of it, up to the first step that is not done, or to the step `until`.

        Until a wave is fenced every run begins with the first step, for every answer may have changed. After that it goes on with the first
        whose result is missing, or holds no more. Raises what concerns a cluster as a whole; then too, the step is noted as stopped.
        """
        outcomes: list[StepOutcome] = []
        # Without the steps after `until`: a run that was killed once that was done had nothing left to do.
        due = [step for step in self._list_due() if until is None or STEPS.index(step) <= STEPS.index(until)]
        try:
            for step in due:
                outcomes.append(self.run_one(step, goes_on=step != due[-1]))
                if outcomes[-1].step == until or not (outcomes[-1].is_done or self.options.dry_run):
                    break
        except WaveRunElsewhere:
            raise
        except MirrorError as error:
            self._note(error, lambda: self.notes.write(self.notes.record))
            raise
        return tuple(outcomes)

    def run_one(self, step: str, goes_on: bool = False) -> StepOutcome:
        """Runs the step, as a task of a DAG does: `find_missing_step` says whether it may begin. If the result of one in front of it holds
        no more, that one is stopped instead. `goes_on`: the next step's note carries how it ended."""
        order = self.notes.record.order
        for earlier in order[: order.index(step)] if not self.options.dry_run else ():
            if broken := self._find_broken(earlier):
                outcome = StepOutcome(earlier, STOPPED, findings=broken)
                self.notes.end_step(outcome, self.now())
                return outcome
        return self._run(step, goes_on)

    def take_back(self) -> tuple[StepOutcome, ...]:
        """Takes back each step that noted something, by what it noted before it acted; the last first. Stops at the first that cannot take
        back all. In a dry run each says what it would do. At the end the wave is noted as rolled back."""
        outcomes: list[StepOutcome] = []
        for step in reversed(self.steps):
            note = self.notes.record.steps.get(step.name)
            if step.take_back is None or note is None or note.state == TAKEN_BACK:
                continue
            self.options.progress(f"{step.name} {'would be' if self.options.dry_run else 'is'} taken back.")
            outcome = self._call(step.take_back)
            outcomes.append(outcome)
            self.options.progress(show_outcome(outcome, self.options.dry_run))
            if self.options.dry_run:
                continue
            self.notes.end_step(outcome, self.now(), TAKEN_BACK if outcome.is_done else None)
            if not outcome.is_done:
                return tuple(outcomes)
        if not self.options.dry_run:
            self.notes.write(replace(self.notes.record, state=ROLLED_BACK, ended=self.now()))
        return tuple(outcomes)

    def _list_due(self) -> tuple[str, ...]:
        record = self.notes.record
        if self.options.dry_run:
            return record.order
        if self.is_moved:
            return () if record.is_done(OPEN) else (OPEN,)
        gate = FENCE if FENCE in record.order else MOVE_GROUPS
        if not record.is_done(gate):
            return record.order
        first = next((step for step in record.order if not record.is_done(step) or self._find_broken(step)), None)
        return record.order[record.order.index(first) :] if first is not None else ()

    def _find_broken(self, step: str) -> tuple[Finding, ...]:
        """Why the result of a step that is done holds no more; nothing once the wave is open."""
        find_breaks = self._get_step(step).find_breaks
        if find_breaks is None or self.is_moved or self.notes.record.is_done(OPEN):
            return ()
        findings = find_breaks(self.move, self.notes, self.options)
        return with_flow((finding for finding in findings if finding.kind == STOP), self.flow)

    def _run(self, step: str, goes_on: bool) -> StepOutcome:
        act = self._get_step(step).run
        if self.options.dry_run:
            outcome = self._call(act)
            self.options.progress(show_outcome(outcome, dry_run=True))
            return outcome
        self.options.progress(f"{step} begins.")
        self.notes.start_step(step, self.options.who, self.now())
        try:
            outcome = self._call(act)
        except WaveRunElsewhere:
            raise
        except MirrorError as error:
            stopped = StepOutcome(step, STOPPED, (str(error.report()),))
            self._note(error, lambda: self.notes.end_step(stopped, self.now()))
            raise
        self.notes.end_step(outcome, self.now(), with_next=goes_on and outcome.is_done)
        self.options.progress(show_outcome(outcome))
        return outcome

    def _get_step(self, name: str) -> WaveStep:
        return next(step for step in self.steps if step.name == name)

    def _call(self, act: Callable[[Any, WaveNotes, StepOptions], StepOutcome]) -> StepOutcome:
        """What a step answers, with the flow's name in the commands."""
        outcome = act(self.move, self.notes, self.options)
        return replace(outcome, findings=with_flow(outcome.findings, self.flow))

    def _note(self, error: MirrorError, write: Callable[[], None]) -> None:
        """Notes what there is to note when a run ends by an error."""
        try:
            write()
        except WaveRunElsewhere as elsewhere:
            raise elsewhere from error
        except MirrorError as other:  # the cluster that failed may be the one that keeps the notes; the step stays noted as running
            error.add_note(f"How the step ended could not be noted: {other}")


def find_missing_step(record: WaveRecord, step: str, flow: str, taken_back_by: str = "") -> StepOutcome | None:
    """The outcome of a step that is run alone and cannot begin, for one in front of it is not done; None if all are. `taken_back_by`: who
    rolled the wave back."""
    order = record.order
    missing = next((earlier for earlier in order[: order.index(step)] if not record.is_done(earlier)), None)
    if missing is None:
        return None
    return StepOutcome(step, STOPPED, findings=with_flow([stop(StepBefore(step, record.name, missing, taken_back_by))], flow))


def show_outcome(outcome: StepOutcome, dry_run: bool = False) -> str:
    """One line on how a step ended, or would end."""
    reason = next((f": {finding.message}" for finding in outcome.findings if finding.kind == STOP), "")
    return f"{outcome.step}: {show_state(outcome.state, dry_run)}{reason or '.'}"
