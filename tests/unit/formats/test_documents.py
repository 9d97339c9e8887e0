"""Values as JSON documents: each comes back as it was, what is added or missing is taken, and what is of another type is refused."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.formats.documents import columns, from_columns, from_document, pack, rows_of, to_columns, to_document, unpack


class Place(NamedTuple):
    topic: str
    partition: int


@dataclass(frozen=True)
class Part:
    name: str
    place: Place
    share: float = 0.5


@dataclass(frozen=True)
class Whole:
    parts: tuple[Part, ...]
    time: datetime
    is_open: bool
    span: tuple[int, str]
    by_name: Mapping[str, int] = field(default_factory=dict)
    by_place: Mapping[Place, float] = field(default_factory=dict)
    codes: frozenset[str] = frozenset()
    until: datetime | None = None


MOMENTS = st.datetimes(timezones=st.just(UTC)).map(lambda time: time.replace(microsecond=time.microsecond // 1000 * 1000))
PARTS = st.builds(Part, st.text(), st.builds(Place, st.text(), st.integers()), st.floats(allow_nan=False, allow_infinity=False))
WHOLES = st.builds(
    Whole,
    st.lists(PARTS, max_size=3).map(tuple),
    MOMENTS,
    st.booleans(),
    st.tuples(st.integers(), st.text()),
    st.dictionaries(st.text(), st.integers(), max_size=3),
    st.dictionaries(st.builds(Place, st.text(), st.integers()), st.floats(allow_nan=False, allow_infinity=False), max_size=3),
    st.frozensets(st.text(), max_size=3),
    st.none() | MOMENTS,
)


@given(WHOLES)
def test_a_value_comes_back_from_its_json_as_it_was(whole: Whole) -> None:
    assert from_document(Whole, json.loads(json.dumps(to_document(whole)))) == whole
    assert unpack(Whole, pack(whole)) == whole


@given(st.lists(PARTS))
def test_rows_come_back_from_their_columns_as_they_were(rows: list[Part]) -> None:
    found = to_columns(("name", "place", "share"), rows)
    assert {len(column) for column in found.values()} == {len(rows)}
    assert from_columns(Part, json.loads(json.dumps(found))) == tuple(rows)


def test_columns_are_named_by_place_or_by_attribute() -> None:
    places = [Place("orders", 2), Place("returns", 0)]
    expected = {"partition": [2, 0], "topic": ["orders", "returns"]}
    assert to_columns(("partition", "topic"), iter(places)) == expected
    assert columns(("partition", "topic"), [(2, "orders"), (0, "returns")]) == expected
    assert to_columns(("partition", "topic"), []) == {"partition": [], "topic": []}
    assert list(rows_of(("topic", "partition"), expected)) == places


@pytest.mark.parametrize(
    "wrong",
    [
        {"topic": ["a", "b"], "partition": [1]},
        {"topic": ["a"]},
        {"topic": ["a"], "partition": ["1"]},
        {"topic": "a", "partition": [1]},
    ],
)
def test_columns_that_are_no_rows_of_the_class_are_refused(wrong: dict[str, list[object]]) -> None:
    with pytest.raises(ValueError, match=r".+"):
        from_columns(Place, wrong)


@pytest.mark.parametrize("wrong", ["!", "", "eA==", pack("x"), 5])
def test_what_was_not_packed_is_refused(wrong: object) -> None:
    with pytest.raises(ValueError, match=r".+"):
        unpack(Part, wrong)


def test_a_missing_field_has_its_default_and_an_unknown_one_is_left_out() -> None:
    assert from_document(Part, {"name": "a", "place": ["t", 3], "colour": "red"}) == Part("a", Place("t", 3))
    assert from_document(Part, {"name": "a", "place": ["t", 3], "share": 1}).share == 1.0


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"name": "a"}, "Part lacks place"),
        ({"name": 1, "place": ["t", 3]}, "1 is no str"),
        ({"name": "a", "place": ["t", True]}, "True is no int"),
        ({"name": "a", "place": ["t"]}, "argument 2 is shorter"),
        ({"name": "a", "place": "t3"}, "'t3' is no list"),
        (["a", ["t", 3]], "is no dict"),
        (None, "None is no dict"),
    ],
)
def test_what_is_of_another_type_is_refused(document: object, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        from_document(Part, document)
