"""The steps of a cutover and their outcomes."""

import pytest

from kafka_mirror.cutover.findings import information, stop, warning
from kafka_mirror.cutover.steps import (
    DONE,
    FAILOVER,
    FAILOVER_STEPS,
    OPEN,
    PLANNED,
    STEPS,
    STOPPED,
    UNDONE,
    WAITING,
    StepOutcome,
    ended,
    modules_of,
)
from kafka_mirror.errors import ErrorReport

LATE = ErrorReport("WaveBehind", "Late.")


def test_a_failover_runs_a_part_of_the_steps_in_the_same_order():
    assert list(FAILOVER_STEPS) == [step for step in STEPS if step in FAILOVER_STEPS]


def test_the_runner_has_a_module_for_every_step():
    assert set(modules_of(PLANNED)) == set(STEPS)
    assert set(modules_of(FAILOVER)) == set(FAILOVER_STEPS)


def test_a_roll_back_takes_the_last_step_back_first():
    assert sorted(UNDONE, key=STEPS.index, reverse=True) == list(UNDONE)


@pytest.mark.parametrize(("state", "is_done"), [(DONE, True), (WAITING, False), (STOPPED, False)])
def test_only_a_step_that_is_done_lets_the_next_one_begin(state, is_done):
    assert StepOutcome(OPEN, state).is_done is is_done


def test_a_step_is_stopped_by_a_stop_and_by_nothing_else():
    assert ended(OPEN, (warning(LATE), information("B", "B."))).state == DONE
    assert ended(OPEN, (warning(LATE), stop(LATE))).state == STOPPED
