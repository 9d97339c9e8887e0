"""A ledger record whose bytes were changed is refused, or means exactly what now stands there: nothing in it is guessed."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafka_mirror.errors import LedgerDamaged, LedgerTooNew
from kafka_mirror.ledger.codec import decode, encode
from tests.unit.ledger.test_codec import RECORD, records

FIELDS = json.loads(encode(RECORD))
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["1", "12c", "AADIAQ=="]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["offset", "run", "x"]), inner, max_size=2),
    max_leaves=5,
)
changes = st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), min_size=1, max_size=3)


def refused_or_as_it_stands(value: bytes) -> bool:
    """Whether a value is refused, or read as it stands: written again it is the same JSON, but for how a time is written."""
    try:
        record = decode(value, "here")
    except (LedgerDamaged, LedgerTooNew):
        return True
    written, read = json.loads(encode(record)), json.loads(value)
    for times in (written, read):
        times["writer"].pop("time")
        if times["blocked"]:
            times["blocked"].pop("since")
        for decision in ("decided", "handed_back"):
            if times.get(decision):
                times[decision].pop("when")
    # Touching intervals of one reason become one when they are written.
    written["skipped"] = [[each.start, each.end, each.reason, *([] if each.count is None else [each.count])] for each in record.skipped]
    return stands_in(written, read)


def stands_in(written: Any, read: Any) -> bool:
    """Whether all that is written was read so; names that nobody knows are of a newer mirror, and passed over."""
    if isinstance(written, dict):
        return isinstance(read, dict) and all(name in read and stands_in(value, read[name]) for name, value in written.items())
    return bool(written == read)


@given(records, changes)
def test_changed_bytes_are_refused_or_mean_what_they_say(record, changes):
    value = bytearray(encode(record))
    for place, byte in changes:
        value[place % len(value)] = byte
    assert refused_or_as_it_stands(bytes(value))


@given(changes)
@example([(encode(RECORD).index(b": too large"), ord(" "))])
def test_changed_bytes_of_a_record_with_everything_in_it_are_refused_or_mean_what_they_say(changes):
    value = bytearray(encode(RECORD))
    for place, byte in changes:
        value[place % len(value)] = byte
    assert refused_or_as_it_stands(bytes(value))


@given(st.sampled_from(sorted(FIELDS)), anything)
def test_another_value_of_a_field_is_refused_or_means_what_it_says(field, value):
    assert refused_or_as_it_stands(json.dumps({**FIELDS, field: value}).encode())


@given(st.sampled_from(["covered", "history", "skipped"]), st.lists(st.lists(anything, max_size=4), min_size=1, max_size=2))
def test_intervals_of_anything_but_offsets_are_refused_or_mean_what_they_say(field, value):
    assert refused_or_as_it_stands(json.dumps({**FIELDS, field: value}).encode())


@given(records, st.data())
def test_a_record_that_was_cut_off_is_damaged(record, data):
    value = encode(record)
    with pytest.raises(LedgerDamaged):
        decode(value[: data.draw(st.integers(0, len(value) - 1))], "here")


def test_brackets_without_end_are_damaged():
    with pytest.raises(LedgerDamaged):
        decode(b"[" * 1_000_000, "here")
