"""The offset map as it grows transaction by transaction, against the plain list of pairs that it stands for."""

import base64
from contextlib import suppress
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_mirror.formats.offsets.map import MAX_ENCODED_BYTES, NEWEST, OffsetMap, Run, decode_map, runs_of
from kafka_mirror.formats.offsets.map_bytes import numbers
from tests.unit.formats.offsets.flows import reread, text_length
from tests.unit.formats.offsets.test_map import pairs_of, true_position

gaps = st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(1, 40))
wide_gaps = st.tuples(st.integers(1, 2**40), st.integers(1, 2**40), st.integers(1, 3))
transactions = st.lists(st.lists(gaps, max_size=8), max_size=8)


def runs_after(last: Run, gaps: list[tuple[int, int, int]]) -> list[Run]:
    """Runs that follow a run, given by the gaps in front of them (from 1: none) and their lengths."""
    runs = []
    for source_gap, target_gap, length in gaps:
        last = Run(last.source + last.length + source_gap - 1, last.target + last.length + target_gap - 1, length)
        runs.append(last)
    return runs


def grown(transactions: list[list[tuple[int, int, int]]]) -> tuple[OffsetMap, list[Run]]:
    """A map to which each transaction's runs were added, read back from the ledger in between; and all the runs."""
    built, runs = OffsetMap(), [Run(0, 0, 0)]
    for each in transactions:
        added = runs_after(runs[-1], each)
        built = reread(built.with_runs(added))
        runs += added
    return built, runs[1:]


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 4)), max_size=30))
def test_runs_are_the_very_pairs_and_as_few_as_can_be(gaps):
    sources, targets = pairs_of(gaps)
    runs = runs_of(sources, targets)
    pairs = [(run.source + offset, run.target + offset) for run in runs for offset in range(run.length)]
    assert pairs == list(zip(sources, targets, strict=True))
    for before, after in pairwise(runs):
        assert (after.source - before.source, after.target - before.target) != (before.length, before.length)


@given(transactions)
def test_it_does_not_matter_how_records_were_divided_into_transactions(transactions):
    built, runs = grown(transactions)
    assert built == OffsetMap().with_runs(runs)


def many_gaps(random: Random, widest: int) -> list[tuple[int, int, int]]:
    """Some hundred gaps and lengths of any size up to the widest."""
    return [(random.randint(2, widest), random.randint(1, widest), random.randint(1, 3)) for _ in range(random.randint(300, 700))]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32).map(Random), st.integers(1, 4), st.sampled_from([3, 200, 2**40]))
def test_a_map_that_was_thinned_again_and_again_is_never_late_and_exact_where_it_says_so(random, transactions, widest):
    built, runs = grown([many_gaps(random, widest) for _ in range(transactions)])
    assert text_length(built) <= 2048
    pairs = {run.source + offset: run.target + offset for run in runs for offset in range(run.length)}
    sources = sorted(pairs)
    targets = [pairs[source] for source in sources]
    for source in {place for each in sources[:: max(len(sources) // 200, 1)] for place in (each - 1, each, each + 1)}:
        translation, true = built.translate(source), true_position(sources, targets, source)
        assert translation.target <= true
        assert translation.target == true or not translation.exact
    kept = {run[:3] for run in built.runs}
    assert runs[0][:3] in kept
    newest = built.runs[-min(NEWEST, MAX_ENCODED_BYTES // 4 // 15) :]
    assert [run[:3] for run in newest] == [run[:3] for run in runs[-len(newest) :]]


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32).map(Random), st.sampled_from([3, 200, 2**40]))
def test_a_later_offset_never_translates_to_an_earlier_position(random, widest):
    built, runs = grown([many_gaps(random, widest)])
    found = [built.translate(offset) for offset in sorted(random.randint(0, runs[-1].source + 5) for _ in range(100))]
    assert all(before.target <= after.target for before, after in pairwise(filter(None, found)))


@settings(max_examples=50, deadline=None)
@given(st.lists(wide_gaps, min_size=1, max_size=60))
def test_a_map_of_any_offsets_keeps_its_bound_and_its_ends(gaps):
    runs = runs_after(Run(0, 0, 0), gaps)
    built = OffsetMap().with_runs(runs)
    assert text_length(built) <= 2048
    assert reread(built) == built
    last = runs[-1]
    for source, target in (
        (runs[0].source, runs[0].target),
        (last.source, last.target),
        (last.source + last.length, last.target + last.length),
    ):
        assert (built.translate(source).target, built.translate(source).exact) == (target, True)


@given(st.text("AQgIw/+=4", max_size=12) | st.binary(max_size=12).map(lambda data: base64.b64encode(data).decode()))
def test_any_text_is_refused_or_is_the_one_text_of_a_map(text):
    with suppress(ValueError):
        assert decode_map(text).encode() == (text, None)


awkward_bytes = st.lists(st.sampled_from([0, 1, 2, 3, 0x7F, 0x80, 0x81, 0xFF]), max_size=15).map(bytes) | st.binary(max_size=40)


@given(awkward_bytes)
def test_bytes_are_refused_when_they_are_read_or_are_a_map_whose_runs_are_looked_at_later(data):
    text = base64.b64encode(data).decode()
    try:
        found = numbers(data)
        lengths = [number >> 1 for number in found[2::3]]
        is_a_map = len(found) % 3 == 0 and all(lengths)
    except ValueError:
        is_a_map = False
    if not is_a_map:
        with pytest.raises(ValueError, match=r"the offset map (ends|has)"):
            decode_map(text)
        return
    read = decode_map(text)
    assert [run.length for run in read.runs] == lengths
    assert read == OffsetMap(read.runs)
    assert hash(read) == hash(OffsetMap(read.runs))
    assert OffsetMap(read.runs).encode() == (text, None) == read.encode()
