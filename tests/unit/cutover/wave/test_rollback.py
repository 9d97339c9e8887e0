"""A roll back: what it takes back, in which order, and what is left when it cannot."""

import dataclasses

import pytest

from kafka_mirror.cutover.wave.record import ROLLED_BACK, TAKEN_BACK, TAKING_BACK
from kafka_mirror.cutover.wave.runner import WaveRunner
from kafka_mirror.cutover.wave.step import CATCH_UP, DONE, FENCE, MOVE_GROUPS, PREFLIGHT, STOPPED, StepOutcome, stop
from kafka_mirror.errors import ErrorReport
from tests.unit.cutover.wave.wave_steps import OPTIONS, Clock, Steps, notebook


@pytest.fixture
def steps():
    return Steps()


@pytest.fixture
def notes():
    book = notebook(done=(PREFLIGHT, CATCH_UP, FENCE, MOVE_GROUPS))
    book.write(dataclasses.replace(book.record, state=TAKING_BACK))
    return book


def take_back(steps, notes, **options):
    options = dataclasses.replace(OPTIONS, **options)
    return WaveRunner("east->west", None, notes, options, Clock(), steps.for_mode(notes.record.mode)).take_back()


def test_the_last_step_is_taken_back_first(steps, notes):
    take_back(steps, notes)
    assert steps.calls == ["rollback move-groups", "rollback fence"]
    assert notes.record.state == ROLLED_BACK
    assert notes.record.ended is not None
    assert {step for step, note in notes.record.steps.items() if note.state == TAKEN_BACK} == {FENCE, MOVE_GROUPS}


def test_a_step_that_never_began_is_not_taken_back(steps):
    take_back(steps, notebook(done=(PREFLIGHT, CATCH_UP, FENCE)))
    assert steps.calls == ["rollback fence"]


def test_what_was_taken_back_stays_so_when_the_next_one_cannot(steps, notes):
    steps.taken_back[FENCE] = StepOutcome(FENCE, STOPPED, findings=(stop(ErrorReport("RightMissing", "It stays.")),))
    assert [outcome.state for outcome in take_back(steps, notes)] == [DONE, STOPPED]
    assert notes.record.state == TAKING_BACK
    steps.calls.clear()
    steps.taken_back.clear()
    take_back(steps, notes)
    assert steps.calls == ["rollback fence"]
    assert notes.record.state == ROLLED_BACK


def test_a_dry_run_asks_all_and_notes_nothing(steps, notes):
    before = notes.record
    take_back(steps, notes, dry_run=True)
    assert steps.calls == ["rollback move-groups", "rollback fence"]
    assert notes.record == before


def test_a_dry_run_says_what_would_be_taken_back(steps, notes):
    said = []
    take_back(steps, notes, dry_run=True, progress=said.append)
    assert said == [
        "move-groups would be taken back.",
        "move-groups: would do.",
        "fence would be taken back.",
        "fence: would do.",
    ]
