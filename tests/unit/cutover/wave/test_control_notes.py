"""The notes of waves over a control topic in memory: who may write, and what a slash in a group's name does not break. On real brokers in
tests/integration/test_cutover_waves.py."""

import dataclasses
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from kafka_mirror.cutover.wave import control_notes as module
from kafka_mirror.cutover.wave.control_notes import ControlNotes, WaveStore
from kafka_mirror.cutover.wave.record import WaveRecord
from kafka_mirror.cutover.wave.step import DONE, FENCE, LAST_COPY, PLANNED, StepOutcome
from kafka_mirror.errors import ControlUnreadable, DecidedMeanwhile, WaveRunElsewhere
from kafka_mirror.ledger.control_records import PAUSE, WAVE, Decision

RECORD = WaveRecord("w", ("orders",), (), PLANNED, "ann", "because", 1, runner="ann")
PAUSED = Decision(PAUSE, "ben", datetime(2026, 11, 21, tzinfo=UTC), "no reason", "orders")


class ControlInMemory:
    """The control topic as compaction leaves it. `overtaken` so many times, somebody else writes between reading and writing."""

    topic = "mm2-control.east.internal"

    def __init__(self):
        self.stored, self.writes, self.overtaken, self.is_there = {}, [], 0, True

    def exists(self):
        return self.is_there

    def create(self, replication_factor):
        self.is_there = replication_factor

    def read(self):
        return tuple(self.stored.values())

    def write_next(self, decisions):
        if self.overtaken:
            self.overtaken -= 1
            raise DecidedMeanwhile(self.topic)
        self.writes.append(decisions)
        self.stored.update({decision.key: decision for decision in decisions})


@pytest.fixture
def control(monkeypatch):
    topic = ControlInMemory()
    monkeypatch.setattr(module, "control_of", lambda *_: topic)
    monkeypatch.setattr(module, "_PAUSES", (0.0, 0.0, 0.0))
    return topic


@pytest.fixture
def store(control):
    return WaveStore(SimpleNamespace(value=lambda _name: 3), None)


def begin(store, record=RECORD, before=None):
    stored = store.read()
    return ControlNotes(store, "ann", record, before, stored)


def test_everything_that_is_noted_is_in_the_control_topic_when_the_call_returns(control, store):
    notes = begin(store)
    notes.start_step(FENCE, "ann", 2)
    notes.keep(FENCE, {"ends": (1, 2)})
    notes.keep_groups({"billing": {"before": 1}, "team/a/b": {"before": 2}})
    notes.end_step(StepOutcome(FENCE, DONE), 3)
    stored = store.read()
    assert stored.waves == {"w": notes.record}
    assert notes.record.steps[FENCE].facts == {"ends": [1, 2]}
    assert {group: note.facts for group, note in stored.groups["w"].items()} == {"billing": {"before": 1}, "team/a/b": {"before": 2}}
    assert len(control.writes) == 5
    assert notes.read_group("team/a/b") == {"before": 2}


def test_the_end_of_a_step_that_is_held_back_goes_with_the_next_note(control, store):
    notes = begin(store)
    notes.start_step(FENCE, "ann", 2)
    notes.end_step(StepOutcome(FENCE, DONE), 3, with_next=True)
    assert (notes.record.is_done(FENCE), store.read().waves["w"].is_done(FENCE)) == (True, False)
    notes.start_step(LAST_COPY, "ann", 4)
    assert store.read().waves == {"w": notes.record}
    assert store.read().waves["w"].is_done(FENCE)
    assert len(control.writes) == 3


def test_groups_of_an_earlier_attempt_are_not_those_of_this_one(store):
    begin(store).keep_groups({"billing": {"before": 1}})
    again = begin(store, dataclasses.replace(RECORD, attempt=2), RECORD)
    assert again.read_group("billing") == {}


def test_of_two_runs_the_older_one_writes_no_more(control, store):
    older = begin(store)
    newer = dataclasses.replace(RECORD, run=2, runner="bob")
    begin(store, newer, RECORD)
    with pytest.raises(WaveRunElsewhere, match="by bob"):
        older.keep(FENCE, {"acls": 1})
    with pytest.raises(WaveRunElsewhere):
        older.keep_groups({"billing": {}})
    assert store.read().waves["w"] == newer
    assert older.read_step(FENCE) == {}


def test_two_runs_that_begin_a_wave_at_once_do_not_both(store):
    begin(store)
    with pytest.raises(WaveRunElsewhere):
        begin(store)


def test_what_people_decide_is_no_obstacle(control, store):
    notes = begin(store)
    control.stored[PAUSED.key] = PAUSED
    control.overtaken = 2
    notes.keep(FENCE, {"acls": 1})
    assert store.read().waves["w"].steps[FENCE].facts == {"acls": 1}
    assert control.stored[PAUSED.key] == PAUSED


def test_who_never_gets_a_word_in_wrote_nothing(control, store):
    notes = begin(store)
    control.overtaken = 3
    with pytest.raises(DecidedMeanwhile):
        notes.keep(FENCE, {"acls": 1})
    assert store.read().waves["w"] == notes.record == RECORD


def test_a_run_that_changes_nothing_writes_nothing(control, store):
    begin(store)
    begin(store, RECORD, RECORD)
    assert len(control.writes) == 1


def test_each_note_is_later_than_all_decisions_before_it(control, store):
    late = dataclasses.replace(PAUSED, when=datetime(2999, 1, 1, tzinfo=UTC))
    control.stored[late.key] = late
    begin(store)
    assert control.writes[0][0].when > late.when


def test_the_control_topic_is_created_for_the_first_wave(control, store):
    control.is_there = False
    begin(store)
    assert control.is_there == 3


def test_a_damaged_record_is_named(control, store):
    control.stored["x"] = Decision(WAVE, "ben", PAUSED.when, "", "w", document='{"v": 2}')
    with pytest.raises(ControlUnreadable, match=r"mm2-control\.east\.internal, the wave w cannot be read: "):
        store.read()
