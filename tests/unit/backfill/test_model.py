"""What times come to in offsets, what travels between the tasks of a backfill, and what people are told."""

import json
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.backfill.model import (
    BackfillPart,
    BackfillSummary,
    OffsetInterval,
    RangeSummary,
    Resolution,
    TimeInterval,
    cut,
    make_offset_interval,
    show_times,
    summarize,
    time_interval,
)
from kafka_mirror.copy.history import merge_history, view_as_history
from kafka_mirror.copy.ledger_updates import advance_record
from kafka_mirror.copy.model import PartitionProgress
from kafka_mirror.copy.plan.model import HISTORY, Range
from kafka_mirror.errors import ErrorReport, UsageError
from kafka_mirror.formats.documents import from_document, to_document
from kafka_mirror.formats.offsets.map import Run
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.model import Topic
from kafka_mirror.ledger.record import LedgerRecord
from tests.unit.ledger_records import ledger_record

TP = TopicPartition("orders", 0)
INTO = Topic("history.east.orders", "history-id", ())

times = st.integers(0, 60)
logs = st.tuples(st.integers(0, 5), st.lists(times, max_size=40))
"""The log start, and the timestamp of each record from there on, in whatever order."""


def first_at(log: tuple[int, list[int]], time: int) -> int | None:
    """What a broker answers: the first offset whose record is stamped then or later."""
    start, stamps = log
    return next((start + index for index, stamp in enumerate(stamps) if stamp >= time), None)


def interval(log: tuple[int, list[int]], first: int, behind: int) -> OffsetInterval:
    start, stamps = log
    return make_offset_interval(TP, first_at(log, first), first_at(log, behind), start, start + len(stamps))


@given(logs, st.lists(times, min_size=2, max_size=8).map(sorted))
def test_intervals_of_times_that_tile_tile_in_offsets(log: tuple[int, list[int]], borders: list[int]) -> None:
    tiles = [interval(log, first, behind) for first, behind in pairwise(borders)]
    whole = interval(log, borders[0], borders[-1])

    offsets = [offset for tile in tiles for offset in range(tile.start, tile.end)]

    assert offsets == list(range(whole.start, whole.end)), "each offset between the ends in one of them, none twice"


@given(logs, times, times)
def test_what_is_stamped_behind_an_interval_is_never_in_it(log: tuple[int, list[int]], first: int, length: int) -> None:
    start, stamps = log
    found = interval(log, first, first + length)
    assert all(stamps[offset - start] < first + length for offset in range(found.start, found.end))
    assert start <= found.start <= found.end <= start + len(stamps)
    if not found.is_provisional:
        assert stamps[found.end - start] >= first + length


@given(logs, times, times, st.integers(0, 50))
def test_cut_has_every_offset_of_the_interval_in_one_part(log: tuple[int, list[int]], first: int, length: int, live_start: int) -> None:
    found = interval(log, first, first + length)
    parts = cut(found, live_start)
    below, above = list(range(*parts.history)), list(range(*parts.live))
    assert below + above == list(range(found.start, found.end))
    assert all(offset < live_start for offset in below)
    assert all(offset >= live_start for offset in above)


def test_interval_that_reaches_the_end_is_provisional_and_one_at_the_log_start_may_lack_records() -> None:
    log = (3, [10, 20, 30])
    assert interval(log, 20, 31).is_provisional
    assert not interval(log, 10, 30).is_provisional
    assert interval(log, 10, 30).begins_at_log_start
    assert not interval(log, 11, 30).begins_at_log_start
    assert not interval((0, [10]), 10, 11).begins_at_log_start, "a log that begins at 0 lost nothing"


def test_record_that_came_after_the_end_was_asked_for_belongs_to_no_interval_yet() -> None:
    found = make_offset_interval(TP, 7, None, 0, 5)
    assert (found.start, found.end, found.is_provisional) == (5, 5, True)


# ------------------------------------------------------------ writing what was cut


