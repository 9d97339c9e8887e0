"""How a run of a wave ends as a whole; against clusters it is run in tests/integration."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from kafka_mirror.cutover.wave.control_notes import StoredWaves
from kafka_mirror.cutover.wave.record import GroupNote, WaveRecord
from kafka_mirror.cutover.wave.run import WaveRun, report_wave
from kafka_mirror.cutover.wave.step import (
    DONE,
    FAILOVER,
    FENCE,
    LAST_COPY,
    MOVE_GROUPS,
    OPEN,
    PLANNED,
    PREFLIGHT,
    STOPPED,
    WAITING,
    StepOutcome,
)
from kafka_mirror.errors import WaveUnknown
from kafka_mirror.groups.group_move import AFTER, BEFORE
from kafka_mirror.ledger.decisions import Decisions

ATTEMPTS = {"billing": 2, "left out since": 1}
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


@pytest.mark.parametrize(
    ("mode", "states", "state"),
    [
        (PLANNED, {PREFLIGHT: DONE, FENCE: WAITING, LAST_COPY: STOPPED, OPEN: STOPPED}, DONE),
        (PLANNED, {PREFLIGHT: DONE, FENCE: STOPPED}, STOPPED),
        (PLANNED, {PREFLIGHT: STOPPED, OPEN: DONE}, STOPPED),
        (FAILOVER, {PREFLIGHT: DONE, MOVE_GROUPS: WAITING}, DONE),
        (FAILOVER, {PREFLIGHT: DONE, MOVE_GROUPS: STOPPED}, STOPPED),
    ],
)
def test_a_drill_is_not_stopped_by_what_a_drill_expects(mode, states, state):
    outcomes = tuple(StepOutcome(step, of_step) for step, of_step in states.items())
    assert WaveRun(replace(RECORD, mode=mode), outcomes, is_drill=True).state == state


def test_a_report_lists_the_groups_of_the_newest_attempt_alone():
    """A group that a wave left out when it was begun again was put back by the roll back before."""
    notes = {name: GroupNote(attempt, {BEFORE: {"orders": {"0": None}}, AFTER: {"orders": {"0": 7}}}) for name, attempt in ATTEMPTS.items()}
    stored = StoredWaves({"w": replace(RECORD, attempt=2)}, {"w": notes}, Decisions(()))
    made = report_wave(SimpleNamespace(name="east->west"), stored, "w")
    assert [position.group for position in made.positions] == ["billing"]
    with pytest.raises(WaveUnknown):
        report_wave(SimpleNamespace(name="east->west"), stored, "v")
