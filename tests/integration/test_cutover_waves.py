"""The record of a wave in the control topic, on real brokers, with steps of the tests' own: who may write it, what a run finds there."""

import dataclasses
import socket
from contextlib import closing
from datetime import UTC, datetime
from functools import partial

import pytest

from kafka_mirror.cutover.wave import control_notes as module
from kafka_mirror.cutover.wave import run as cutover_run
from kafka_mirror.cutover.wave.record import OPENED, ROLLED_BACK, RUNNING, TAKING_BACK
from kafka_mirror.cutover.wave.run import read_waves, roll_back, run_wave
from kafka_mirror.cutover.wave.runner import WaveStep
from kafka_mirror.cutover.wave.selection import Wave
from kafka_mirror.cutover.wave.step import (
    DONE,
    FAILOVER,
    FAILOVER_STEPS,
    FENCE,
    LAST_COPY,
    MOVE_GROUPS,
    OPEN,
    PREFLIGHT,
    STEPS,
    StepOptions,
    StepOutcome,
    list_steps,
)
from kafka_mirror.errors import ControlUnreadable, DecidedMeanwhile, WaveDiffers, WaveIsOpen, WaveRollsBack, WaveRunElsewhere, WaveUnknown
from kafka_mirror.kafka.produce_request import Outgoing
from kafka_mirror.kafka.writer import RecordWriter
from kafka_mirror.ledger.clusters import clusters, control_of
from kafka_mirror.ledger.control import Control
from kafka_mirror.ledger.control_records import MOVED, PAUSE, WAVE, Decision, encode, encode_key

OPTIONS = StepOptions("w", "ann@here", "because", dry_run=False)


class Steps:
    """Every step is done at once; `open` notes the topics as moved, and `during` is called in the middle of a step."""

    def __init__(self):
        self.calls = []
        self.during = {}

    def for_mode(self, mode):
        return tuple(WaveStep(name, partial(self._step, name), take_back=self._take_back_of(name)) for name in list_steps(mode))

    def _take_back_of(self, name):
        return partial(self._take_back, name) if name in (FENCE, MOVE_GROUPS, OPEN) else None

    def _step(self, step, move, notes, options):
        self.calls.append(step)
        notes.keep(step, {"begun": True})
        self.during.get(step, lambda: None)()
        if step == MOVE_GROUPS:
            notes.keep_groups({"billing": {"before": {"orders": {"0": None}}}, "a/b": {"before": {}}})
        if step == OPEN:
            write(move.flow, *(decision(MOVED, name, wave=options.wave) for name in move.topics.names))
        return StepOutcome(step, DONE, facts={"ended": True})

    def _take_back(self, step, _move, notes, _options):
        self.calls.append(f"rollback {step}")
        self.during.get(f"rollback {step}", lambda: None)()
        return StepOutcome(step, DONE, facts={"groups": sorted(notes.groups)})


def decision(word, topic, **facts):
    return Decision(word, "ben", datetime.now(UTC), "no reason", topic, **facts)


def write(flow, *decisions):
    """What somebody else writes to the control topic."""
    with clusters(flow) as (_, target):
        control = control_of(flow, target)
        RecordWriter(target.alias, flow.client("target", "producer"), target.timeout).write(
            [Outgoing(control.topic, encode_key(each), encode(each)) for each in decisions], "the decision"
        )


@pytest.fixture
def steps(monkeypatch):
    steps = Steps()
    monkeypatch.setattr(cutover_run, "get_steps", steps.for_mode)
    return steps


@pytest.fixture
def wave(mirroring, make_topic):
    """A wave of one topic that is not copied yet."""
    return Wave((make_topic("orders"),))


@pytest.fixture
def run(mirroring, wave, steps):
    """A run of the wave with these options."""

    def begin(wave=wave, *, until=None, only=None, **options):
        return run_wave(mirroring.flow, wave, dataclasses.replace(OPTIONS, **options), until, only)

    return begin


