"""Every difference between two series of records is found, and named for what it is."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.audit.compare import WINDOW, Comparison, FoundDifference, Rules, found_first
from kafka_mirror.formats.record import Record
from tests.unit.audit.memory import at_offsets, numbered, record

TARGET = 1000
SOURCE = numbered(200)


def compared(source: Sequence[Record], target: Sequence[Record], rules: Rules | None = None) -> FoundDifference | None:
    return Comparison(iter(source), iter(at_offsets(target, TARGET)), rules or Rules()).find_first_difference()


def changed(**fields: object) -> list[Record]:
    return [*SOURCE[:50], SOURCE[50]._replace(**fields), *SOURCE[51:]]


PLANTED = {
    "missing": ([*SOURCE[:50], *SOURCE[51:]], "missing record", 50, 1050),
    "three missing": ([*SOURCE[:50], *SOURCE[53:]], "missing record", 50, 1050),
    "first missing": (SOURCE[1:], "missing record", 0, 1000),
    "doubled": ([*SOURCE[:50], SOURCE[49], *SOURCE[50:]], "doubled record", 49, 1050),
    "doubled batch": ([*SOURCE[:50], *SOURCE[40:50], *SOURCE[50:]], "doubled record", 40, 1050),
    "doubled at the end": ([*SOURCE, SOURCE[-1]], "doubled record", 199, 1200),
    "100 doubled": ([*SOURCE[:150], *SOURCE[50:]], "doubled record", 50, 1150),
    "all doubled": ([*SOURCE, *SOURCE], "doubled record", 0, 1200),
    "the first 100 doubled, the last 100 lost": ([*SOURCE[:100], *SOURCE[:100]], "doubled record", 0, 1100),
    "swapped": ([*SOURCE[:50], SOURCE[51], SOURCE[50], *SOURCE[52:]], "swapped records", 50, 1050),
    "swapped at the end": ([*SOURCE[:198], SOURCE[199], SOURCE[198]], "swapped records", 198, 1198),
    "three in another order": ([*SOURCE[:50], SOURCE[52], SOURCE[50], SOURCE[51], *SOURCE[53:]], "swapped records", 50, 1050),
    "foreign": ([*SOURCE[:50], record(0, b"x"), *SOURCE[50:]], "foreign record", 50, 1050),
    "foreign at the end": ([*SOURCE, record(0, b"x")], "foreign record", None, 1200),
    "value": (changed(value=b"value 5O"), "changed value", 50, 1050),
    "value null": (changed(value=None), "changed value", 50, 1050),
    "key": (changed(key=b"key 5O"), "changed key", 50, 1050),
    "header": (changed(headers=(("a", None),)), "changed header", 50, 1050),
    "timestamp": (changed(timestamp=7), "changed timestamp", 50, 1050),
    "another record": (changed(timestamp=7, value=b"x"), "changed record", 50, 1050),
    "truncated": (SOURCE[:150], "truncated tail", 150, None),
    "nothing at all": ([], "truncated tail", 0, None),
}


@pytest.mark.parametrize("name", PLANTED)
def test_each_planted_difference_is_the_one_that_is_named(name: str) -> None:
    target, kind, source_offset, target_offset = PLANTED[name]
    found = compared(SOURCE, target)
    assert found is not None
    assert found.kind == kind
    assert (found.source.offset if found.source else None, found.target.offset if found.target else None) == (source_offset, target_offset)


def test_only_the_first_of_two_is_named() -> None:
    target = [*SOURCE[:50], SOURCE[50]._replace(value=b"x"), *SOURCE[51:60], *SOURCE[61:]]
    found = compared(SOURCE, target)
    assert found is not None
    assert (found.kind, found.source.offset if found.source else None) == ("changed value", 50)


def test_alike_records_are_no_excuse_for_a_missing_one() -> None:
    alike = [record(number, b"ab"[number % 2 :][:1]) for number in range(30)]
    assert compared(alike, alike) is None
    found = compared(alike, [*alike[:11], *alike[12:]])
    assert found is not None
    assert found.kind in ("missing record", "truncated tail")


FEW = st.lists(st.sampled_from([record(0, value) for value in (b"a", b"b", None)]), max_size=12)


@given(FEW, FEW)
def test_a_difference_is_found_exactly_where_there_is_one(source: list[Record], target: list[Record]) -> None:
    numbered_source = at_offsets(source, 0)
    found = compared(numbered_source, target)
    assert (found is None) == (source == target)
    if found is not None:
        first = next(
            (n for n, (ours, theirs) in enumerate(zip(source, target, strict=False)) if ours != theirs), min(len(source), len(target))
        )
        offsets = {found.source.offset if found.source else None, found.target.offset - TARGET if found.target else None}
        assert first in offsets or found.kind == "doubled record"


def test_records_that_are_no_copies_may_stand_between_and_are_counted() -> None:
    foreign = [record(0, b"x%d" % number) for number in range(3 * WINDOW)]
    target = at_offsets([*SOURCE[:50], *foreign, *SOURCE[50:]], TARGET)
    comparison = Comparison(iter(SOURCE), iter(target), Rules(may_add=lambda _record: True))
    assert comparison.find_first_difference() is None
    assert comparison.tolerated == len(foreign)


def test_a_missing_copy_is_found_among_records_that_are_none() -> None:
    found = compared(SOURCE, [*SOURCE[:50], *SOURCE[51:]], Rules(may_add=lambda _record: True))
    assert found is not None
    assert (found.source.offset if found.source else None) == 50


def test_where_the_map_knows_a_target_offset_nothing_is_excused() -> None:
    rules = Rules(may_add=lambda _record: True, source_of=lambda target: target - TARGET)
    found = compared(SOURCE, changed(value=b"x"), rules)
    assert found is not None
    assert found.kind == "changed value"


def test_copies_that_may_be_missing_are_counted_and_others_are_not_excused() -> None:
    def unsure(each: Record) -> bool:
        return 40 <= each.offset < 60

    target = at_offsets([*SOURCE[:45], *SOURCE[47:]], TARGET)
    comparison = Comparison(iter(SOURCE), iter(target), Rules(may_miss=unsure))
    assert comparison.find_first_difference() is None
    assert comparison.missed == 2
    assert compared(SOURCE, [*SOURCE[:70], *SOURCE[71:]], Rules(may_miss=unsure)) is not None


def test_no_more_copies_may_be_missing_than_were_passed_over() -> None:
    target = [*SOURCE[:45], *SOURCE[48:]]
    assert compared(SOURCE, target, Rules(may_miss=lambda _record: True, most_missed=3)) is None
    found = compared(SOURCE, target, Rules(may_miss=lambda _record: True, most_missed=2))
    assert found is not None
    assert (found.kind, found.source.offset if found.source else None) == ("missing record", 47)


def test_without_times_a_time_is_no_difference() -> None:
    assert compared(SOURCE, changed(timestamp=7), Rules(timed=False)) is None


def test_the_beginning_of_one_side_is_found_in_the_other() -> None:
    found = found_first(iter(SOURCE), SOURCE[70:78], Rules())
    assert found is not None
    assert list(found) == SOURCE[70:]
    assert found_first(iter(SOURCE), [record(0, b"x")], Rules()) is None
