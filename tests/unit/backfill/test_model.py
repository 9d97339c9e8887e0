"""What travels between the tasks of a backfill, and what people are told."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.backfill.intervals import OffsetInterval, TimeInterval
from kafka_mirror.backfill.model import BackfillPart, Resolution, text_of, time_interval
from kafka_mirror.backfill.summary import BackfillSummary, RangeSummary, summary
from kafka_mirror.errors import ErrorReport, UsageError
from kafka_mirror.formats.documents import from_document, to_document

numbers = st.integers(0, 2**62)
errors = st.builds(ErrorReport, st.text(), st.text(), st.none() | st.text(), st.none() | numbers)
intervals = st.builds(OffsetInterval, st.text(), numbers, numbers, numbers, numbers, numbers)
DAY = TimeInterval(1_793_491_200_000, 1_793_577_600_000)


@given(st.lists(intervals, max_size=3).map(tuple), st.lists(errors, max_size=2).map(tuple))
def test_resolution_is_the_same_after_its_journey(found: tuple[OffsetInterval, ...], failed: tuple[ErrorReport, ...]) -> None:
    resolution = Resolution("east->west", DAY, found, failed, ("a notice",), ("gone",))
    assert Resolution.from_document(resolution.as_document()) == resolution


def test_resolution_is_told_in_one_sentence() -> None:
    whole, open_ended = OffsetInterval("orders", 0, 10, 1_300, 0, 2_000), OffsetInterval("orders", 1, 5, 9, 0, 9)
    told = str(Resolution("east->west", DAY, (whole, open_ended)))
    assert told == (
        "east->west: the times [2026-11-01T00:00:00Z, 2026-11-02T00:00:00Z) come to 1,294 offsets in 2 partitions; 1 of them reach the end "
        "of their log, where records of these times may still come."
    )
    failed = str(Resolution("east->west", DAY, errors=(ErrorReport("WildTimestamp", "wild"),)))
    assert failed.endswith(" come to 0 offsets in 0 partitions; 1 partitions have no interval, with an error.")


def test_interval_is_told_with_what_the_copy_brought_beside_it() -> None:
    told = str(day(0, live_records=32_580, history_records=7, owed=3))
    assert told.endswith("): done: the copy brought 32,580 records on its way past these times, and 7 came as history; 3 offsets are left")


@given(numbers, numbers, st.lists(errors, max_size=2).map(tuple), st.lists(st.text(), max_size=2).map(tuple))
def test_part_is_the_same_after_its_journey(records: int, owed: int, failed: tuple[ErrorReport, ...], not_had: tuple[str, ...]) -> None:
    part = BackfillPart(owed, records, records, owed, failed, not_had, not_had, {"orders": "history.orders"})
    document = to_document(part)
    assert from_document(BackfillPart, document) == part
    assert json.loads(json.dumps(document)) == document, "lists, and no tuples: Airflow's state store takes none"


def test_slices_add_up_and_the_last_one_says_what_is_left() -> None:
    first = BackfillPart(100, 40, 400, 60, notices=("slow",), not_had=("gone",), into={"a": "x"})
    second = BackfillPart(100, 60, 600, 0, notices=("slow",), into={"b": "y"})
    assert first.plus(second) == BackfillPart(100, 100, 1000, 0, (), ("slow",), ("gone",), {"a": "x", "b": "y"})


def day(number: int, **fields: object) -> BackfillSummary:
    length = DAY.end - DAY.start
    return BackfillSummary(
        "east->west", TimeInterval(DAY.start + number * length, DAY.end + number * length), **{"state": "done", **fields}
    )  # type: ignore[arg-type]


def test_interval_failed_if_anything_did_or_something_is_left() -> None:
    resolution = Resolution("east->west", DAY)
    broken = ErrorReport("SourceGap", "gone")
    assert summary(resolution, BackfillPart(), BackfillPart()).state == "done"
    assert summary(resolution, BackfillPart(owed=1), BackfillPart()).state == "failed"
    assert summary(resolution, BackfillPart(), BackfillPart(errors=(broken,)), errors=(broken,)).errors == (broken,)
    assert from_document(BackfillSummary, day(0, errors=(broken,), not_had=("gone",)).as_document()) == day(
        0, errors=(broken,), not_had=("gone",)
    )


def test_range_is_told_in_one_sentence_with_what_failed_and_what_could_not_be_had() -> None:
    gap = ErrorReport("SourceGap", "orders-0@5 is gone.")
    told = RangeSummary(
        "east->west",
        (day(0, history_records=100), day(1, live_records=7, state="failed", errors=(gap,)), day(2, not_had=("orders-1: expired",))),
    )
    assert (told.state, told.times) == ("failed", TimeInterval(DAY.start, DAY.end + 2 * (DAY.end - DAY.start)))
    assert told.headline() == (
        "Backfill of east->west [2026-11-01T00:00:00Z, 2026-11-04T00:00:00Z): 2 of 3 intervals done, 107 records copied."
    )
    assert "failed: SourceGap: orders-0@5 is gone." in told.detail()
    assert "could not be had: orders-1: expired" in told.detail()
    assert RangeSummary("east->west", (day(0), day(1))).state == "done"


def test_times_are_iso_and_an_interval() -> None:
    assert time_interval("2026-11-01", "2026-11-02T00:00:00Z") == DAY
    assert time_interval("2026-11-01T01:00:00+01:00", "2026-11-02") == DAY
    assert text_of(DAY) == "[2026-11-01T00:00:00Z, 2026-11-02T00:00:00Z)"
    assert text_of(TimeInterval(0, 2**62)).endswith("ms)")
    for start, end in (("yesterday", "2026-11-01"), ("2026-11-02", "2026-11-01"), ("2026-11-01", "2026-11-01")):
        with pytest.raises(UsageError):
            time_interval(start, end)