def record_of(mirroring, name="w"):
    return read_waves(mirroring.flow).waves.get(name)


def interrupt():
    raise KeyboardInterrupt


def test_a_wave_runs_to_its_end_and_its_record_says_so(mirroring, run, steps, wave):
    result = run()
    record = record_of(mirroring)
    assert steps.calls == list(STEPS)
    assert (result.record, result.state, record.state, record.topics) == (record, DONE, OPENED, wave.topics)
    assert {note.state for note in record.steps.values()} == {DONE}
    assert record.steps[FENCE].facts == {"ended": True}
    assert record.began <= record.steps[PREFLIGHT].began < record.steps[OPEN].ended == record.ended
    groups = read_waves(mirroring.flow).groups["w"]
    assert groups["a/b"].facts == {"before": {}}
    assert groups["billing"].facts == {"before": {"orders": {"0": None}}}
    steps.calls.clear()
    assert (run().outcomes, steps.calls, record_of(mirroring)) == ((), [], record)


def test_a_dry_run_writes_nothing(mirroring, run, steps):
    assert run(until=MOVE_GROUPS, dry_run=True).state == DONE
    assert steps.calls == list(STEPS[: STEPS.index(MOVE_GROUPS) + 1])
    assert record_of(mirroring) is None
    with clusters(mirroring.flow) as (_, target):
        assert not control_of(mirroring.flow, target).exists()


def test_a_killed_run_is_gone_on_with_where_it_was(mirroring, run, steps):
    steps.during[MOVE_GROUPS] = interrupt
    with pytest.raises(KeyboardInterrupt):
        run()
    assert record_of(mirroring).steps[MOVE_GROUPS].state == RUNNING
    assert record_of(mirroring).steps[MOVE_GROUPS].facts == {"begun": True}
    steps.during.clear()
    steps.calls.clear()
    result = run(who="bob@there")
    assert steps.calls == [MOVE_GROUPS, OPEN]
    assert (result.record.run, result.record.who, result.record.runner) == (2, "ann@here", "bob@there")
    assert result.record.steps[OPEN].who == "bob@there"


def test_of_two_runs_the_newer_one_has_the_wave(mirroring, run, steps):
    newer = []

    def begin_another():
        steps.during.clear()
        newer.append(run(until=FENCE, who="bob@there"))

    steps.during[FENCE] = begin_another
    with pytest.raises(WaveRunElsewhere, match="by bob@there"):
        run()
    assert steps.calls.count(LAST_COPY) == 0
    assert record_of(mirroring) == newer[0].record


def test_what_people_decide_meanwhile_is_no_obstacle(mirroring, run, steps):
    steps.during[FENCE] = lambda: write(mirroring.flow, decision(PAUSE, "other"))
    assert run().state == DONE
    assert any(each.decision == PAUSE for each in read_waves(mirroring.flow).decisions.all)


def test_who_decides_between_reading_and_writing_only_makes_it_write_again(mirroring, run, steps, monkeypatch):
    write_next = Control.write_next
    times = []

    def overtaken(control, decisions):
        times.append(len(decisions))
        if len(times) % 2:
            write(mirroring.flow, decision(PAUSE, f"other-{len(times)}"))
        write_next(control, decisions)

    monkeypatch.setattr(Control, "write_next", overtaken)
    assert run(until=PREFLIGHT).state == DONE
    assert record_of(mirroring).is_done(PREFLIGHT)
    assert steps.calls == [PREFLIGHT]


def test_who_never_gets_a_word_in_says_so(mirroring, run, monkeypatch):
    def overtaken(control, _decisions):
        raise DecidedMeanwhile(control.topic)

    monkeypatch.setattr(Control, "write_next", overtaken)
    monkeypatch.setattr(module, "_PAUSES", (0.0, 0.0))
    with pytest.raises(DecidedMeanwhile):
        run()
    assert record_of(mirroring) is None


