"""How a run of a wave ends as a whole; against clusters it is run in tests/integration."""

import pytest

from mirror.cutover.run import WaveRun
from mirror.cutover.steps import DONE, FENCE, OPEN, PLANNED, PREFLIGHT, STOPPED, WAITING, StepOutcome
from mirror.cutover.wave_record import WaveRecord

RECORD = WaveRecord("w", ("orders",), (), PLANNED, "ann", "because", 1)


@pytest.mark.parametrize(
    ("states", "state"),
    [
        ((), DONE),
        ((DONE, DONE), DONE),
        ((DONE, STOPPED), STOPPED),
        ((DONE, WAITING), WAITING),
        ((STOPPED, WAITING, DONE), STOPPED),
        ((WAITING, STOPPED), STOPPED),
    ],
)
def test_a_stop_counts_more_than_a_wait(states, state):
    outcomes = tuple(StepOutcome(step, of_step) for step, of_step in zip((PREFLIGHT, FENCE, OPEN), states, strict=False))
    assert WaveRun(RECORD, outcomes).state == state
