import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.config.unknown_keys import edits, nearest


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [("", "", 0), ("a", "", 1), ("esat", "east", 1), ("esat", "west", 2), ("topics", "topic", 1), ("ab", "ba", 1)],
)
def test_edits(one, other, distance):
    assert edits(one, other) == distance


@given(st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_edits_are_symmetric_and_zero_only_for_the_same(one, other):
    assert edits(one, other) == edits(other, one)
    assert (edits(one, other) == 0) == (one == other)


def test_a_swap_is_nearer_than_another_letter():
    assert nearest("esat", ["west", "east"]) == "east"


def test_nothing_is_offered_for_what_is_like_nothing():
    assert nearest("completely.different", ["topics", "groups"]) is None
