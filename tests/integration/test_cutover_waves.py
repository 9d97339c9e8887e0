"""The record of a wave in the control topic, on real brokers, with steps of the tests' own: what it keeps, and who may write it. Which run
has the wave, and what is refused, is proved in memory: tests/unit/cutover/wave."""

import dataclasses
from datetime import UTC, datetime
from functools import partial

import pytest

from kafka_mirror.cutover.wave import run as cutover_run
from kafka_mirror.cutover.wave.record import OPENED
from kafka_mirror.cutover.wave.run import read_waves, run_wave
from kafka_mirror.cutover.wave.runner import WaveStep
from kafka_mirror.cutover.wave.selection import Wave
from kafka_mirror.cutover.wave.step import (
    DONE,
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
from kafka_mirror.errors import WaveRunElsewhere
from kafka_mirror.kafka.produce_request import Outgoing
from kafka_mirror.kafka.writer import RecordWriter
from kafka_mirror.ledger.clusters import clusters, control_of
from kafka_mirror.ledger.control import Control
from kafka_mirror.ledger.control_records import MOVED, PAUSE, Decision, encode, encode_key

OPTIONS = StepOptions("w", "ann@here", "because", dry_run=False)


class Steps:
    """Every step is done at once; `open` notes the topics as moved, and `during` is called in the middle of a step."""

    def __init__(self):
        self.calls = []
        self.during = {}

    def for_mode(self, mode):
        return tuple(WaveStep(name, partial(self._step, name)) for name in list_steps(mode))

    def _step(self, step, move, notes, options):
        self.calls.append(step)
        notes.keep(step, {"begun": True})
        self.during.get(step, lambda: None)()
        if step == MOVE_GROUPS:
            notes.keep_groups({"billing": {"before": {"orders": {"0": None}}}, "a/b": {"before": {}}})
        if step == OPEN:
            write(move.flow, *(decision(MOVED, name, wave=options.wave) for name in move.topics.names))
        return StepOutcome(step, DONE, facts={"ended": True})


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
