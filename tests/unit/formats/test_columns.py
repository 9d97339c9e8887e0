"""Rows by column and back: what XCom and the jobs' files hold."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.formats.columns import columns, columns_of, rows_of

NAMES = ("topic", "partition", "offset")


class Place(NamedTuple):
    offset: int
    topic: str
    partition: int


@given(st.lists(st.tuples(st.text(), st.integers(), st.none() | st.integers())))
def test_rows_come_back_as_they_were(rows: list[tuple[object, ...]]) -> None:
    found = columns(NAMES, rows)
    assert (list(found), {len(column) for column in found.values()}) == (list(NAMES), {len(rows)})
    assert list(rows_of(NAMES, found)) == rows


def test_objects_are_taken_by_the_names_of_their_attributes() -> None:
    assert columns_of(NAMES, iter([Place(7, "orders", 2), Place(9, "returns", 0)])) == {
        "topic": ["orders", "returns"],
        "partition": [2, 0],
        "offset": [7, 9],
    }
    assert columns_of(NAMES, []) == {"topic": [], "partition": [], "offset": []}


def test_columns_that_do_not_fit_together_are_refused() -> None:
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        list(rows_of(NAMES, {"topic": ["a", "b"], "partition": [1], "offset": [1, 2]}))
    with pytest.raises(KeyError):
        rows_of(NAMES, {"topic": [], "partition": []})
