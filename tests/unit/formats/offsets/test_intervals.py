"""Merging intervals keeps the very same offsets."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.formats.offsets.intervals import cut_before, cut_out, find_missing, merge_intervals

interval = st.tuples(st.integers(0, 100), st.integers(0, 100))


def offsets(intervals):
    return {offset for start, end in intervals for offset in range(start, end)}


@given(st.lists(interval))
def test_merging_keeps_the_offsets_and_leaves_disjoint_sorted_intervals(intervals):
    result = merge_intervals(intervals)
    assert offsets(result) == offsets(intervals)
    assert all(first[1] < second[0] for first, second in pairwise(result))


@given(st.lists(interval), st.integers(0, 100))
def test_what_lies_in_front_of_an_offset_is_kept_and_nothing_else(intervals, offset):
    assert offsets(cut_before(intervals, offset)) == {each for each in offsets(intervals) if each < offset}


def test_touching_intervals_become_one():
    assert merge_intervals([(5, 9), (0, 5)]) == ((0, 9),)


@given(interval, st.lists(interval))
def test_what_is_missing_is_what_was_wanted_without_what_is_there(wanted, written):
    left = find_missing(wanted, written)
    assert offsets(left) == offsets([wanted]) - offsets(written)
    assert all(first[1] < second[0] for first, second in pairwise(left))


@given(st.lists(interval), interval)
def test_offsets_that_are_taken_are_gone_and_no_others(intervals, taken):
    assert offsets(cut_out(intervals, taken)) == offsets(intervals) - offsets([taken])
