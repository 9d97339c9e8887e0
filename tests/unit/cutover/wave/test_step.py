"""The steps of a cutover and their outcomes."""

import pytest

from kafka_mirror.cutover.wave.run import get_steps
from kafka_mirror.cutover.wave.step import (
    AUDIT_GATE,
    DONE,
    FAILOVER,
    FAILOVER_STEPS,
    FENCE,
    MOVE_GROUPS,
    OPEN,
    PLANNED,
    STEPS,
    STOPPED,
    WAITING,
    StepOutcome,
    information,
    list_steps,
    make_outcome,
    stop,
    warning,
)
from kafka_mirror.errors import ErrorReport

LATE = ErrorReport("WaveBehind", "Late.")


def test_a_failover_runs_a_part_of_the_steps_in_the_same_order():
    assert list(FAILOVER_STEPS) == [step for step in STEPS if step in FAILOVER_STEPS]


@pytest.mark.parametrize("mode", [PLANNED, FAILOVER])
def test_there_is_a_step_for_every_name_in_its_order(mode):
    assert tuple(step.name for step in get_steps(mode)) == list_steps(mode)


def test_what_changes_a_cluster_is_taken_back_and_what_others_may_break_is_asked_again():
    assert [step.name for step in get_steps(PLANNED) if step.take_back] == [FENCE, MOVE_GROUPS, OPEN]
    assert [step.name for step in get_steps(FAILOVER) if step.take_back] == [MOVE_GROUPS, OPEN]
    assert [step.name for step in get_steps(PLANNED) if step.find_breaks] == [FENCE, AUDIT_GATE, MOVE_GROUPS]


@pytest.mark.parametrize(("state", "is_done"), [(DONE, True), (WAITING, False), (STOPPED, False)])
def test_only_a_step_that_is_done_lets_the_next_one_begin(state, is_done):
    assert StepOutcome(OPEN, state).is_done is is_done


def test_a_step_is_stopped_by_a_stop_and_by_nothing_else():
    assert make_outcome(OPEN, (warning(LATE), information("B", "B."))).state == DONE
    assert make_outcome(OPEN, (warning(LATE), stop(LATE))).state == STOPPED
