"""The record of a wave: what goes into the control topic comes back, and what is damaged is named by its place."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.cutover.wave.record import (
    DONE,
    MAX_BYTES,
    STEP_STATES,
    WAVE_STATES,
    GroupNote,
    StepNote,
    WaveRecord,
    decode_group,
    decode_wave,
    encode_group,
    encode_wave,
    name_wave,
    normalize,
    read_name,
    shorten_lines,
)
from kafka_mirror.cutover.wave.selection import Wave
from kafka_mirror.cutover.wave.step import FAILOVER, FENCE, MODES, OPEN, PLANNED, PREFLIGHT, STEPS
from kafka_mirror.errors import WaveTooLarge

RECORD = WaveRecord("w", ("orders.*",), (), PLANNED, "ann", "move", 5, steps={FENCE: StepNote(DONE, "ann", 6, 7, ("Quiet.",), {"a": [1]})})

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
times = st.integers(0, 2**53)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | texts, lambda inner: st.lists(inner, max_size=3), max_leaves=6
)
facts = st.dictionaries(texts, values | st.dictionaries(texts, values, max_size=3), max_size=4)
lists = st.lists(texts, max_size=3).map(tuple)
notes = st.builds(StepNote, st.sampled_from(STEP_STATES), texts, times, st.none() | times, lists, facts)
records = st.builds(
    WaveRecord,
    *(
        texts,
        lists,
        lists,
        st.sampled_from(MODES),
        texts,
        texts,
        times,
        st.sampled_from(WAVE_STATES),
        st.none() | times,
        times,
        times,
        texts,
    ),
    st.dictionaries(st.sampled_from(STEPS), notes),
)


@given(records)
def test_a_record_comes_back_as_it_was_written(record):
    assert decode_wave(record.name, encode_wave(record)) == record


@given(st.builds(GroupNote, times, facts))
def test_a_groups_note_comes_back_as_it_was_written(note):
    assert decode_group(encode_group("w", note)) == note


def damaged(**changes):
    return json.dumps({**json.loads(encode_wave(RECORD)), **changes})


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("[]", "it is no object"),
        (damaged(v=2), "v is 2, and this mirror knows version 1"),
        (damaged(name="x"), "name is 'x', and it stands under the key of 'w'"),
        (damaged(mode="slow"), "mode is 'slow', not one of planned, failover"),
        (damaged(began=-1), "began is -1"),
        (damaged(topics="orders"), "topics is no list"),
        (damaged(topics=["a", 1]), "topics.1 is 1, not a string"),
        (damaged(more=1), "more is not known"),
        (damaged(steps={"dance": {}}), "steps.dance is not known"),
        (damaged(steps={FENCE: []}), "steps.fence is no object"),
        (damaged(steps={FENCE: {"state": DONE}}), "steps.fence.who is missing"),
        (damaged(steps={FENCE: {**vars(RECORD.steps[FENCE]), "began": True}}), "steps.fence.began is True"),
        (damaged(steps={FENCE: {**vars(RECORD.steps[FENCE]), "lines": [None]}}), "steps.fence.lines.0 is None"),
        ("{", "Expecting property name"),
    ],
)
def test_what_is_damaged_is_named_by_its_place(document, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        decode_wave("w", document)


def test_a_record_that_the_control_topic_would_not_take_is_refused():
    large = RECORD.with_step(OPEN, StepNote(DONE, "ann", 1, facts={"positions": "x" * MAX_BYTES}))
    with pytest.raises(WaveTooLarge, match="in smaller waves"):
        encode_wave(large)


def test_the_next_step_is_the_first_that_is_not_done():
    assert RECORD.next_step == PREFLIGHT
    assert RECORD.with_step(PREFLIGHT, StepNote(DONE, "ann", 1)).next_step == "catch-up"


def test_a_name_is_readable_and_another_for_another_wave_or_flow():
    wave = Wave(("orders.*", "payments"), ("billing",))
    name = name_wave("east->west", wave)
    assert name == name_wave("east->west", Wave(("payments", "orders.*"), ("billing",)))
    assert re.fullmatch(r"orders-payments-[0-9a-f]{6}", name)
    assert (
        len({name, name_wave("west->east", wave), name_wave("east->west", Wave(wave.topics)), name_wave("east->west", wave, FAILOVER)}) == 4
    )


@given(st.lists(texts, min_size=1, max_size=5))
def test_every_derived_name_is_one_that_a_person_may_give(patterns):
    name = name_wave("east->west", Wave(tuple(patterns)))
    assert read_name(name) == name


@pytest.mark.parametrize("text", ["", "a/b", "a b", "x" * 81])
def test_a_name_that_is_none_is_refused(text):
    with pytest.raises(ValueError, match="is no name of a wave"):
        read_name(text)


def test_facts_are_noted_as_they_come_back():
    assert normalize({"a": (1, 2), "b": {3: None}}) == {"a": [1, 2], "b": {"3": None}}
    with pytest.raises(ValueError, match="JSON compliant"):
        normalize({"a": float("nan")})


def test_only_the_first_lines_are_noted_and_long_ones_are_cut():
    lines = shorten_lines(("x" * 2000, *map(str, range(50))))
    assert len(lines) == 20
    assert len(lines[0]) == 1000
    assert lines[0].endswith("…")
