"""Steps of the tests' own for the runner, which do what they are told and note what was asked of them."""

from kafka_mirror.cutover.wave.record import WaveNotes, WaveRecord
from kafka_mirror.cutover.wave.runner import WaveStep
from kafka_mirror.cutover.wave.step import DONE, FENCE, MOVE_GROUPS, OPEN, PLANNED, STEPS, StepOptions, StepOutcome, list_steps

OPTIONS = StepOptions("w", "ann@here", "because", dry_run=False)


class Steps:
    """All steps of a wave. `outcomes` says how a step ends, `broken` what holds no more, `failures` what a step raises, or the question
    `holds`."""

    def __init__(self):
        self.calls = []
        self.outcomes, self.broken, self.failures = {}, {}, {}
        self.taken_back = {}

    def for_mode(self, mode):
        return tuple(map(self._wave_step, list_steps(mode)))

    def _wave_step(self, name):
        return WaveStep(
            name,
            lambda _move, notes, _options: self._step(name, notes),
            lambda *_: self._holds(name),
            (lambda *_: self._rollback(name)) if name in (OPEN, MOVE_GROUPS, FENCE) else None,
        )

    def _holds(self, step):
        if "holds" in self.failures:
            raise self.failures["holds"]
        return self.broken.get(step, ())

    def _step(self, step, notes):
        self.calls.append(step)
        notes.keep(step, {**notes.read_step(step), "begun": True})
        if step in self.failures:
            raise self.failures[step]
        return self.outcomes.get(step, StepOutcome(step, DONE, (f"{step} did it.",), facts={"ended": True}))

    def _rollback(self, step):
        self.calls.append(f"rollback {step}")
        return self.taken_back.get(step, StepOutcome(step, DONE))


class Clock:
    """Milliseconds that go on by one with each question."""

    def __init__(self):
        self.now = 100

    def __call__(self):
        self.now += 1
        return self.now


def notebook(mode=PLANNED, *, done=()):
    """Notes in memory of a wave of which these steps are done."""
    notes = WaveNotes(WaveRecord("w", ("orders",), (), mode, "ann@here", "because", 100, runner="ann@here"))
    for step in STEPS:
        if step in done:
            notes.start_step(step, "ann@here", 100)
            notes.end_step(StepOutcome(step, DONE), 101)
    return notes