class Partition:
    """A partition's ledger record and the topics that are written, as a lane would."""

    def __init__(self, live_start: int) -> None:
        self.record: LedgerRecord = ledger_record(watermark=live_start, start=live_start, target_next=0, records=0)
        self.target: list[int] = []

    def fill(self, wanted: tuple[int, int], step: int) -> None:
        """Writes what is missing of it, at most `step` records in one attempt."""
        while True:
            seen, part = view_as_history(self.record, Range(*TP, "source-topic-id", *wanted, HISTORY), INTO)
            if not part.offsets:
                return
            end = min(part.end, part.start + step)
            target = len(self.target)
            self.target += range(part.start, end)
            runs = (Run(part.start, target, end - part.start),)
            moved = PartitionProgress(TP, end, runs=runs, records=end - part.start, bytes=1, target_next=target + end - part.start)
            self.record = merge_history(self.record, advance_record(seen, moved, None))


@given(
    logs,
    st.integers(0, 45),
    st.lists(st.tuples(times, times.filter(bool)), min_size=1, max_size=6),
    st.integers(1, 7),
)
def test_history_is_written_once_whatever_the_order_and_overlap_of_the_days(
    log: tuple[int, list[int]], live_start: int, days: list[tuple[int, int]], step: int
) -> None:
    partition = Partition(live_start)
    wanted: set[int] = set()
    for first, length in days:
        history = cut(interval(log, first, first + length), live_start).history
        partition.fill(history, step)
        wanted |= set(range(*history))

    assert sorted(partition.target) == sorted(wanted), "each offset of the days below the start, once"
    for place in partition.record.places_of_history:
        assert partition.target[place.target_start : place.target_end] == list(range(place.start, place.end)), "where the ledger says"
    again = replace(partition.record)
    for first, length in days:
        partition.fill(cut(interval(log, first, first + length), live_start).history, step)
    assert partition.record == again, "the second time nothing is written"
    assert (again.watermark, again.target_next, again.offset_map) == (live_start, 0, partition.record.offset_map)


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
    assert first.add(second) == BackfillPart(100, 100, 1000, 0, (), ("slow",), ("gone",), {"a": "x", "b": "y"})


def day(number: int, **fields: object) -> BackfillSummary:
    length = DAY.end - DAY.start
    return BackfillSummary(
        "east->west", TimeInterval(DAY.start + number * length, DAY.end + number * length), **{"state": "done", **fields}
    )  # type: ignore[arg-type]


def test_interval_failed_if_anything_did_or_something_is_left() -> None:
    resolution = Resolution("east->west", DAY)
    broken = ErrorReport("SourceGap", "gone")
    assert summarize(resolution, BackfillPart(), BackfillPart()).state == "done"
    assert summarize(resolution, BackfillPart(owed=1), BackfillPart()).state == "failed"
    assert summarize(resolution, BackfillPart(), BackfillPart(errors=(broken,)), errors=(broken,)).errors == (broken,)
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
    assert told.headline == (
        "Backfill of east->west [2026-11-01T00:00:00Z, 2026-11-04T00:00:00Z): 2 of 3 intervals done, 107 records copied."
    )
    assert "failed: SourceGap: orders-0@5 is gone." in told.detail
    assert "could not be had: orders-1: expired" in told.detail
    assert RangeSummary("east->west", (day(0), day(1))).state == "done"


def test_times_are_iso_and_an_interval() -> None:
    assert time_interval("2026-11-01", "2026-11-02T00:00:00Z") == DAY
    assert time_interval("2026-11-01T01:00:00+01:00", "2026-11-02") == DAY
    assert show_times(DAY) == "[2026-11-01T00:00:00Z, 2026-11-02T00:00:00Z)"
    assert show_times(TimeInterval(0, 2**62)).endswith("ms)")
    for start, end in (("yesterday", "2026-11-01"), ("2026-11-02", "2026-11-01"), ("2026-11-01", "2026-11-01")):
        with pytest.raises(UsageError):
            time_interval(start, end)
