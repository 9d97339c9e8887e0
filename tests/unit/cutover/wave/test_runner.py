"""The runner of a wave's steps: their order, where a run goes on, what it notes, and what a roll back takes back."""

import dataclasses

import pytest

from kafka_mirror.cutover.wave.record import ROLLED_BACK, RUNNING, TAKEN_BACK, TAKING_BACK
from kafka_mirror.cutover.wave.runner import WaveRunner, find_missing_step
from kafka_mirror.cutover.wave.step import (
    AUDIT_GATE,
    CATCH_UP,
    DONE,
    FAILOVER,
    FAILOVER_STEPS,
    FENCE,
    LAST_COPY,
    MOVE_GROUPS,
    OPEN,
    PREFLIGHT,
    STEPS,
    STOPPED,
    WAITING,
    StepOutcome,
    stop,
)
from kafka_mirror.errors import ErrorReport, KafkaFailure, WaveRunElsewhere
from tests.unit.cutover.wave.wave_steps import OPTIONS, Clock, Steps, notebook

BROKEN = stop(ErrorReport("StillWritten", "Somebody writes.", next="Stop it."))


@pytest.fixture
def steps():
    return Steps()


def runner(steps, notes, **options):
    return WaveRunner("east->west", None, notes, dataclasses.replace(OPTIONS, **options), Clock(), steps.for_mode(notes.record.mode))


def test_all_steps_run_in_their_order_and_are_noted_with_their_times(steps):
    notes = notebook()
    outcomes = runner(steps, notes).run()
    assert steps.calls == list(STEPS)
    assert [outcome.state for outcome in outcomes] == [DONE] * len(STEPS)
    note = notes.record.steps[FENCE]
    assert (note.state, note.who, note.facts) == (DONE, "ann@here", {"ended": True})
    assert note.began < note.ended
    assert note.lines == ("fence did it.",)


def test_a_note_has_the_end_of_a_step_and_the_begin_of_the_next_one(steps, monkeypatch):
    notes, states = notebook(), []
    write = notes.write
    monkeypatch.setattr(notes, "write", lambda record, *groups: (states.append(stored(record)), write(record, *groups)))
    runner(steps, notes).run(until=FENCE)
    assert states == [
        {PREFLIGHT: RUNNING},
        {PREFLIGHT: RUNNING},
        {PREFLIGHT: DONE, CATCH_UP: RUNNING},
        {PREFLIGHT: DONE, CATCH_UP: RUNNING},
        {PREFLIGHT: DONE, CATCH_UP: DONE, FENCE: RUNNING},
        {PREFLIGHT: DONE, CATCH_UP: DONE, FENCE: RUNNING},
        {PREFLIGHT: DONE, CATCH_UP: DONE, FENCE: DONE},
    ]


def test_the_end_of_a_step_is_noted_when_nobody_can_say_whether_it_still_holds(steps, monkeypatch):
    notes, states = notebook(), []
    write = notes.write
    monkeypatch.setattr(notes, "write", lambda record, *groups: (states.append(stored(record)), write(record, *groups)))
    steps.failures["holds"] = KafkaFailure("The source is away.", next="Bring it back.")
    with pytest.raises(KafkaFailure):
        runner(steps, notes).run()
    assert states[-1] == {PREFLIGHT: DONE}


def stored(record):
    return {step: note.state for step, note in record.steps.items()}


def test_a_failover_runs_its_own_steps(steps):
    runner(steps, notebook(FAILOVER), mode=FAILOVER).run()
    assert steps.calls == list(FAILOVER_STEPS)


@pytest.mark.parametrize("state", [STOPPED, WAITING])
def test_a_step_that_is_not_done_ends_the_run(steps, state):
    steps.outcomes[FENCE] = StepOutcome(FENCE, state, findings=(BROKEN,))
    notes = notebook()
    outcomes = runner(steps, notes).run()
    assert steps.calls == [PREFLIGHT, CATCH_UP, FENCE]
    assert outcomes[-1].state == notes.record.steps[FENCE].state == state
    assert notes.record.steps[FENCE].lines == (str(BROKEN),)
    assert notes.record.steps[FENCE].facts == {"begun": True}


def test_a_run_ends_behind_the_step_until(steps):
    runner(steps, notebook()).run(until=FENCE)
    assert steps.calls[-1] == FENCE


def test_until_the_fence_stands_everything_is_asked_again(steps):
    runner(steps, notebook(done=(PREFLIGHT, CATCH_UP))).run()
    assert steps.calls == list(STEPS)


def test_behind_the_fence_a_run_goes_on_with_the_first_step_that_is_not_done(steps):
    runner(steps, notebook(done=(PREFLIGHT, CATCH_UP, FENCE, LAST_COPY))).run()
    assert steps.calls == [AUDIT_GATE, MOVE_GROUPS, OPEN]


