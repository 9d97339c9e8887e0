"""The offset map against a plain list of pairs."""

from bisect import bisect_left

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_mirror.formats.offsets.map import OffsetMap, Run, decode_map, runs_of
from tests.unit.formats.offsets.flows import reread

steps = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(1, 40)), max_size=60)


def pairs_of(gaps):
    """Source and target offsets of runs given by the gaps in front of them and their lengths."""
    sources, targets = [], []
    source = target = -1
    for source_gap, target_gap, length in gaps:
        source, target = source + source_gap, target + target_gap
        for _ in range(length):
            sources.append(source)
            targets.append(target)
            source, target = source + 1, target + 1
        source, target = source - 1, target - 1
    return sources, targets


def true_position(sources, targets, offset):
    """The target position of the first mirrored record at or behind a source offset."""
    index = bisect_left(sources, offset)
    return targets[index] if index < len(sources) else targets[-1] + 1


@given(steps)
def test_translation_is_exact_while_nothing_was_thinned(gaps):
    sources, targets = pairs_of(gaps)
    built = OffsetMap().with_runs(runs_of(sources, targets))
    if not sources:
        assert built.translate(0) is None
        return
    for offset in range(sources[-1] + 3):
        translation = built.translate(offset)
        assert (translation.target, translation.exact) == (true_position(sources, targets, offset), True)


def first_lost(sources, targets, end):
    """The source offset of the first mirrored record that stood at or behind a target offset."""
    index = bisect_left(targets, end)
    return sources[index] if index < len(sources) else sources[-1] + 1


@given(steps)
def test_the_first_record_behind_a_target_offset_is_exact_while_nothing_was_thinned(gaps):
    sources, targets = pairs_of(gaps)
    built = OffsetMap().with_runs(runs_of(sources, targets))
    if not sources:
        assert built.source_of(0) is None
        return
    for end in range(targets[-1] + 3):
        assert built.source_of(end) == first_lost(sources, targets, end)


@settings(max_examples=25)
@given(st.integers(1000, 4000), st.integers(1, 3), st.integers(1, 3), st.data())
def test_the_first_record_behind_a_target_offset_is_early_and_never_late_when_thinned(count, source_gap, target_gap, data):
    sources, targets = pairs_of([(source_gap + 1, target_gap, 1 + index % 3) for index in range(count)])
    built = OffsetMap()
    cut = data.draw(st.integers(1, len(sources) - 1))
    for first, last in ((0, cut), (cut, len(sources))):
        built = built.with_runs(runs_of(sources[first:last], targets[first:last]))
    kept = {run.target + number: run.source + number for run in built.runs for number in range(run.length)}
    for end in data.draw(st.lists(st.integers(0, targets[-1] + 2), min_size=50, max_size=50)):
        answer, true = built.source_of(end), first_lost(sources, targets, end)
        assert answer <= true
        assert kept.get(end, answer) == answer, "exact where the run is there"


@given(steps, st.integers(0, 300), st.booleans())
def test_a_map_that_was_cut_has_what_lies_in_front_and_nothing_else(gaps, offset, by_target):
    sources, targets = pairs_of(gaps)
    built = OffsetMap().with_runs(runs_of(sources, targets))
    cut = built.cut_before_target(offset) if by_target else built.cut_before(offset)
    pairs = [pair for pair in zip(sources, targets, strict=True) if pair[by_target] < offset]
    assert [(run.source + n, run.target + n) for run in cut.runs for n in range(run.length)] == pairs
    assert reread(cut) == cut


def test_runs_that_touch_are_joined():
    built = OffsetMap((Run(0, 0, 5),)).with_runs([Run(5, 5, 3), Run(8, 9, 1)])
    assert built.runs == (Run(0, 0, 8), Run(8, 9, 1))


def test_a_thinned_map_answers_right_behind_the_kept_run():
    thinned = OffsetMap((Run(10, 5, 3), Run(30, 14, 2, True)))
    translation = thinned.translate(21)
    assert (translation.target, translation.exact) == (8, False)


def test_the_encoding_is_for_keeps():
    assert OffsetMap((Run(0, 0, 100), Run(102, 101, 3, True))).encode() == ("AADIAQIBBw==", None)


@pytest.mark.parametrize("text", ["AA==", "AAA=", "gA==", "not base64!", "AAAA"])
def test_text_that_is_no_map_is_refused(text):
    with pytest.raises(ValueError, match=r"."):
        decode_map(text)