def test_other_patterns_under_the_same_name_are_refused(mirroring, run, steps, make_topic, wave):
    mirroring.copy()
    run(until=PREFLIGHT)
    before = record_of(mirroring)
    for other in (Wave((make_topic("payments"),)), Wave(wave.topics, ("billing",))):
        with pytest.raises(WaveDiffers):
            run(other)
    with pytest.raises(WaveDiffers, match="the mode planned"):
        run(mode="failover")
    assert record_of(mirroring) == before
    assert steps.calls == [PREFLIGHT]


def test_the_name_of_an_open_wave_stays_taken(mirroring, run, make_topic):
    record = run().record
    with pytest.raises(WaveDiffers, match="was begun with topics"):
        run(Wave((make_topic("payments"),)))
    assert record_of(mirroring) == record


def test_a_roll_back_can_be_killed_and_ended_and_the_wave_then_begun_anew(mirroring, run, steps, wave):
    run(until=MOVE_GROUPS)
    steps.calls.clear()
    steps.during[f"rollback {FENCE}"] = interrupt
    with pytest.raises(KeyboardInterrupt):
        roll_back(mirroring.flow, OPTIONS)
    assert record_of(mirroring).state == TAKING_BACK
    with pytest.raises(WaveRollsBack):
        run()
    steps.during.clear()
    steps.calls.clear()
    result = roll_back(mirroring.flow, OPTIONS)
    assert steps.calls == [f"rollback {FENCE}"]
    assert (result.record.state, result.record.steps[MOVE_GROUPS].facts["groups"]) == (ROLLED_BACK, ["a/b", "billing"])
    assert roll_back(mirroring.flow, OPTIONS).outcomes == ()
    steps.calls.clear()
    again = run()
    assert steps.calls == list(STEPS)
    assert (again.record.attempt, again.record.state) == (2, OPENED)


def test_an_open_wave_is_not_rolled_back_even_if_its_last_step_was_killed(mirroring, run, steps, wave):
    run(until=MOVE_GROUPS)
    write(mirroring.flow, decision(MOVED, wave.topics[0], wave="w"))
    steps.calls.clear()
    with pytest.raises(WaveIsOpen, match="a wave in the other direction"):
        roll_back(mirroring.flow, OPTIONS)
    run()
    with pytest.raises(WaveIsOpen):
        roll_back(mirroring.flow, OPTIONS)
    assert steps.calls == [OPEN]


def test_a_wave_that_is_not_there_cannot_be_rolled_back(mirroring, run, steps):
    run(until=PREFLIGHT)
    with pytest.raises(WaveUnknown, match="it has w"):
        roll_back(mirroring.flow, dataclasses.replace(OPTIONS, wave="x"))


def test_a_damaged_record_is_named(mirroring, run):
    run(until=PREFLIGHT)
    write(mirroring.flow, decision(WAVE, "w", document='{"v": 1, "name": "w", "steps": {"fence": 1}}'))
    with pytest.raises(ControlUnreadable, match=r"the wave w cannot be read: topics is missing"):
        record_of(mirroring)


def test_a_failover_asks_the_source_nothing_and_knows_topics_by_the_ledger(mirroring, make_mirroring, make_topic, steps):
    topic = make_topic("orders")
    make_topic("payments")
    mirroring.copy()
    with closing(socket.create_server(("127.0.0.1", 0))) as nobody:  # it accepts, and never answers
        lost = make_mirroring(mirroring.pair, {"source.bootstrap.servers": f"127.0.0.1:{nobody.getsockname()[1]}"})
        options = dataclasses.replace(OPTIONS, mode=FAILOVER)
        assert run_wave(lost.flow, Wave((topic,)), options).record.state == OPENED
    assert steps.calls == list(FAILOVER_STEPS)
    assert {each.topic for each in read_waves(mirroring.flow).decisions.all if each.decision == MOVED} == {topic}