def test_a_run_goes_on_with_the_first_step_whose_result_holds_no_more(steps):
    steps.broken[FENCE] = (BROKEN,)
    notes = notebook(done=(PREFLIGHT, CATCH_UP, FENCE, LAST_COPY))
    runner(steps, notes).run(until=FENCE)
    assert steps.calls == [FENCE]


def test_a_step_whose_result_breaks_while_the_wave_runs_stops_it(steps):
    steps.broken[FENCE] = (BROKEN,)
    notes = notebook()
    outcomes = runner(steps, notes).run()
    assert steps.calls == [PREFLIGHT, CATCH_UP, FENCE]
    assert outcomes[-1] == StepOutcome(FENCE, STOPPED, findings=(BROKEN,))
    assert notes.record.steps[FENCE].state == STOPPED


def test_a_wave_that_is_open_has_nothing_left_to_do_and_nothing_is_asked(steps):
    steps.broken[FENCE] = (BROKEN,)
    assert runner(steps, notebook(done=STEPS)).run() == ()
    assert steps.calls == []


@pytest.mark.parametrize("only", [None, OPEN])
def test_behind_an_open_that_was_killed_nothing_but_open_is_left_for_the_way_back_may_write_to_the_source(steps, only):
    steps.broken[FENCE] = (BROKEN,)
    notes = notebook(done=(PREFLIGHT, CATCH_UP, FENCE, LAST_COPY, AUDIT_GATE, MOVE_GROUPS))
    killed = dataclasses.replace(runner(steps, notes), is_moved=True)
    assert killed.run() if only is None else killed.run_one(only)
    assert steps.calls == [OPEN]
    assert killed.run() == ()


def test_one_step_alone_needs_all_in_front_of_it():
    outcome = find_missing_step(notebook(done=(PREFLIGHT,)).record, FENCE, "east->west")
    assert (outcome.step, outcome.state) == (FENCE, STOPPED)
    (found,) = outcome.findings
    assert found.message == "fence cannot begin: catch-up is not done."
    assert "cutover run --flow 'east->west' --wave w --step catch-up" in found.error.next


def test_one_step_alone_runs_if_those_in_front_of_it_are_done_and_hold(steps):
    notes = notebook(done=(PREFLIGHT, CATCH_UP, FENCE))
    assert find_missing_step(notes.record, LAST_COPY, "east->west") is None
    assert runner(steps, notes).run_one(LAST_COPY).is_done
    assert steps.calls == [LAST_COPY]
    steps.broken[FENCE] = (BROKEN,)
    assert runner(steps, notes).run_one(AUDIT_GATE).step == FENCE
    assert steps.calls == [LAST_COPY]


def test_a_dry_run_asks_every_step_whatever_the_one_before_says(steps):
    steps.outcomes[PREFLIGHT] = StepOutcome(PREFLIGHT, STOPPED, findings=(BROKEN,))
    outcomes = runner(steps, notebook(), dry_run=True).run()
    assert steps.calls == list(STEPS)
    assert [outcome.state for outcome in outcomes] == [STOPPED] + [DONE] * 6


def test_a_step_that_raises_is_noted_as_stopped_with_what_it_said(steps):
    steps.failures[LAST_COPY] = KafkaFailure("The target is away.", next="Bring it back.")
    notes = notebook()
    with pytest.raises(KafkaFailure):
        runner(steps, notes).run()
    note = notes.record.steps[LAST_COPY]
    assert (note.state, note.facts) == (STOPPED, {"begun": True})
    assert "The target is away." in note.lines[0]


def test_a_run_from_which_another_took_the_wave_notes_nothing_more(steps):
    steps.failures[LAST_COPY] = WaveRunElsewhere("w", "bob")
    notes = notebook()
    with pytest.raises(WaveRunElsewhere):
        runner(steps, notes).run()
    assert notes.record.steps[LAST_COPY].state == RUNNING


def test_progress_says_when_a_step_begins_and_how_it_ended(steps):
    lines = []
    steps.outcomes[CATCH_UP] = StepOutcome(CATCH_UP, STOPPED, findings=(BROKEN,))
    runner(steps, notebook(), progress=lines.append).run()
    assert lines == ["preflight begins.", "preflight: done.", "catch-up begins.", "catch-up: stopped: Somebody writes."]


def test_a_run_that_was_killed_once_its_last_step_was_done_does_none_behind_it_when_it_is_repeated(steps):
    notes = notebook(done=(PREFLIGHT, CATCH_UP, FENCE, LAST_COPY, AUDIT_GATE))
    assert runner(steps, notes).run(until=AUDIT_GATE) == ()
    assert steps.calls == []
    runner(steps, notes).run(until=MOVE_GROUPS)
    assert steps.calls == [MOVE_GROUPS]


def test_a_failover_that_is_asked_up_to_a_step_that_it_lacks_ends_in_front_of_it(steps):
    runner(steps, notebook(FAILOVER), mode=FAILOVER).run(until=FENCE)
    assert steps.calls == [PREFLIGHT]


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
